/**
 * Commands while a frame is decided. They are made once and filled again for every frame, so a
 * command costs no object.
 */
import {
  BEST_REQUEST,
  type BestRequest,
  CART,
  type Cart,
  EXTENSION,
  type Extension,
  STATE_SELECTION,
  type StateSelection,
} from "../../engine/bodies.ts";
import { selectionOf, wishesOf } from "../../engine/cart.ts";
import type { BookingKind } from "../../engine/commands.ts";
import type { FieldError } from "../../engine/results.ts";
import {
  ANYTHING,
  either,
  integer,
  list,
  object,
  oneOf,
  optional,
  type Shape,
  text,
  UUID,
} from "../../engine/schema.ts";
import type { Keys } from "../auth/keys.ts";
import type { Answer, Problem } from "../http/answers.ts";
import type { Credentials, Exchange } from "../http/front.ts";
import type { ChoiceDraft } from "../http/selection-reader.ts";
import type { Peer } from "../http/sockets.ts";
import type { AnswerBuffer } from "./answer-buffer.ts";

/** In the order of the binary layout, which numbers them from 1. */
export const CALLS = [
  "lock",
  "unlock",
  "sale",
  "revertsale",
  "directsale",
  "block",
  "unblock",
] as const satisfies readonly BookingKind[];

/** Those of the JSON subprotocol, which has some more. */
const EVENT_CALLS = [...CALLS, "extend", "best"] as const;
export const JSON_CALLS = [...EVENT_CALLS, "cart"] as const;
export type Call = (typeof JSON_CALLS)[number];

/** The credit of a connection. */
export interface Limits {
  /** Commands without an answer. */
  readonly commands: number;
  readonly commandsInFrame: number;
  readonly bytesInFrame: number;
}

export const LIMITS = {
  commands: 1_024,
  commandsInFrame: 64,
  bytesInFrame: 65_536,
} as const satisfies Limits;

export interface Client extends Credentials {
  readonly address: () => string;
  /** Refuses unknown members of its commands: `Prefer: handling=strict` of the handshake. */
  readonly isStrict?: boolean;
}

/** Results of reading a frame, beside a number of commands. */
export const UNREADABLE = -1;
export const NO_MEMORY = -2;

/** A reused list of choices; items beyond the length are kept. */
export class ChoiceList {
  readonly items: ChoiceDraft[] = [];
  readonly #made: ChoiceDraft[] = [];

  clear(): void {
    while (this.items.length > 0) this.items.pop();
  }

  /** @returns The next choice, to be filled. */
  add(): ChoiceDraft {
    const { length } = this.items;
    const choice = (this.#made[length] ??= { id: 0, capacity: null });
    this.items.push(choice);
    return choice;
  }
}

/** The body of a request, as the engine takes it. */
interface Body {
  sessionId: string | null;
  holdType: string | null;
  readonly seats: readonly ChoiceDraft[];
  readonly groupOfSeats: readonly ChoiceDraft[];
}

export class Command {
  /** Given back with the answer. */
  number = 0;
  /** Null for an unknown call; then `isUsual` is false, as it is for one of JSON alone. */
  call: Call | null = null;
  /** As it was sent. In a usual command, a UUID in lower case. */
  eventId: unknown = null;
  idempotencyKey: string | null = null;
  /** Of a lock: as it was sent. Null for none. */
  mode: unknown = null;
  readonly seats = new ChoiceList();
  readonly areas = new ChoiceList();
  readonly body: Body = {
    sessionId: null,
    holdType: null,
    seats: this.seats.items,
    groupOfSeats: this.areas.items,
  };
  /** True when everything is known to be valid; otherwise the general way checks it. */
  isUsual = false;
  /** An error beside the selection; null for none. */
  invalid: FieldError | null = null;
  /** The command as JSON, when it was sent so and is not usual. */
  json: Buffer | null = null;
  /** Null for the client of the connection. */
  client: Client | null = null;
  /** A whole request, in place of everything above but the number; null for a command. */
  request: Exchange | null = null;

  clear(): void {
    this.number = 0;
    this.call = null;
    this.eventId = null;
    this.idempotencyKey = null;
    this.mode = null;
    this.seats.clear();
    this.areas.clear();
    this.body.sessionId = null;
    this.body.holdType = null;
    this.isUsual = false;
    this.invalid = null;
    this.json = null;
    this.client = null;
    this.request = null;
  }

