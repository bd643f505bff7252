/** Requests to the server, and its stream of changes. The key goes into a header, never a URL. */
import type { Change } from "../../client/changes.ts";

const BASE = "/api/private";
/** A misspelled name is refused in place of ignored. */
export const STRICT = { Prefer: "handling=strict" };
const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 10_000;

/** One refused member of a request. */
export interface FieldError {
  /** As `seats[1].id`. */
  readonly field: string;
  readonly message: string;
  readonly code: string;
}

/** A problem document; without status when the server cannot be reached. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly errorCode: string;
  readonly errors: readonly FieldError[];

  constructor(
    status: number,
    errorCode: string,
    detail: string,
    errors: readonly FieldError[] = [],
  ) {
    super(detail);
    this.status = status;
    this.errorCode = errorCode;
    this.errors = errors;
  }
}

export interface Access {
  readonly key: string;
  /** For a tenant token: the organization it acts on. */
  readonly organizationId?: number | undefined;
  /** Obtains a new access after a refusal; null when the login is over. */
  readonly renew?: () => Promise<Access | null>;
}

interface CallOptions {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  readonly version?: "v1.0" | "v2.0";
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** A string is sent as it is: JSON from a file. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export class Api {
  #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  /** @param path - Below the base of the version, `/api/private/v2.0`. @throws ApiError */
  async call<T>(path: string, options: CallOptions = {}): Promise<T> {
    const response = await this.open(path, options);
    return response.status === 204 ? (undefined as T) : ((await response.json()) as T);
  }

  /** @returns A response with a status of success and an unread body. @throws ApiError */
  async open(path: string, options: CallOptions = {}): Promise<Response> {
    const sentWith = this.#access;
    const response = await this.#send(path, options);
    if (response.ok) return response;
    const error = await errorOf(response);
    if (!(await this.#isRenewed(error, sentWith))) throw error;
    const second = await this.#send(path, options);
    if (!second.ok) throw await errorOf(second);
    return second;
  }

  /** @returns False unless the access was refused and another one replaces it. */
  async #isRenewed({ errorCode }: ApiError, sentWith: Access): Promise<boolean> {
    const { key, renew } = this.#access;
    if (errorCode !== "ACCESS_DENIED" || renew === undefined) return false;
    // Another call has renewed it meanwhile.
    if (key !== sentWith.key) return true;
    const access = await renew();
    if (access === null || access.key === key) return false;
    this.#access = { ...access, renew };
    return true;
  }

  async #send(path: string, options: CallOptions): Promise<Response> {
    const { method = "GET", version = "v2.0", body, headers = {}, signal = null } = options;
    const { key, organizationId } = this.#access;
    const content = body === undefined ? {} : { "Content-Type": "application/json" };
    const of = organizationId === undefined ? {} : { "X-Organization-ID": String(organizationId) };
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return reach(`${BASE}/${version}${path}${queryOf(options)}`, {
      method,
      headers: { "X-API-Key": key, ...STRICT, ...of, ...content, ...headers },
      body: body === undefined ? null : text,
      signal,
    });
  }
}

/** @throws ApiError when the server cannot be reached. */
export function reach(path: string, request: RequestInit): Promise<Response> {
  return fetch(path, request).catch((error: unknown) => {
    if (request.signal?.aborted === true) throw error;
    throw new ApiError(0, "UNREACHABLE", "The server cannot be reached.");
  });
}

function queryOf({ query = {} }: CallOptions): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  return parameters.size === 0 ? "" : `?${parameters.toString()}`;
}

async function errorOf(response: Response): Promise<ApiError> {
  const problem = (await response.json().catch(() => ({}))) as {
    errorCode?: string;
    detail?: string;
    errors?: FieldError[];
  };
  const { errorCode = "UNKNOWN", detail = response.statusText, errors = [] } = problem;
  return new ApiError(response.status, errorCode, detail, errors);
}

export interface Subscription {
  /** The sequence number before the first change. */
  readonly since: number;
  readonly onChanges: (changes: readonly Change[]) => void;
  readonly onOpen: () => void;
  readonly onBreak: () => void;
  /** Changes in between are no longer kept: the map must be read again. */
  readonly onGap: () => void;
  /** The key is no longer valid, or the event was deleted. */
  readonly onEnd: (error: ApiError) => void;
}

/**
 * Follows the changes of an event: server-sent events over `fetch`, whose headers carry the key.
 * Reconnects after a break from the last sequence number, so no change is missed.
 * @returns Ends it.
 */
export function follow(api: Api, eventId: string, subscription: Subscription): () => void {
  const end = new AbortController();
  void run(api, eventId, subscription, end.signal);
  return () => end.abort();
}

async function run(
  api: Api,
  eventId: string,
  { since, onChanges, onOpen, onBreak, onGap, onEnd }: Subscription,
  signal: AbortSignal,
): Promise<void> {
  let cursor = since;
  let waitMs = RETRY_MS_MIN;
  const take = (changes: readonly Change[]) => {
    waitMs = RETRY_MS_MIN;
    cursor = changes.at(-1)!.sequence;
    onChanges(changes);
  };
  while (!signal.aborted) {
    try {
      const headers = { Accept: "text/event-stream" };
      const options = { query: { since: cursor }, headers, signal };
      // oxlint-disable-next-line no-await-in-loop -- one connection after the other
      const response = await api.open(`/events/${eventId}/changes/`, options);
      onOpen();
      // oxlint-disable-next-line no-await-in-loop
      await readEvents(response, take);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status === 410) return onGap();
      if (error instanceof ApiError && [403, 404].includes(error.status)) return onEnd(error);
    }
    if (signal.aborted) return;
    onBreak();
    // oxlint-disable-next-line no-await-in-loop
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    waitMs = Math.min(RETRY_MS_MAX, waitMs * 2);
  }
}

/** Reads until the answer ends. Changes of one piece are passed on together. */
async function readEvents(
  response: Response,
  take: (changes: readonly Change[]) => void,
): Promise<void> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- pieces of one answer
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop()!;
    const changes = parts.flatMap((part) => {
      const line = part.split("\n").find((one) => one.startsWith("data:"));
      return line === undefined ? [] : [JSON.parse(line.slice(5)) as Change];
    });
    if (changes.length > 0) take(changes);
  }
}
