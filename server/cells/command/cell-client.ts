/** What the command `frontrow move` asks of a cell. */

/** How far a move is, as the cell answers. */
export interface MoveStatus {
  readonly organizationId: number;
  readonly cell: number;
  readonly phase: "ABSENT" | "HERE" | "LEAVING" | "LEFT" | "ARRIVING";
  readonly moveId: number | null;
  /** The cell to which it moves, or has moved; its address is `address`. */
  readonly toCell: number | null;
  readonly address: string | null;
  readonly parts: number | null;
  readonly receipt: string | null;
}

/** A refusal, or no answer. */
export class CellError extends Error {
  override readonly name = "CellError";
}

const TIMEOUT_MS = 120_000;

const NO_FRONTROW = "and no answer of Frontrow: is the address that of a cell?";

export class CellClient {
  readonly url: string;
  readonly organizationId: number;
  readonly #path: string;
  readonly #token: string;

  /** @param url - Scheme, host and port. */
  constructor(url: string, token: string, organizationId: number) {
    this.url = url;
    this.organizationId = organizationId;
    this.#token = token;
    this.#path = `/api/admin/organizations/${organizationId}/move`;
  }

  status(): Promise<MoveStatus> {
    return this.#ask("GET", "");
  }

  step(step: object): Promise<MoveStatus> {
    return this.#ask("POST", "", step);
  }

  part(number: number): Promise<{ readonly content: string }> {
    return this.#ask("GET", `/parts/${number}`);
  }

  take(number: number, part: object): Promise<MoveStatus> {
    return this.#ask("PUT", `/parts/${number}`, part);
  }

  /** @throws CellError. */
  async #ask<Body>(method: string, path: string, body?: object): Promise<Body> {
    const call = `${method} ${this.url}${this.#path}${path}`;
    const headers = { "X-API-Key": this.#token, "Content-Type": "application/json" };
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    try {
      const answer = await fetch(this.url + this.#path + path, {
        method,
        headers,
        signal,
        ...sent,
      });
      const content = membersOf(await answer.text());
      const { errorCode, detail } = content;
      if (answer.status === 200 && ("phase" in content || "content" in content)) {
        return content as Body;
      }
      const isProblem = typeof errorCode === "string" && typeof detail === "string";
      const reason = isProblem ? `${errorCode}: ${detail}` : NO_FRONTROW;
      throw new CellError(`${call}: ${answer.status} ${reason}`);
    } catch (error) {
      if (error instanceof CellError) throw error;
      const { message, cause } = error as Error;
      throw new CellError(`${call}: ${cause instanceof Error ? cause.message : message}`);
    }
  }
}

/** @returns None for a text that is no JSON object. */
function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    // Another server answers, or a proxy.
    return {};
  }
}
