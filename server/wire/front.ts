/** The front as a socket sees it: request values in, answer values out. */
import { type Answer, HEALTHY, NOT_READY, type Problem, problemAnswer } from "./answers.ts";

/** What of a request the front looks at. Texts are empty where a header did not come. */
export interface Request {
  /** Lower case. */
  readonly method: string;
  readonly path: string;
  /** Without its question mark. */
  readonly query: string;
  readonly apiKey: string;
  readonly authorization: string;
  readonly organizationId: string;
  readonly contentType: string;
  readonly idempotencyKey: string;
  /** Where the request came from: asked for only when a key is not known. */
  readonly address: () => string;
  readonly body: Buffer;
}

/** A request as its head tells it, before its body has been read. */
export type RequestHead = Omit<Request, "body">;

/** Where a request leads whose body has not been read yet. */
export interface Found {
  /** The largest body that is read. */
  readonly bodyBytesMax: number;
  /** Why a large body is not worth keeping; null when it is, and for smaller ones. */
  readonly refusal: Problem | null;
}

export type Respond = (answer: Answer) => void;

export interface Front {
  /** To be asked before the body is read. */
  find(head: RequestHead): Found;
  /** Calls `respond` once, in this turn or a later one, whatever happens. */
  handle(found: Found, request: Request, respond: Respond): void;
  /** The answer to what the socket refuses by itself. */
  refuse(problem: Problem, path: string): Answer;
}

/** While the store is being opened: the process is up, and takes nothing yet. */
export class StartingFront implements Front {
  find(): Found {
    return { bodyBytesMax: 0, refusal: null };
  }

  handle(_: Found, { path }: Request, respond: Respond): void {
    respond(path === "/healthz" ? HEALTHY : this.refuse(NOT_READY, path));
  }

  refuse(_: Problem, path: string): Answer {
    return problemAnswer(NOT_READY, path, Date.now());
  }
}
