/** Calls of the interface. The key is in a header, and in no address. */

const BASE = "/api/private/v2.0";

/** One refused member of a request. */
export interface FieldError {
  /** As `seats[1].id`. */
  readonly field: string;
  readonly message: string;
  readonly code: string;
}

/** A problem document, or what stands for one when the server cannot be reached. */
export class ApiError extends Error {
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
    this.name = "ApiError";
    this.status = status;
    this.errorCode = errorCode;
    this.errors = errors;
  }
}

export interface Access {
  readonly key: string;
  /** Of the organization that a tenant token acts on. */
  readonly organizationId?: number | undefined;
  /** Obtains the access again after the server has refused it; null when that is not possible. */
  readonly renew?: () => Promise<Access | null>;
}

export interface CallOptions {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** A text is sent as it is: JSON that has been read from a file. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export class Api {
  #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  /** @param path - Below `/api/private/v2.0`. @throws ApiError */
  async call<T>(path: string, options: CallOptions = {}): Promise<T> {
    const response = await this.open(path, options);
    return response.status === 204 ? (undefined as T) : ((await response.json()) as T);
  }

  /** @returns A response with a status of success, whose body has not been read. */
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

  /** @returns Whether the access was refused, and there is another one now. */
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
    const { method = "GET", body, headers = {}, signal = null } = options;
    const { key, organizationId } = this.#access;
    const content = body === undefined ? {} : { "Content-Type": "application/json" };
    const of = organizationId === undefined ? {} : { "X-Organization-ID": String(organizationId) };
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const sent: RequestInit = {
      method,
      headers: { "X-API-Key": key, ...of, ...content, ...headers },
      body: body === undefined ? null : text,
      signal,
    };
    return fetch(`${BASE}${path}${queryOf(options)}`, sent).catch((error: unknown) => {
      if (signal?.aborted === true) throw error;
      throw new ApiError(0, "UNREACHABLE", "The server cannot be reached.");
    });
  }
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
