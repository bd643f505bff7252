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

export class CellClient {
  readonly url: string;
  readonly #path: string;
  readonly #token: string;

  constructor(url: string, token: string, organizationId: number) {
    this.url = url.replace(/\/+$/, "");
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
      const text = await answer.text();
      if (answer.status === 200) return JSON.parse(text) as Body;
      const { errorCode = "", detail = text } = JSON.parse(text) as Record<string, string>;
      throw new CellError(`${call}: ${answer.status} ${errorCode}: ${detail}`);
    } catch (error) {
      if (error instanceof CellError) throw error;
      const { message, cause } = error as Error;
      throw new CellError(`${call}: ${cause instanceof Error ? cause.message : message}`);
    }
  }
}
