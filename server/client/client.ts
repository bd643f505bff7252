/**
 * `@frontrow/client`. Booking commands over one connection: commands of the same moment share
 * frames. After a break, unanswered commands are sent again with their idempotency keys, so each
 * has its one effect.
 */
import type { AreaState } from "./changes.ts";
import { Addresses, Connection } from "./connection.ts";
import { endpointOf, type Socket, type WebSocketClass } from "./socket.ts";

export type { WebSocketClass } from "./socket.ts";
export type { AreaState, Change, ChangedSeat, EventMap, SeatState } from "./changes.ts";
export { ConnectionRefused } from "./connection.ts";
export { StreamClient, type StreamClientOptions, type StreamEnd } from "./stream.ts";

const PATH = "/api/private/v2.0/booking/socket";
const PROTOCOL = "frontrow.commands.v1+json";
/** The frames of this client cannot be read or are too large, or its key has ended. */
const FINAL_CODES = [1007, 4001, 4009];
/** Refuses unknown members of commands: a misspelled `sessionId` would hold seats for nobody. */
const STRICT = { Prefer: "handling=strict" };
const OK = 200;
/** Error codes of retryable refusals, which had no effect. */
const [MOVING, MOVED] = ["ORGANIZATION_MOVING", "ORGANIZATION_MOVED"];
const MOVING_PAUSE_MS = 500;
/** Of a frame: the brackets, and the separator of two commands. */
const [LIST_BYTES, COMMA_BYTES] = [2, 1];
const BYTES_OF_CHARACTER_MAX = 3;
/** Longer texts are counted; for others the upper bound is enough. */
const LONG = 300;
const CLOSED = "the client has been closed";
const encoder = new TextEncoder();

/** Servers, credentials and retries of a command client. */
export interface CommandClientOptions {
  /**
   * Of the server, such as `https://tickets.example`. Of several, such as those of a cluster, the
   * client finds the leader, whenever it connects.
   */
  readonly url: string | readonly string[];
  /** The key of the organization. A browser cannot send it, and must not know it. */
  readonly key?: string;
  /** Further headers of the handshake, such as `X-Organization-ID`. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Retries after a break, with an idempotency key for each command; true by default. Otherwise
   * commands end with `OutcomeUnknown`.
   */
  readonly repeats?: boolean;
  /** The class of WebSockets; in browsers `WebSocket` by default, in Node a part of this client. */
  readonly webSocket?: WebSocketClass;
}

/** The connection broke before the answer: the command may have had its effect or not. */
export class OutcomeUnknown extends Error {
  constructor() {
    super("the connection broke before the command was answered");
    this.name = "OutcomeUnknown";
  }
}

/** The first message of the server. */
interface Credit {
  readonly commands: number;
  readonly commandsInFrame: number;
  readonly bytesInFrame: number;
}

interface Answer {
  readonly n: number;
  readonly status: number;
  /** The answer of the HTTP call, or the problem. */
  readonly body: unknown;
}

interface Waiting {
  readonly text: string;
  readonly bytes: number;
  readonly resolve: (result: Result<unknown>) => void;
  readonly reject: (error: Error) => void;
}

/** A client of the command socket. */
export class CommandClient {
  readonly #connection: Connection;
  readonly #repeats: boolean;
  #socket: Socket | null = null;
  /** Null until the server's first message. */
  #credit: Credit | null = null;
  /** Sent commands without an answer, oldest first, by their numbers. */
  readonly #sent = new Map<number, Waiting>();
  /** Unsent commands. */
  #unsent: [number, Waiting][] = [];
  /** Commands of an organization on the move. */
  #postponed: [number, Waiting][] = [];
  #number = 0;
  #isFlushAhead = false;
  #end: Error | null = null;
  #isClosing = false;
  readonly #ended: Promise<void>;

