/** Calls of the interface. The key is in a header, and in no address. */

const BASE = "/api/private/v2.0";

/** A problem document, or what stands for one when the server cannot be reached. */
export class ApiError extends Error {
  readonly status: number;
  readonly errorCode: string;

  constructor(status: number, errorCode: string, detail: string) {
    super(detail);
    this.name = "ApiError";
    this.status = status;
    this.errorCode = errorCode;
  }
}

export interface CallOptions {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export class Api {
  readonly #key: string;

  /** @param key - Of an organization. */
  constructor(key: string) {
    this.#key = key;
  }

  /** @param path - Below `/api/private/v2.0`. @throws ApiError */
  async call<T>(path: string, options: CallOptions = {}): Promise<T> {
    const response = await this.open(path, options);
    return response.status === 204 ? (undefined as T) : ((await response.json()) as T);
  }

  /** @returns A response with a status of success, whose body has not been read. */
  async open(path: string, options: CallOptions = {}): Promise<Response> {
    const { method = "GET", body, headers = {}, signal = null } = options;
    const content = body === undefined ? {} : { "Content-Type": "application/json" };
    const sent: RequestInit = {
      method,
      headers: { "X-API-Key": this.#key, ...content, ...headers },
      body: body === undefined ? null : JSON.stringify(body),
      signal,
    };
    const response = await fetch(`${BASE}${path}${queryOf(options)}`, sent).catch(
      (error: unknown) => {
        if (signal?.aborted === true) throw error;
        throw new ApiError(0, "UNREACHABLE", "The server cannot be reached.");
      },
    );
    if (!response.ok) throw await errorOf(response);
    return response;
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
  };
  const { errorCode = "UNKNOWN", detail = response.statusText } = problem;
  return new ApiError(response.status, errorCode, detail);
}
