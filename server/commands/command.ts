/**
 * Commands while a frame is decided. They are made once and filled again for every frame, so a
 * command costs no object.
 */
import type { BookingKind } from "../../engine/commands.ts";
import type { FieldError } from "../../engine/results.ts";
import { bookingPath } from "../routing/booking-request.ts";
import type { ChoiceDraft } from "../wire/selection-reader.ts";

/** In the order of their numbers in the binary layout, which begin with 1. */
export const CALLS = [
  "lock",
  "unlock",
  "sale",
  "revertsale",
  "directsale",
  "block",
  "unblock",
] as const satisfies readonly BookingKind[];

export const LIMITS = { commands: 1_024, commandsInFrame: 64, bytesInFrame: 65_536 } as const;

/** Results of reading a frame that are no number of commands. */
export const UNREADABLE = -1;
export const NO_MEMORY = -2;

/** Choices that are filled again; those beyond the length are kept. */
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
  /** Null for a call that does not exist; then `isUsual` is false. */
  call: BookingKind | null = null;
  /** As it was sent. In a usual command, a UUID in lower case. */
  eventId: unknown = null;
  idempotencyKey: string | null = null;
  readonly seats = new ChoiceList();
  readonly areas = new ChoiceList();
  readonly body: Body = {
    sessionId: null,
    holdType: null,
    seats: this.seats.items,
    groupOfSeats: this.areas.items,
  };
  /** Whether everything is known to be valid; otherwise the general way checks it. */
  isUsual = false;
  /** What is wrong with the command beside its selection; null for nothing. */
  invalid: FieldError | null = null;
  /** The command as JSON, when it was sent so and is not usual. */
  json: Buffer | null = null;

  clear(): void {
    this.number = 0;
    this.call = null;
    this.eventId = null;
    this.idempotencyKey = null;
    this.seats.clear();
    this.areas.clear();
    this.body.sessionId = null;
    this.body.holdType = null;
    this.isUsual = false;
    this.invalid = null;
    this.json = null;
  }

  /** To be called before the bytes of its frame are used again. */
  keep(): void {
    if (this.json !== null) this.json = Buffer.from(this.json);
  }
}

/** The path of the request for a call. */
export const PATHS: Readonly<Record<BookingKind, string>> = Object.fromEntries(
  CALLS.map((call) => [call, bookingPath(call)]),
) as Record<BookingKind, string>;
export const SOCKET_PATH = "/api/private/v2.0/booking/socket";

/** The call of a name; null when there is none. */
export function callNamed(name: unknown): BookingKind | null {
  return (CALLS as readonly unknown[]).includes(name) ? (name as BookingKind) : null;
}
