/** The selection, and actions on it: dry run, answer, refusals seat by seat, undo. */
import { computed, signal } from "@preact/signals";
import { book, type BookingCall, checkBooking, type Selected } from "../api/calls.ts";
import { type Api, ApiError, type FieldError } from "../api/http.ts";
import type { Geometry } from "../map/geometry.ts";
import type { Hit, Modifiers } from "../map/gestures.ts";
import { type LiveSeats, noTotals, SeatState } from "../map/seats.ts";
import { TEXTS } from "../texts.ts";
import type { LiveEvent } from "./live-event.ts";
import { announce } from "./page.ts";

/** From this many seats and places on, an action is checked before it is confirmed. */
const LARGE = 20;
/** Of the server, for one call. */
const OBJECTS_MAX = 1_000;
const LETTERS = "abcdefghjkmnpqrstuvwxyz";

export class Selection {
  readonly seats = signal<ReadonlySet<number>>(new Set());
  /** By area. */
  readonly places = signal<ReadonlyMap<number, number>>(new Map());
  readonly size = computed(() => this.seats.value.size + this.places.value.size);
  readonly #geometry: Geometry;
  readonly #live: LiveSeats;

  constructor(geometry: Geometry, live: LiveSeats) {
    this.#geometry = geometry;
    this.#live = live;
  }

  /** Ctrl or Shift extends the selection. */
  pick(hit: Hit | null, { shift, ctrl }: Modifiers): void {
    const isMore = shift || ctrl;
    if (hit === null) {
      if (!isMore) this.clear();
    } else if (hit.kind === "seat") {
      if (isMore) this.toggle(hit.seat);
      else this.#replace([hit.seat]);
    } else if (hit.kind === "section") {
      this.take(this.seatsOfSection(hit.section), isMore);
    } else this.setPlaces(hit.area, this.places.value.get(hit.area) ?? 1);
  }

  box(seats: readonly number[], { ctrl }: Modifiers): void {
    this.take(seats, ctrl);
  }

  /** @param isMore - True to extend the selection. */
  take(seats: readonly number[], isMore: boolean): void {
    if (isMore) this.seats.value = new Set([...this.seats.value, ...seats]);
    else this.#replace(seats);
  }

  toggle(seat: number): void {
    const seats = new Set(this.seats.value);
    if (!seats.delete(seat)) seats.add(seat);
    this.seats.value = seats;
  }

  remove(seats: Iterable<number>): void {
    const left = new Set(this.seats.value);
    for (const seat of seats) left.delete(seat);
    this.seats.value = left;
  }

  /** @param count - 0 removes the area. */
  setPlaces(area: number, count: number): void {
    const places = new Map(this.places.value);
    if (count > 0) places.set(area, count);
    else places.delete(area);
    this.places.value = places;
  }

  /** Extends the selection to whole rows. */
  addRows(): void {
    const { rows, rowOfSeat } = this.#geometry;
    const touched = new Set([...this.seats.value].map((seat) => rowOfSeat[seat]!));
    this.seats.value = new Set([...touched].flatMap((row) => [...rows[row]!.seats]));
  }

  /** Extends the selection to whole sections. */
  addSections(): void {
    const { rows, rowOfSeat } = this.#geometry;
    const touched = new Set([...this.seats.value].map((seat) => rows[rowOfSeat[seat]!]!.section));
    this.seats.value = new Set([...touched].flatMap((section) => this.seatsOfSection(section)));
  }

  seatsOfSection(section: number): number[] {
    const { rows, sections } = this.#geometry;
    return sections[section]!.rows.flatMap((row) => [...rows[row]!.seats]);
  }

  clear(): void {
    this.#replace([]);
  }

  #replace(seats: readonly number[]): void {
    this.seats.value = new Set(seats);
    this.places.value = new Map();
  }

  /** Selected seats by state. Index: a `SeatState`. */
  counts(): number[] {
    const counts = noTotals();
    for (const seat of this.seats.value) counts[this.#live.states[seat]!]! += 1;
    return counts;
  }
}

export type Action = "hold" | "sell" | "block" | "release" | "unblock";

/** A refused seat or area, and why. */
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
      /** True after a dry run. */
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

  /** Removes the refused places from the selection, and begins again. */
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
        // A direct sale does not name the refused places.
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
      const area = this.#event.areaOf(id)!;
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
    if (list === "groupOfSeats") return [{ area: this.#event.areaOf(chosen.id)!, reason }];
    return [{ seat: this.#event.seatOf(chosen.id)!, reason }];
  }
}

function countOf({ seats, groupOfSeats }: Selected): number {
  return groupOfSeats.reduce((sum, { capacity }) => sum + capacity, seats.length);
}

/** A sale is final; the session and the end of a released hold are gone. */
function undoOf(action: Action, { sessionId = "", seats, groupOfSeats }: Selected): Undo | null {
  if (action === "hold") return { call: "unlock", body: { sessionId, seats, groupOfSeats } };
  if (action === "block") return { call: "unblock", body: { seats, groupOfSeats } };
  return action === "unblock" ? { call: "block", body: { seats, groupOfSeats } } : null;
}

function newSessionId(): string {
  const random = crypto.getRandomValues(new Uint8Array(5));
  return `console-${[...random].map((byte) => LETTERS[byte % LETTERS.length]).join("")}`;
}