  constructor(options: CommandClientOptions) {
    const { repeats = true, webSocket } = options;
    this.#repeats = repeats;
    const addresses = new Addresses(options.url);
    const path = { path: PATH, protocol: PROTOCOL };
    const headers = { ...STRICT, ...options.headers };
    const access = { ...options, headers };
    const address = async () => endpointOf(await addresses.leader(), access, path);
    let settle = () => {};
    this.#ended = new Promise((resolve) => {
      settle = resolve;
    });
    const events = {
      opened: (socket: Socket) => {
        this.#socket = socket;
      },
      message: (text: string) => this.#take(text),
      broken: () => this.#broken(),
      ended: (error: Error | null) => {
        this.#fail(error ?? new Error(CLOSED));
        settle();
      },
    };
    this.#connection = new Connection(address, events, {
      finalCodes: FINAL_CODES,
      moved: (location) => addresses.moveTo(location),
      webSocket,
    });
  }

  /** Locks seats and places for a session. */
  lock(booking: Booking): Promise<Result> {
    return this.send("lock", booking);
  }

  /** Locks what can be had. The answer says what it is, and why it is not the rest. */
  lockBestEffort(booking: Booking): Promise<Result<PartialLock>> {
    const request = { ...booking, mode: "best-effort" as const };
    return this.#ask("lock", request) as Promise<Result<PartialLock>>;
  }

  /** Locks the best places that are free. The answer says which they are. */
  best(request: BestRequest): Promise<Result<Best>> {
    return this.#ask("best", request) as Promise<Result<Best>>;
  }

  /** Releases a session's locks. */
  unlock(booking: Booking): Promise<Result> {
    return this.send("unlock", booking);
  }

  /** Sells a session's locks. */
  sale(booking: Booking): Promise<Result> {
    return this.send("sale", booking);
  }

  /** Takes back a sale. */
  revertSale(booking: Booking): Promise<Result> {
    return this.send("revertsale", booking);
  }

  /** Sells free seats and places. */
  directSale(booking: Booking): Promise<Result> {
    return this.send("directsale", booking);
  }

  /** Takes seats and places off sale. */
  block(booking: Booking): Promise<Result> {
    return this.send("block", booking);
  }

  /** Puts blocked seats and places on sale again. */
  unblock(booking: Booking): Promise<Result> {
    return this.send("unblock", booking);
  }

  /** Lets holds end later. */
  extend(extension: Extension): Promise<Result<ExtendedHolds>> {
    return this.#ask("extend", extension) as Promise<Result<ExtendedHolds>>;
  }

  /** Makes several calls on one or more events: all of them or none. */
  cart(cart: Cart): Promise<Result<BookedCart>> {
    return this.#ask("cart", cart) as Promise<Result<BookedCart>>;
  }

  /**
   * Sends a command. It settles when the server has answered, and thus the log has it.
   *
   * @throws ConnectionRefused, OutcomeUnknown, or an error after `close`.
   */
  send(call: Call, booking: Booking): Promise<Result> {
    return this.#ask(call, booking) as Promise<Result>;
  }

  #ask(call: AnyCall, booking: AnyRequest): Promise<Result<unknown>> {
    return new Promise((resolve, reject) => {
      if (this.#end !== null || this.#isClosing) {
        reject(this.#end ?? new Error("the client is closing"));
        return;
      }
      this.#number += 1;
      const n = this.#number;
      const text = JSON.stringify({ n, call, ...this.#keyed(booking) });
      this.#unsent.push([n, { text, bytes: bytesOf(text), resolve, reject }]);
      this.#flushSoon();
    });
  }

  #keyed<Keyed extends AnyRequest>(booking: Keyed): Keyed {
    if (!this.#repeats || booking.idempotencyKey !== undefined) return booking;
    return { ...booking, idempotencyKey: globalThis.crypto.randomUUID() };
  }

  /** Waits for all answers, and closes the connection. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#closeWhenAnswered();
    await this.#ended;
  }

  /** Closes the connection at once. Unanswered commands end with `OutcomeUnknown`. */
  destroy(): void {
    this.#isClosing = true;
    for (const { reject } of this.#sent.values()) reject(new OutcomeUnknown());
    this.#sent.clear();
    this.#fail(new Error(CLOSED));
    this.#connection.close();
  }

  #closeWhenAnswered(): void {
    const waiting = this.#sent.size + this.#unsent.length + this.#postponed.length;
    if (!this.#isClosing || waiting > 0) return;
    this.#connection.close();
  }

  /** Commands of the same moment share frames. */
  #flushSoon(): void {
    if (this.#isFlushAhead) return;
    this.#isFlushAhead = true;
    queueMicrotask(() => {
      this.#isFlushAhead = false;
      this.#flush();
    });
  }

  /** Sends as much as the credit allows. */
  #flush(): void {
    const [credit, socket] = [this.#credit, this.#socket];
    if (credit === null || socket === null) return;
    const unsent = this.#unsent;
    let next = 0;
    for (;;) {
      const texts: string[] = [];
      let bytes = LIST_BYTES;
      for (; next < unsent.length && texts.length < credit.commandsInFrame; next++) {
        const [n, waiting] = unsent[next]!;
        const added = waiting.bytes + COMMA_BYTES;
        if (this.#sent.size === credit.commands) break;
        if (LIST_BYTES + added > credit.bytesInFrame) {
          waiting.reject(new RangeError("the command is longer than a frame may be"));
          continue;
        }
        if (bytes + added > credit.bytesInFrame) break;
        bytes += added;
        texts.push(waiting.text);
        this.#sent.set(n, waiting);
      }
      if (texts.length === 0) break;
      socket.send(`[${texts.join(",")}]`);
    }
    unsent.splice(0, next);
  }

  #take(text: string): void {
    if (this.#credit === null) this.#credit = JSON.parse(text) as Credit;
    else for (const answer of JSON.parse(text) as readonly Answer[]) this.#settle(answer);
    this.#flush();
    this.#closeWhenAnswered();
  }

  #settle({ n, status, body }: Answer): void {
    const waiting = this.#sent.get(n);
    if (waiting === undefined) return;
    this.#sent.delete(n);
    if (status === OK) waiting.resolve({ ok: true, value: body });
    else if (this.#repeats && isPassing(body as Problem)) {
      if (this.#postponed.length === 0) setTimeout(() => this.#resume(), MOVING_PAUSE_MS);
      this.#postponed.push([n, waiting]);
      if ((body as Problem).errorCode === MOVED) this.#connection.reopen();
    } else waiting.resolve({ ok: false, problem: body as Problem });
  }

  #resume(): void {
    this.#unsent = [...this.#postponed, ...this.#unsent];
    this.#postponed = [];
    this.#flush();
  }

  #broken(): void {
    this.#socket = null;
    this.#credit = null;
    const sent = [...this.#sent];
    this.#sent.clear();
    if (this.#repeats) this.#unsent = [...sent, ...this.#unsent];
    else for (const [, { reject }] of sent) reject(new OutcomeUnknown());
    this.#closeWhenAnswered();
  }

  #fail(error: Error): void {
    this.#end = error;
    const waiting = [...this.#sent, ...this.#unsent, ...this.#postponed];
    for (const [, { reject }] of waiting) reject(error);
    this.#sent.clear();
    this.#unsent = [];
    this.#postponed = [];
  }
}

function isPassing({ errorCode }: Problem): boolean {
  return errorCode === MOVING || errorCode === MOVED;
}

function bytesOf(text: string): number {
  if (text.length < LONG) return BYTES_OF_CHARACTER_MAX * text.length;
  return encoder.encode(text).length;
}

// Booking commands and their results.

/** A booking call of the HTTP interface. */
export type Call = "lock" | "unlock" | "sale" | "revertsale" | "directsale" | "block" | "unblock";

/** A call with a request and an answer of its own. */
type AnyCall = Call | "extend" | "best" | "cart";
type AnyRequest = Booking | Extension | BestRequest | Cart;

/** A seat of a booking. */
export interface Seat {
  readonly id: number;
}

/** Places of an area. */
export interface Area {
  readonly id: number;
  readonly capacity: number;
}

/** Numbers by id, such as `{ "16": 44 }`. */
export type ById = Readonly<Record<string, number>>;

/**
 * The subject of a command, as in the body of the HTTP call. A misspelled member is refused with
 * the code `UNKNOWN`.
 */
export interface Booking {
  readonly eventId: string;
  readonly sessionId?: string | null;
  readonly seats?: readonly Seat[] | null;
  readonly groupOfSeats?: readonly Area[] | null;
  /** Of a lock; on a direct sale for the audit trail alone. */
  readonly holdType?: string | null;
  /** The number of the hold, sale or block; of all objects that `fences` does not name. */
  readonly fence?: number | null;
  /** By seat id. */
  readonly fences?: ById | null;
  /** A lock or a direct sale takes BLOCKED seats and places, too. */
  readonly fromBlocked?: boolean | null;
  /** An unlock or a `revertSale` leaves seats and places BLOCKED. */
  readonly toBlocked?: boolean | null;
  /** Everything that the session holds, in place of seats and areas: for an unlock or a sale. */
  readonly all?: boolean | null;
  /** The prices that the buyer saw, by id of a seat or an area; refused where one has changed. */
  readonly priceIds?: ById | null;
  /** Of a lock: the token of a visitor, where the event has a door. */
  readonly admission?: string | null;
  /** A lock or a direct sale takes seats that the event keeps for this channel, too. */
  readonly channel?: string | null;
  /** By default made by a client with `repeats`. */
  readonly idempotencyKey?: string;
}

/** Wishes for the best places, as in the body of the HTTP call. */
export interface BestRequest {
  readonly eventId: string;
  readonly sessionId?: string | null;
  /** 1 to 50. */
  readonly quantity: number;
  /** Any price by default. */
  readonly priceIds?: readonly number[] | null;
  /** Sections, tables, rows and areas; all seats by default, and no area. */
  readonly groupOfSeatsIds?: readonly number[] | null;
  /** Accessible seats among them; 0 by default. */
  readonly accessible?: number | null;
  readonly includeAccessible?: boolean | null;
  /** Together, by default, or if possible. */
  readonly adjacent?: "required" | "preferred" | null;
  /** True by default. */
  readonly avoidOrphans?: boolean | null;
  readonly holdType?: string | null;
  /** The token of a visitor, where the event has a door. */
  readonly admission?: string | null;
  /** Seats that the event keeps for this channel count as free, too. */
  readonly channel?: string | null;
  /** By default made by a client with `repeats`. */
  readonly idempotencyKey?: string;
}

/** The holds to extend: those of the seats; else the one with the number; else the session's. */
export interface Extension {
  readonly eventId: string;
  readonly sessionId?: string | null;
  readonly seats?: readonly Seat[];
  readonly fence?: number | null;
  /** By seat id: the number of its hold. */
  readonly fences?: ById | null;
  /** From now until the end. */
  readonly seconds: number;
  /** By default made by a client with `repeats`. */
  readonly idempotencyKey?: string;
}

/** A call of a cart. */
export type CartItem = SelectionItem | BestItem;

interface Guarded {
  /** The cart is refused unless this is the last record of the event before it. */
  readonly ifSequence?: number | null;
}

/** A call on objects, or an extension. */
export interface SelectionItem extends Omit<Booking, "idempotencyKey">, Guarded {
  readonly call: Call | "extend";
  /** Of an extension: from now until the end. */
  readonly seconds?: number | null;
}

/** The best places of what the items before it leave. */
export interface BestItem extends Omit<BestRequest, "idempotencyKey">, Guarded {
  readonly call: "best";
}

/** Calls on one or more events, in order: each finds what those before it leave. */
export interface Cart {
  /** Of the items without one. */
  readonly sessionId?: string | null;
  /** Up to 50. The locks in one event are one hold. */
  readonly items: readonly CartItem[];
  /** By default made by a client with `repeats`. */
  readonly idempotencyKey?: string;
}

/** A seat of a cart. */
export interface BookedSeat extends Omit<HeldSeat, "state" | "fence"> {
  /** Left out for a seat off sale. */
  readonly state: "ACTIVE" | "LOCKED" | "SOLD" | "BLOCKED" | null;
  /** The number of its lock, sale or block; left out in other states. */
  readonly fence?: number;
}

/** An area of a cart. */
export interface BookedArea extends AreaState {
  /** Of a lock: its places there. */
  readonly hold?: {
    readonly fence: number;
    /** Local date-time; null for no end. */
    readonly expiresAt: string | null;
    readonly capacity: number;
  };
}

/** A cart that was granted, as all of it leaves its seats and areas. */
export interface BookedCart {
  /** Of the cart; the last record of its events where it changed nothing. */
  readonly sequence: number;
  /** In the order of the cart. */
  readonly items: readonly {
    readonly eventId: string;
    readonly seats: readonly BookedSeat[];
    readonly areas: readonly BookedArea[];
  }[];
}

/** A seat of extended holds, or among the best places. */
export interface HeldSeat {
  readonly id: number;
  /** The composite key of v1. */
  readonly label: string;
  readonly section: string;
  readonly row: string;
  readonly seat: string;
  readonly state: "LOCKED";
  readonly priceId?: number;
  /** Local date-time; left out for a hold without an end. */
  readonly expiresAt?: string;
  readonly fence: number;
}

/** All inventory of extended holds. */
export interface ExtendedHolds {
  readonly sequence: number;
  /** By id. */
  readonly seats: readonly HeldSeat[];
  /** By id: the areas in which the holds have places. */
  readonly areas: readonly AreaState[];
  /** Local date-time: the first end of the holds; null when none ends. */
  readonly until: string | null;
}

/** The best places, locked. */
export interface Best {
  /** The number of the hold. */
  readonly sequence: number;
  /** One block, or places of one area. */
  readonly together: boolean;
  /** Block by block, along the row. */
  readonly seats: readonly HeldSeat[];
  /** The places of an area, as `sale` and `unlock` take them. */
  readonly groupOfSeats: readonly Area[];
}

/** Locked part of a request, and the errors of the rest. */
export interface PartialLock {
  /** The number of the hold. */
  readonly sequence: number;
  /** In the order of the request. */
  readonly seats: readonly HeldSeat[];
  /** The places of areas, as `sale` and `unlock` take them. */
  readonly groupOfSeats: readonly Area[];
  /** One fault for each seat or area that was not locked, in the order of the request. */
  readonly refused: readonly FieldProblem[];
}

/** A seat to offer in place of a refused one. */
export interface Alternative {
  readonly id: number;
  /** The composite key of v1. */
  readonly label: string;
  readonly priceId: number;
}

/** One fault of a refused command. */
export interface FieldProblem {
  /** Path into the command, such as `seats[1].id`. */
  readonly field: string;
  /** Such as `LOCKED`. */
  readonly code: string;
  readonly message: string;
  readonly rejectedValue: unknown;
  /** With best effort, of a seat: the nearest that can be locked, three at most. */
  readonly alternatives?: readonly Alternative[];
  /** With best effort, of an area: its places on sale. */
  readonly available?: number;
}

/** The problem document of a refusal, as over HTTP. */
export interface Problem {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** Such as `INVENTORY_NOT_AVAILABLE`. */
  readonly errorCode: string;
  readonly errors: readonly FieldProblem[];
  /** Of NOTHING_SUITABLE: how many of such places are together, and how many are free in all. */
  readonly largestTogether?: number;
  readonly available?: number;
}

/** The result of a command. `value` is the answer of the HTTP call. */
export type Result<Value = boolean> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problem: Problem };
