/** Requests to a dispatch without a socket, and its answers. */
import { gunzipSync } from "node:zlib";
import type { Dispatch } from "../../../server/dispatch.ts";
import type { Answer } from "../../../server/http/answers.ts";
import { Exchange, type Request } from "../../../server/http/front.ts";
import { witness } from "./witness.ts";

/** The client address of a request without `x-forwarded-for`. */
export const ADDRESS = "192.0.2.1";

export interface CallOptions {
  readonly key?: string;
  /** A value is sent as JSON, a string or bytes as they are. */
  readonly body?: unknown;
  /** By name in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Reply<Body = ProblemBody> {
  readonly status: number;
  readonly type: string;
  /** The path of the request, without its query. */
  readonly path: string;
  readonly text: string;
  /** The parsed JSON; the text when it is not JSON. */
  readonly body: Body;
  readonly headers: Readonly<Record<string, string>>;
}

export interface ProblemError {
  readonly field: string;
  readonly message: string;
  readonly rejectedValue: unknown;
  readonly code: string;
}

/** The body of a refusal. */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly timestamp: string;
  readonly path: string;
  readonly errorCode: string;
  readonly errors: readonly ProblemError[];
}

/** An exchange without a socket. */
class TestExchange extends Exchange {
  readonly address: () => string;
  readonly #answered: (answer: Answer) => void;

  constructor(request: Request, answered: (answer: Answer) => void) {
    super();
    Object.assign(this, request);
    this.address = request.address;
    this.#answered = answered;
  }

  respond(answer: Answer): void {
    this.#answered(answer);
  }
}

/** Settles with the answer, checked against the OpenAPI document. */
export function ask(dispatch: Dispatch, request: Request): Promise<Answer> {
  const { route } = dispatch.find(request);
  return new Promise((resolve, reject) => {
    const exchange = new TestExchange(request, (answer) => {
      try {
        witness(route, request, answer);
        resolve(answer);
      } catch (error) {
        reject(error);
      }
    });
    exchange.find(dispatch);
    exchange.handle(request.body);
  });
}

/** A tenant token, acting for an organization. */
export function actingFor(token: string, { id }: { readonly id: number }): CallOptions {
  return { key: token, headers: { "x-organization-id": String(id) } };
}

export function requestOf(
  method: string,
  target: string,
  { key = "", body, headers = {} }: CallOptions,
): Request {
  const [path = "", query = ""] = target.split(/\?(.*)/s);
  return {
    method: method.toLowerCase(),
    path,
    query,
    apiKey: headers["x-api-key"] ?? key,
    authorization: headers["authorization"] ?? "",
    organizationId: headers["x-organization-id"] ?? "",
    address: () => headers["x-forwarded-for"] ?? ADDRESS,
    idempotencyKey: headers["idempotency-key"] ?? null,
    prefer: headers["prefer"] ?? "",
    ifMatch: headers["if-match"] ?? "",
    ifNoneMatch: headers["if-none-match"] ?? "",
    contentEncoding: headers["content-encoding"] ?? "",
    accept: headers["accept"] ?? "",
    repeatedHeader: "",
    onGone: null,
    contentType: headers["content-type"] ?? (body === undefined ? "" : "application/json"),
    body: bytesOf(body),
  };
}

function bytesOf(body: unknown): Buffer {
  if (body === undefined) return Buffer.alloc(0);
  if (body instanceof Uint8Array) return Buffer.from(body);
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

const ENCODING = "Content-Encoding";

export function replyOf<Body>(answer: Answer, path = ""): Reply<Body> {
  const { status, type, body, headers } = answer;
  const isOfJson = type.includes("json");
  const encoding = isOfJson ? "utf8" : "latin1";
  const isZipped = headers.some(([name, value]) => name === ENCODING && value === "gzip");
  const bytes = isOfJson && isZipped ? gunzipSync(body) : body;
  const text = typeof bytes === "string" ? bytes : Buffer.from(bytes).toString(encoding);
  const isJson = isOfJson && text !== "";
  return {
    status,
    type,
    path,
    text,
    body: (isJson ? JSON.parse(text) : text) as Body,
    headers: Object.fromEntries(headers),
  };
}
