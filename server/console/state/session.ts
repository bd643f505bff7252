/**
 * Who is logged in. Keys and tokens are in memory only: a reload forgets them. The key of an
 * account comes with its login, which is renewed with the refresh token before it ends, and when
 * the server refuses the key.
 */
import { signal } from "@preact/signals";
import {
  endLogin,
  type Login,
  logInWith,
  type Organization,
  readOrganizations,
  refreshLogin,
} from "../api/auth.ts";
import { listEvents } from "../api/catalog.ts";
import { type Access, Api } from "../api/http.ts";

/** A login lives an hour. */
const RENEW_MS = 50 * 60_000;

export interface Session {
  readonly api: Api;
  /** Empty for a key, which does not tell its organization. */
  readonly user: string;
  readonly organization: Organization | null;
  readonly organizations: readonly Organization[];
}

/** Null before the login. */
export const session = signal<Session | null>(null);
/** Whether a login has ended that was not ended here. */
export const hasExpired = signal(false);

let login: Login | null = null;
let renewing: Promise<Login | null> | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;

/** @throws ApiError for a key that is not valid. */
export async function logInWithKey(key: string): Promise<void> {
  const api = new Api({ key });
  await listEvents(api, { page: 0, size: 1, sort: "start,asc" });
  hasExpired.value = false;
  session.value = { api, user: "", organization: null, organizations: [] };
}

/** @throws ApiError for a wrong password, or an account without organizations. */
export async function logInWithAccount(email: string, password: string): Promise<void> {
  const opened = await logInWith(email, password);
  const { tenantToken } = opened;
  const own = opened.organizations;
  const organizations =
    tenantToken === undefined || own.length > 0 ? own : await readOrganizations(tenantToken);
  keep(opened);
  hasExpired.value = false;
  enter(opened.user.name || opened.user.email, organizations, organizations[0] ?? null);
}

/** Continues as another organization of the account. */
export function chooseOrganization(id: number): void {
  const { user, organizations } = session.value!;
  enter(user, organizations, organizations.find((one) => one.id === id) ?? null);
}

export function logOut(): void {
  if (login !== null) void endLogin(login.refreshToken);
  forget();
}

function enter(
  user: string,
  organizations: readonly Organization[],
  organization: Organization | null,
): void {
  const access = { ...accessTo(organization), renew: () => renewAccess(organization) };
  session.value = { api: new Api(access), user, organization, organizations };
}

/** With the key of the organization; a super admin who is no member has the tenant token. */
function accessTo(organization: Organization | null): Access {
  const own = login?.organizations.find(({ id }) => id === organization?.id)?.secretKey;
  if (own !== undefined) return { key: own };
  return { key: login?.tenantToken ?? "", organizationId: organization?.id };
}

async function renewAccess(organization: Organization | null): Promise<Access | null> {
  const renewed = await renewLogin();
  return renewed === null ? null : accessTo(organization);
}

/** One renewal at a time, for all calls that wait for it. @returns Null when the login is over. */
function renewLogin(): Promise<Login | null> {
  renewing ??= refreshLogin(login?.refreshToken ?? "")
    .then(keep, (error: { status: number }) => {
      if (error.status === 401) expire();
      return null;
    })
    .finally(() => (renewing = null));
  return renewing;
}

function keep(opened: Login): Login {
  login = opened;
  clearTimeout(timer);
  timer = setTimeout(() => void renewLogin(), RENEW_MS);
  return opened;
}

function expire(): void {
  hasExpired.value = true;
  forget();
}

function forget(): void {
  clearTimeout(timer);
  login = null;
  session.value = null;
}