  /** To be called before the bytes of its frame are used again. */
  keep(): void {
    if (this.json !== null) this.json = Buffer.from(this.json);
  }
}

/** The path of the request for a call. */
export const PATHS: Readonly<Record<Call, string>> = Object.fromEntries(
  JSON_CALLS.map((call) => [call, bookingPath(call)]),
) as Record<Call, string>;
export const SOCKET_PATH = "/api/private/v2.0/booking/socket";

/** The call of a name, of those in the list; null when there is none. */
export function callNamed<Named extends Call>(
  name: unknown,
  calls: readonly Named[],
): Named | null {
  return (calls as readonly unknown[]).includes(name) ? (name as Named) : null;
}

// A subprotocol reads frames of commands and writes answers.

export interface Protocol {
  readonly name: string;
  readonly limits: Limits;
  readonly isBinary: boolean;
  /**
   * True when a connection carries the commands of many clients: a slow answer holds up no later
   * one, and the connection outlives their keys.
   */
  readonly isShared: boolean;
  /** Bytes reserved at the start of a buffer. */
  readonly headBytes: number;
  /** @returns The number of commands in a frame; UNREADABLE only when `readFrame` fails, too. */
  count(frame: ArrayBuffer): number;
  /**
   * Reads a whole frame, and opens its handles.
   *
   * @param commands - Filled in order; commands beyond its length are counted, and not kept.
   * @returns The number of commands, or UNREADABLE or NO_MEMORY.
   */
  readFrame(frame: ArrayBuffer, handles: Handles, commands: readonly Command[]): number;
  /** Status 200 with `true` or `false`. */
  writeDone(to: AnswerBuffer, number: number, isDone: boolean): void;
  writeProblem(to: AnswerBuffer, number: number, refused: Refused): number;
  /** An answer of the general way, perhaps a stored one. */
  writeAnswer(to: AnswerBuffer, number: number, answer: Answer): void;
  /** The bytes before `end`, as a message. */
  messageOf(buffer: AnswerBuffer, end: number): Uint8Array;
}

/** A problem, and the facts of its document. */
export interface Refused {
  readonly problem: Problem;
  readonly path: string;
  readonly timeMs: number;
}

// Handles: texts a client has opened under numbers of its own, for its connection.

/** In the order of the binary layout, which numbers them from 128. The last: gateways. */
export const HANDLE_KINDS = ["event", "session", "hold type", "key"] as const;
/** Memory of a handle besides its text; more than was measured. */
const HANDLE_BYTES = 64;

/** The memory quota of a connection. */
export type Memory = Pick<Peer, "keep" | "release">;

export interface Handle {
  readonly text: string;
  /** True for printable ASCII up to the usual length. */
  readonly isUsual: boolean;
  /** Described by the text of a key; null until its first use. */
  client: Client | null;
}

export class Handles {
  readonly #memory: Memory;
  /** By number, for each kind; null until the first is opened. */
  #tables: Map<number, Handle>[] | null = null;
  /** The client of the following commands; null for that of the connection. */
  client: Client | null = null;

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /**
   * @param kind - Position in HANDLE_KINDS.
   * @param content - Empty to close the handle.
   * @returns False when there is no memory for it.
   */
  open(kind: number, number: number, content: string, isUsual: boolean): boolean {
    this.#tables ??= HANDLE_KINDS.map(() => new Map());
    const table = this.#tables[kind]!;
    const known = table.get(number);
    if (known !== undefined) {
      this.#memory.release(HANDLE_BYTES + known.text.length);
      table.delete(number);
    }
    if (content === "") return true;
    if (!this.#memory.keep(HANDLE_BYTES + content.length)) return false;
    table.set(number, { text: content, isUsual, client: null });
    return true;
  }

  find(kind: number, number: number): Handle | undefined {
    return this.#tables?.[kind]!.get(number);
  }
}

// Interned strings, found by their bytes: making a text takes a call to C++, and the engine then
// computes its hash. With one object for equal texts both happen once.

/** A power of two. A text takes the place of an earlier one with the same hash. */
export const TEXTS_MAX = 1_024;

export class RecentTexts {
  readonly #places: string[] = Array.from({ length: TEXTS_MAX }, () => "");

  /** Interned texts. */
  get count(): number {
    return this.#places.filter((content) => content !== "").length;
  }

