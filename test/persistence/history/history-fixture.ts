/** An audit trail under test, fed with the records of an engine, and its expected content. */
import { NONE } from "../../../engine/constants.ts";
import { drain } from "../../../engine/inventory/steps.ts";
import { expect, onTestFinished } from "vitest";
import {
  type BookingState,
  MOVES,
  SeatState,
  statesBefore,
} from "../../../engine/inventory/states.ts";
import {
  type AuditAnswers,
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type AuditTopic,
  type Transition,
} from "../../../engine/queries/history.ts";
import { areaFacts, isOnSale, listedEvent, seatFacts } from "../../../engine/queries/seats.ts";
import { type MoveRecord, RecordType } from "../../../engine/records.ts";
import type { State } from "../../../engine/state.ts";
import type { HistoryOptions, OpenHistory } from "../../../persistence/history/keeper.ts";
import type { KeptRecord } from "../../support/engine.ts";
import { Book } from "../../support/audit.ts";

/** A book that ends with the test. */
export function openBook(folder?: string, options?: Partial<HistoryOptions>): Book {
  const book = new Book(folder, options);
  onTestFinished(() => (folder === undefined ? book.discard() : book.close()));
  return book;
}

export function ask<K extends AuditTopic>(
  book: OpenHistory,
  question: AuditQuestion<K>,
): AuditAnswers[K] {
  const outcome = drain(book.answers.answer(question as AuditQuestion)) as AuditOutcome<
    AuditAnswers[K]
  >;
  if (outcome.gap === null) return outcome.value;
  throw new Error(`no answer: ${outcome.gap}`);
}

/** Ids of all events that the records create, including deleted ones. */
export function eventIdsIn(kept: readonly KeptRecord[]): string[] {
  const puts = kept.flatMap(({ record }) =>
    record.type === RecordType.CATALOG ? record.puts : [],
  );
  return [...new Set(puts.flatMap(({ table, row }) => (table === "events" ? [row.id] : [])))];
}

/** All transitions of an event; none before it is created. */
export function transitionsOf(book: OpenHistory, eventId: string): readonly Transition[] {
  const all: Transition[] = [];
  if (drain(book.answers.answer({ about: "owner", eventId })).gap === AuditGap.NO_EVENT) return all;
  for (;;) {
    const query = { sort: [], offset: all.length, limit: 1_000 };
    const { transitions } = ask(book, { about: "transitions", eventId, query });
    all.push(...transitions);
    if (transitions.length < 1_000) return all;
  }
}

/** The map of an event as the engine has it. */
export function mapOf(state: State, eventId: string) {
  const event = state.catalog.events.get(eventId)!;
  const partition = state.partitionOf(event);
  const prices = state.catalog.pricesOf(eventId);
  const { seatIds, areas } = partition.layout;
  const listed = listedEvent(state, event);
  return {
    seats: Array.from(seatIds, (_, seat) => seatFacts(listed, seat)),
    areas: areas.map((_, area) => areaFacts(partition, prices, area)),
    isOnSale: isOnSale(state, event),
  };
}

/** The same from the trail, without the seats that are not listed. */
export function pastMapOf(book: OpenHistory, eventId: string, sequence: number) {
  const moment = { sequence };
  const query = { sort: [], offset: 0, limit: 1_000 };
  const page = ask(book, { about: "seats", eventId, moment, query });
  const { seats, isOnSale: onSale } = page;
  expect(page.total).toBe(seats.length);
  return { seats, isOnSale: onSale, areas: ask(book, { about: "areas", eventId, moment }) };
}

/** The rows that a move must leave in the trail, derived from the state before it. */
export function movedBy(state: State, record: MoveRecord): readonly Partial<Transition>[] {
  const partition = state.partitions.get(record.partition)!;
  const { layout, holds, price, areas } = partition;
  const event = [...state.catalog.events.values()].find(
    (each) => each.partition === record.partition,
  )!;
  const prices = state.catalog.pricesOf(event.id);
  const { to, name } = MOVES[record.move];
  const { actor, session, holdType } = record;
  const moved = { call: name, actor, to };
  const heldBy = (slot: number) => {
    const held = to === SeatState.LOCKED || slot === NONE ? null : holds.get(slot);
    if (held === null) return { session, holdType };
    return { session: held.session, holdType: held.holdType };
  };
  const rows: Partial<Transition>[] = Array.from(record.seats, (seat) => ({
    ...moved,
    from: partition.state[seat] as SeatState,
    ...heldBy(partition.holdOf(seat)),
    placeId: layout.seatIds[seat]!,
    isArea: false,
    places: null,
    priceId: prices.get(price[seat]!)?.id ?? 0,
  }));
  for (let i = 0; i < record.areas.length; i += 3) {
    const [area, slot, places] = record.areas.subarray(i, i + 3) as unknown as number[];
    const priceId = prices.get(areas.price[area!]!)?.id ?? 0;
    const placeId = layout.areas[area!]!.id;
    const row = { ...moved, ...heldBy(slot!), placeId, isArea: true, priceId };
    const [first, second] = statesBefore(record.move) as [BookingState, BookingState?];
    const ofFirst = Math.min(places!, areas.places(area!, first));
    if (ofFirst > 0) rows.push({ ...row, from: first, places: ofFirst });
    if (ofFirst < places!) rows.push({ ...row, from: second!, places: places! - ofFirst });
  }
  return rows.map((row, ordinal) => ({ ...row, ordinal }));
}
