/** Actions on a selection: a dry run before a large one, the answer, what was refused, undo. */
import { signal } from "@preact/signals";
import { book, type BookingCall, checkBooking, type Selected } from "../api/booking.ts";
import { type Api, ApiError, type FieldError } from "../api/http.ts";
import { SeatState } from "../map/live-seats.ts";
import { TEXTS } from "../texts.ts";
import { announce } from "./announce.ts";
import type { LiveEvent } from "./live-event.ts";
import type { Selection } from "./selection.ts";

export type Action = "hold" | "sell" | "block" | "release" | "unblock";

/** From this many seats and places on, an action is checked before it is confirmed. */
const LARGE = 20;
/** Of the server, for one call. */
const OBJECTS_MAX = 1_000;
const LETTERS = "abcdefghjkmnpqrstuvwxyz";

/** A seat or area that an action does not apply to, and why. */
export interface Refused {
  readonly seat?: number;
  readonly area?: number;
  readonly reason: string;
}

export type Step =
  | { readonly kind: "idle" }
  | { readonly kind: "busy"; readonly action: Action }
  /** The dry run has ended; the action waits for a confirmation. */
  | { readonly kind: "checked"; readonly action: Action; readonly count: number }
  | {
      readonly kind: "refused";
      readonly action: Action;
      readonly message: string;
      readonly refused: readonly Refused[];
      readonly count: number;
      /** Whether only a dry run was made. */
      readonly isDry: boolean;
    }
  | {
      readonly kind: "done";
      readonly action: Action;
      readonly count: number;
      /** Null when it cannot be undone. */
      readonly undo: Undo | null;
    }
  | { readonly kind: "undone"; readonly action: Action; readonly count: number };

interface Undo {
  readonly call: BookingCall;
  readonly body: Selected;
}

export class Acting {
  readonly sessionId = signal(newSessionId());
  readonly holdType = signal("CART");
  readonly step = signal<Step>({ kind: "idle" });
  readonly #api: Api;
  readonly #event: LiveEvent;
  readonly #selection: Selection;

  constructor(api: Api, event: LiveEvent, selection: Selection) {
    this.#api = api;
    this.#event = event;
    this.#selection = selection;
  }

  /** Checks a large action, and does a small one. */
  async act(action: Action): Promise<void> {
    const body = this.#body(action);
    const count = countOf(body);
    if (body.seats.length + body.groupOfSeats.length > OBJECTS_MAX) {
      this.#refuse({ action, message: TEXTS.act.tooMany(OBJECTS_MAX), refused: [] });
    } else if (count < LARGE) await this.confirm(action);
    else await this.#send(action, body, true);
  }

  /** Does an action without a dry run. */
  async confirm(action: Action): Promise<void> {
    await this.#send(action, this.#body(action), false);
  }

  /** Removes what was refused from the selection, and begins again. */
  async leaveOut(action: Action, refused: readonly Refused[]): Promise<void> {
    this.#selection.remove(refused.flatMap(({ seat }) => seat ?? []));
    for (const { area } of refused) if (area !== undefined) this.#selection.setPlaces(area, 0);
    await this.act(action);
  }

