/**
 * The turns of connections that send frames: in one turn of the event loop, one frame of each
 * connection is decided, between the requests that come over HTTP. Answers are sent once for all
 * frames that one batch of the log has made durable.
 */

export interface TurnTaker {
  /** Decides a frame that waited, unless it must go on waiting. */
  decideNext(): void;
  /** Sends the answers that may leave. */
  flush(): void;
}

export class Turns<Connection extends TurnTaker> {
  /** The number of this turn. In a new turn, every connection may have another frame decided. */
  now = 0;
  /** Connections with frames that wait for their turn. */
  #waiting = new Set<Connection>();
  /** Connections whose answers may leave. */
  #flushing: Connection[] = [];
  #hasTurnAhead = false;

  /** A frame has been decided in this turn. */
  decided(): void {
    this.#takeTurn();
  }

  /** Calls `decideNext` in a later turn. */
  decideLater(connection: Connection): void {
    this.#waiting.add(connection);
    this.#takeTurn();
  }

  #takeTurn(): void {
    if (this.#hasTurnAhead) return;
    this.#hasTurnAhead = true;
    setImmediate(this.#next);
  }

  readonly #next = (): void => {
    this.#hasTurnAhead = false;
    this.now += 1;
    const waiting = this.#waiting;
    if (waiting.size === 0) return;
    this.#waiting = new Set();
    for (const connection of waiting) connection.decideNext();
  };

  /** Calls `flush` when the callbacks of this log batch have run. */
  flushLater(connection: Connection): void {
    if (this.#flushing.length === 0) queueMicrotask(this.#flush);
    this.#flushing.push(connection);
  }

  readonly #flush = (): void => {
    const flushing = this.#flushing;
    this.#flushing = [];
    for (const connection of flushing) connection.flush();
  };

  delete(connection: Connection): void {
    this.#waiting.delete(connection);
  }
}
