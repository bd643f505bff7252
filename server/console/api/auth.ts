/** Login with an account: calls below `/api/auth/`, whose errors have a form of their own. */
import { ApiError } from "./http.ts";

export interface Organization {
  readonly id: number;
  readonly name: string;
  readonly secretKey?: string;
}

export interface Login {
  readonly refreshToken: string;
  readonly user: { readonly email: string; readonly name: string };
  readonly organizations: readonly Organization[];
  /** Only super admins have one. */
  readonly tenantToken?: string;
}

export const logInWith = (username: string, password: string) =>
  post<Login>("login", { username, password });

export const refreshLogin = (refreshToken: string) => post<Login>("refresh", { refreshToken });

/** Ends the login. It ends by itself when the server cannot be reached. */
export const endLogin = (refreshToken: string) =>
  post<void>("logout", { refreshToken }).catch(() => undefined);

/** @returns The organizations of a tenant, the first hundred by name. @throws ApiError */
export async function readOrganizations(tenantToken: string): Promise<readonly Organization[]> {
  const path = "/api/private/management/v2.0/organizations/?size=100&sort=name,asc";
  const response = await send(path, { headers: { "X-API-Key": tenantToken } });
  if (!response.ok) throw new ApiError(response.status, "ACCESS_DENIED", response.statusText);
  return ((await response.json()) as { content: Organization[] }).content;
}

/** @throws ApiError */
async function post<T>(call: string, body: object): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  const response = await send(`/api/auth/${call}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  if (response.status === 204) return undefined as T;
  const answer = (await response.json().catch(() => ({}))) as T & { readonly error?: string };
  if (response.ok) return answer;
  throw new ApiError(response.status, "LOGIN_REFUSED", answer.error ?? response.statusText);
}

function send(path: string, request: RequestInit): Promise<Response> {
  return fetch(path, { ...request, cache: "no-store" }).catch(() => {
    throw new ApiError(0, "UNREACHABLE", "The server cannot be reached.");
  });
}