  async undo(action: Action, { call, body }: Undo): Promise<void> {
    this.step.value = { kind: "busy", action };
    try {
      await book(this.#api, this.#event.facts.id, call, body);
      const count = countOf(body);
      this.step.value = { kind: "undone", action, count };
      announce(TEXTS.act.undone[action](TEXTS.act.places(count)));
    } catch (error) {
      this.#fail(action, body, { error, isDry: false });
    }
  }

  dismiss(): void {
    this.step.value = { kind: "idle" };
  }

  async #send(action: Action, body: Selected, isDry: boolean): Promise<void> {
    this.step.value = { kind: "busy", action };
    const eventId = this.#event.facts.id;
    const call = this.#callOf(action);
    try {
      const isDone = await (isDry ? checkBooking : book)(this.#api, eventId, call, body);
      const count = countOf(body);
      if (!isDone) {
        // A direct sale does not say what it refuses.
        const refused = this.#notFree(body);
        this.#refuse({ action, message: TEXTS.act.notFree, refused, count, isDry });
      } else if (isDry) {
        this.step.value = { kind: "checked", action, count };
        announce(TEXTS.act.checked(TEXTS.act.places(count)));
      } else {
        this.step.value = { kind: "done", action, count, undo: undoOf(action, body) };
        announce(TEXTS.act.done[action](TEXTS.act.places(count)));
      }
    } catch (error) {
      this.#fail(action, body, { error, isDry });
    }
  }

  #fail(
    action: Action,
    body: Selected,
    { error, isDry }: { readonly error: unknown; readonly isDry: boolean },
  ): void {
    const errors = error instanceof ApiError ? error.errors : [];
    const refused = errors.flatMap((one) => this.#refusedOf(one, body));
    const message = (error as Error).message;
    this.#refuse({ action, message, refused, count: countOf(body), isDry });
  }

  #refuse(refusal: {
    readonly action: Action;
    readonly message: string;
    readonly refused: readonly Refused[];
    readonly count?: number;
    readonly isDry?: boolean;
  }): void {
    this.step.value = { kind: "refused", count: 0, isDry: false, ...refusal };
    announce(refusal.message);
  }

  /** A held seat is sold by any session: the console belongs to the organization itself. */
  #body(action: Action): Selected {
    const { geometry } = this.#event;
    const seats = [...this.#selection.seats.value].map((seat) => ({ id: geometry.ids[seat]! }));
    const groupOfSeats = [...this.#selection.places.value].map(([area, capacity]) => {
      return { id: geometry.areas[area]!.id, capacity };
    });
    const chosen = { seats, groupOfSeats };
    const sessionId = this.sessionId.value;
    if (action === "hold") return { sessionId, holdType: this.holdType.value, ...chosen };
    return this.#callOf(action) === "directsale" ? { sessionId, ...chosen } : chosen;
  }

  #callOf(action: Action): BookingCall {
    if (action === "hold") return "lock";
    if (action === "release") return "unlock";
    if (action !== "sell") return action;
    const { seats, places } = this.#selection;
    const { states, areas } = this.#event.seats;
    const areHeld =
      [...seats.value].every((seat) => states[seat] === SeatState.HELD) &&
      [...places.value].every(
        ([area, count]) => seats.value.size > 0 && areas[area]!.locked >= count,
      );
    return areHeld ? "sale" : "directsale";
  }

  #notFree({ seats, groupOfSeats }: Selected): Refused[] {
    const { states, areas } = this.#event.seats;
    const taken = seats.flatMap(({ id }) => {
      const seat = this.#event.seatOf(id)!;
      const state = states[seat]!;
      return state === SeatState.FREE ? [] : [{ seat, reason: TEXTS.states[state]! }];
    });
    const short = groupOfSeats.flatMap(({ id, capacity }) => {
      const area = this.#areaOf(id);
      const { active } = areas[area]!;
      return active >= capacity ? [] : [{ area, reason: TEXTS.act.onlyFree(active) }];
    });
    return [...taken, ...short];
  }

  #refusedOf({ field, code, message }: FieldError, body: Selected): Refused[] {
    const [, list, index] = /^(seats|groupOfSeats)\[(\d+)\]/.exec(field) ?? [];
    const chosen = list === undefined ? undefined : body[list as "seats"][Number(index)];
    if (chosen === undefined) return [];
    const reason = TEXTS.act.reasons[code] ?? message;
    if (list === "groupOfSeats") return [{ area: this.#areaOf(chosen.id), reason }];
    return [{ seat: this.#event.seatOf(chosen.id)!, reason }];
  }

  #areaOf(id: number): number {
    return this.#event.geometry.areas.findIndex((area) => area.id === id);
  }
}

function countOf({ seats, groupOfSeats }: Selected): number {
  return groupOfSeats.reduce((sum, { capacity }) => sum + capacity, seats.length);
}

/** A sale is final; a hold that was released had a session and an end that are gone. */
function undoOf(action: Action, { sessionId = "", seats, groupOfSeats }: Selected): Undo | null {
  if (action === "hold") return { call: "unlock", body: { sessionId, seats, groupOfSeats } };
  if (action === "block") return { call: "unblock", body: { seats, groupOfSeats } };
  return action === "unblock" ? { call: "block", body: { seats, groupOfSeats } } : null;
}

function newSessionId(): string {
  const random = crypto.getRandomValues(new Uint8Array(5));
  return `console-${[...random].map((byte) => LETTERS[byte % LETTERS.length]).join("")}`;
}