  /** @param end - After the last byte. The bytes are ASCII. */
  find(bytes: Buffer, start: number, end: number): string {
    let hash = 0;
    for (let i = start; i < end; i++) hash = (Math.imul(hash, 31) + bytes[i]!) | 0;
    const place = (hash ^ (hash >>> 10)) & (TEXTS_MAX - 1);
    const recent = this.#places[place]!;
    if (hasBytes(recent, bytes, start, end)) return recent;
    // There are many sessions, so this has to be fast, too: nothing else is made for a new text.
    const content = bytes.toString("latin1", start, end);
    this.#places[place] = content;
    return content;
  }
}

function hasBytes(content: string, bytes: Uint8Array, start: number, end: number): boolean {
  if (content.length !== end - start) return false;
  for (let i = start; i < end; i++) {
    if (content.charCodeAt(i - start) !== bytes[i]) return false;
  }
  return true;
}

// Messages of the JSON subprotocol, and the credit of both.

const NUMBER = integer({
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
  format: "int64",
});
const [SELECTION, EXTENDING, WISHES] = [STATE_SELECTION, EXTENSION, BEST_REQUEST].map(
  (shape) => shape["properties"] as Readonly<Record<string, Shape>>,
);
/** Guards of a selection, or the wished ones of `best`. */
const PRICES = either(SELECTION!["priceIds"]!, WISHES!["priceIds"]!);

const ENVELOPE_BEFORE = { n: NUMBER, call: oneOf(EVENT_CALLS), eventId: UUID };
const ENVELOPE_AFTER = {
  mode: optional(oneOf(["all", "best-effort"])),
  idempotencyKey: optional(text({ minLength: 1, maxLength: 255 })),
};
/** Members of a command beside its selection. */
export const ENVELOPE = Object.keys({ ...ENVELOPE_BEFORE, ...ENVELOPE_AFTER });

const COMMAND = object({
  ...ENVELOPE_BEFORE,
  ...Object.fromEntries(
    Object.entries({ ...EXTENDING, ...SELECTION, ...WISHES, priceIds: PRICES }).map(
      ([name, shape]) => [name, optional(shape)] as const,
    ),
  ),
  ...ENVELOPE_AFTER,
});
/** Without an event of its own. */
export const CART_COMMAND = object({
  n: NUMBER,
  call: oneOf(["cart"]),
  ...(CART["properties"] as Readonly<Record<string, Shape>>),
  idempotencyKey: ENVELOPE_AFTER.idempotencyKey,
});
export const COMMANDS_FRAME = list(either(COMMAND, CART_COMMAND), {
  maxItems: LIMITS.commandsInFrame,
});

export const ANSWERS_FRAME = list(object({ n: NUMBER, status: integer(), body: ANYTHING }));

export const CREDIT = object({
  type: oneOf(["credit"]),
  commands: integer(),
  commandsInFrame: integer(),
  bytesInFrame: integer(),
});

// When two booking requests with the same idempotency key are the same request.

export function bookingPath<Kind extends Call>(kind: Kind) {
  return `/api/private/v2.0/booking/${kind}` as const;
}

/** The same text for the same event and selection, whatever their bytes. */
export function meaningOf(eventId: string, selection: StateSelection): string {
  const { sessionId, seats, groupOfSeats, holdType, fences, priceIds } = selection;
  const { fence, fromBlocked, toBlocked, all, channel } = selection;
  const choices = (chosen: StateSelection["seats"]) =>
    (chosen ?? []).map(({ id, capacity }) => [id, capacity ?? null]);
  const texts = [sessionId ?? null, holdType ?? null];
  const sorted = (guards: typeof fences) =>
    Object.entries(guards ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const flags = [fence ?? null, fromBlocked === true, toBlocked === true];
  const guards = [sorted(fences), sorted(priceIds)];
  const parts: unknown[] = [...texts, choices(seats), choices(groupOfSeats), ...guards, ...flags];
  if (all === true) parts.push("all");
  if (channel !== undefined && channel !== null) parts.push({ channel });
  return `${eventId} ${JSON.stringify(parts)}`;
}

/** As `meaningOf`. */
export function extensionMeaning(eventId: string, { seconds, ...selection }: Extension): string {
  return `${meaningOf(eventId, { ...selection, groupOfSeats: null })} ${seconds}`;
}

/** As `meaningOf`, of a request for the best places. */
export function meaningOfBest(eventId: string, request: BestRequest): string {
  const { sessionId, quantity, priceIds, groupOfSeatsIds, holdType, avoidOrphans } = request;
  const { channel } = request;
  const texts = [sessionId ?? null, holdType ?? null];
  const lists = [priceIds ?? [], groupOfSeatsIds ?? []];
  const counts = [quantity, request.accessible ?? 0];
  const isDivisible = request.adjacent === "preferred";
  const flags = [request.includeAccessible === true, isDivisible, avoidOrphans !== false];
  const own = channel === undefined || channel === null ? [] : [{ channel }];
  return `${eventId} ${JSON.stringify([...texts, ...lists, ...counts, ...flags, ...own])}`;
}

/** As `meaningOf`, of a cart. */
export function meaningOfCart({ sessionId, items }: Cart): string {
  const parts = items.map((item) => {
    const { call, seconds, ifSequence } = item;
    const own = { ...item, sessionId: item.sessionId ?? sessionId ?? null };
    const eventId = item.eventId.toLowerCase();
    const meaning =
      call === "best"
        ? meaningOfBest(eventId, wishesOf(own))
        : meaningOf(eventId, selectionOf(own));
    return [call, meaning, seconds ?? null, ifSequence ?? null];
  });
  return JSON.stringify([sessionId ?? null, ...parts]);
}

/** As the front makes it of a request over HTTP. */
export function fingerprintOf(
  keys: Keys,
  kind: BookingKind,
  eventId: string,
  selection: StateSelection,
): string {
  const meaning = Buffer.from(meaningOf(eventId, selection));
  return keys.fingerprint(`post ${bookingPath(kind)}`, meaning);
}
