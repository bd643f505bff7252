/**
 * Tests as tables in the words of the domain: each line is a command and its expected answer, in
 * cells that are two or more spaces apart; "same" is an "ok" without a record. After each line the invariants are checked, and a replay
 * of the kept records must lead to the same state. A refused command must not change anything.
 *
 * ```
 * lock    A  A1 A2          ok
 * lock    B  A2 Pit:3       not_available  A2 LOCKED
 * lock    B  A4 with fromBlocked  ok
 * wait    15m
 * remove  A3                ok
 * unlock  A  A1             same
 * seats   A1 ACTIVE  A2 ACTIVE
 * places  Pit  active 10 locked 0 sold 0 blocked 0
 * ```
 */
import { expect, test } from "vitest";
import type { LayoutBody } from "../../engine/bodies.ts";
import type { BookingKind } from "../../engine/commands.ts";
import type { Outcome } from "../../engine/engine.ts";
import { Move, SeatState } from "../../engine/inventory/states.ts";
import { RecordType } from "../../engine/records.ts";
import { type FieldError, Result } from "../../engine/results.ts";
import type { State } from "../../engine/state.ts";
import { checkState, digest } from "../../engine/verify.ts";
import { type Bench, BOOKING_KINDS, replayed, World, type WorldOptions } from "./engine.ts";
import { guidOf, labelsOf, type LayoutPart } from "./layout.ts";

/** The tables' word for each refusal. */
const ANSWERS = new Map<number, string>([
  [Result.VALIDATION_FAILED, "invalid"],
  [Result.EVENT_ACCESS_DENIED, "no_access"],
  [Result.ORGANIZATION_DISABLED, "disabled"],
  [Result.SALES_CONTROL_REQUIRED, "no_sales_control"],
  [Result.EVENT_NOT_PUBLISHED, "not_published"],
  [Result.INVENTORY_IN_USE, "in_use"],
  [Result.INVENTORY_NOT_AVAILABLE, "not_available"],
  [Result.ORPHAN_SEAT, "orphan"],
]);

const STATE_WORDS = ["NULL", "WITHDRAWN", "ACTIVE", "LOCKED", "SOLD", "BLOCKED"];
const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
/** Error codes about the request, whatever the state. */
const REQUEST_CODES = new Set(["NOT_NULL", "NULL", "RANGE", "SIZE", "DUPLICATE"]);

/** The errors of a refusal as `field CODE`; none for a granted command. */
export function errorsOf(outcome: Outcome<unknown>): string[] {
  const errors = "errors" in outcome ? outcome.errors : [];
  return errors.map(({ field, code }) => `${field} ${code}`);
}

/** Runs the table in a new world. @returns The world, for further checks. */
export function check(parts: readonly LayoutPart[], text: string, options?: WorldOptions): World {
  const world = new World(parts, options);
  checkMore(world, text);
  return world;
}

/** @returns `check` for fresh worlds with these parts. */
export function checkIn(parts: readonly LayoutPart[], options?: WorldOptions) {
  return (text: string): World => check(parts, text, options);
}

/** Makes tests of titles and tables, each in a new world with these parts. */
export function tables(parts: readonly LayoutPart[], options?: WorldOptions) {
  return (title: string) => (text: string) => {
    test.each([title])("%s", () => void check(parts, text, options));
  };
}

/** Runs the table in an existing world. */
export function checkMore(world: World, text: string): void {
  const lines = text.split("\n").map((line) => line.trim());
  for (const line of lines.filter((content) => content !== "" && !content.startsWith("//"))) {
    const [verb, ...cells] = line.split(/\s{2,}/);
    runLine(world, line, verb!, cells);
    expectConsistent(world, `replay after "${line}"`);
  }
}

/** Expects all invariants to hold, and the same state from a replay of the kept records. */
export function expectConsistent({ engine, journal }: Bench, message = "replay"): void {
  checkState(engine.state);
  const again = replayed(journal);
  expect(digest(again), message).toBe(digest(engine.state));
  expect(fencesOf(again), message).toEqual(fencesOf(engine.state));
}

/** The fences of all holds; the digest leaves them out. */
export function fencesOf({ partitions }: State): number[][] {
  return [...partitions.values()].map(({ holds }) =>
    holds.slots().map((slot) => holds.get(slot).fence),
  );
}

function runLine(world: World, line: string, verb: string, cells: readonly string[]): void {
  const kind = verb as BookingKind;
  if (BOOKING_KINDS.includes(kind)) {
    const [session, objects, ...expected] = cells;
    const [choice, member] = objects!.split(" with ");
    const [names, holdType] = choice!.split(" as ");
    const labels = names!.split(" ");
    const body = {
      ...world.selection(session === "-" ? null : session!, ...labels),
      ...(member === undefined ? {} : { [member]: true }),
      holdType,
    };
    return answer({ world, line, expected, labels }, () => world.book(kind, body));
  }
  switch (verb) {
    case "price": {
      const [objects, ...expected] = cells;
      const labels = objects!.split(" ");
      return answer({ world, line, expected, labels }, () => assign(world, labels));
    }
    case "unprice": {
      const [objects, ...expected] = cells;
      const labels = objects!.split(" ");
      return answer({ world, line, expected, labels }, () => unassign(world, labels));
    }
    case "clear": {
      const { caller, eventId } = world;
      const clear = () => world.submit("clearPrices", caller, { eventId });
      return answer({ world, line, expected: cells, labels: [] }, clear);
    }
    case "add":
    case "remove":
    case "force": {
      const [objects, ...expected] = cells;
      const labels = objects!.split(" ");
      const body = verb === "add" ? seatsToAdd(labels) : objectsToRemove(world, labels);
      const put = () => putLayout(world, body, verb === "force");
      return answer({ world, line, expected, labels }, put);
    }
    case "wait":
      world.clock.timeMs += duration(cells[0]!);
      return;
    case "set": {
      const [setting, value] = cells[0]!.split(" ");
      const isSwitch = value === "on" || value === "off";
      return world.change({ [setting!]: isSwitch ? value === "on" : Number(value) });
    }
    case "status": {
      const { caller, eventId } = world;
      const body = { status: cells[0] as "DRAFT" };
      world.must("changeEventStatus", caller, { eventId, body });
      return;
    }
    case "seats":
      return expectSeats(world, line, cells);
    case "places":
      return expectPlaces(world, line, cells);
    default:
      throw new Error(`a table cannot begin a line with ${verb}`);
  }
}

function duration(text: string): number {
  const [, count, unit] = /^(-?\d+)(ms|s|m|h)$/.exec(text)!;
  return Number(count) * UNITS_MS[unit!]!;
}

/** Assigns the price of the world to seats, groups, or areas with a count (`Pit:20`). */
function assign(world: World, objects: readonly string[]): Outcome<boolean> {
  const items = objects.map((text) => {
    const [label, count] = text.split(":");
    const objectId = world.labels.idOf(label!);
    const activeCount = count === undefined ? null : Number(count);
    return { label: label!, item: { objectId, assignmentId: world.priceId, activeCount } };
  });
  const isSeat = ({ label }: { label: string }) => world.labels.seats.includes(label);
  return world.submit("assignPrices", world.caller, {
    eventId: world.eventId,
    body: {
      seats: items.filter(isSeat).map(({ item }) => item),
      groupOfSeats: items.filter((item) => !isSeat(item)).map(({ item }) => item),
    },
  });
}

/** Removes the prices of seats and areas. */
function unassign(world: World, labels: readonly string[]): Outcome<boolean> {
  const isSeat = (label: string) => world.labels.seats.includes(label);
  const named = (some: readonly string[]) =>
    some.map((label) => ({ objectId: world.labels.idOf(label) }));
  const groupOfSeats = named(labels.filter((label) => !isSeat(label)));
  const body = { seats: named(labels.filter(isSeat)), groupOfSeats };
  return world.submit("unassignPrices", world.caller, { eventId: world.eventId, body });
}

/** New seats, such as A4, at the places of their numbers. */
function seatsToAdd(labels: readonly string[]): LayoutBody {
  const seats = labels.map((label) => {
    const [row, name] = [label.slice(0, 1), label.slice(1)];
    return { guid: guidOf(label), rowGuid: guidOf(`row ${row}`), name, x: Number(name) - 1, y: 0 };
  });
  return { seats };
}

function objectsToRemove(world: World, labels: readonly string[]): LayoutBody {
  const { sectors, seats } = world.engine.state.catalog.layouts.get(world.schemaId)!.document;
  const ids = new Set(labels.map((label) => world.labels.idOf(label)));
  const gone = <T extends { readonly id: number }>(objects: readonly T[]) =>
    objects.filter(({ id }) => ids.has(id)).map((object) => ({ ...object, toRemove: true }));
  return { sectors: gone(sectors), seats: gone(seats) };
}

function putLayout(world: World, body: LayoutBody, forceDelete: boolean): Outcome<boolean> {
  const { caller, schemaId } = world;
  const outcome = world.submit("putLayout", caller, { schemaId, body, forceDelete });
  if (outcome.refused !== Result.OK) return outcome;
  world.labels = labelsOf(outcome.value);
  return { refused: Result.OK, value: true };
}

interface Line {
  readonly world: World;
  readonly line: string;
  readonly expected: readonly string[];
  /** The objects in the line. */
  readonly labels: readonly string[];
}

/** Runs a command and compares its answer with the expected cells. */
function answer({ world, line, expected, labels }: Line, run: () => Outcome<boolean>): void {
  const { kept } = world.journal;
  const recordsBefore = kept.length;
  const digestBefore = digest(world.engine.state);
  const outcome = run();
  const areas = labels.filter((label) => label.includes(":"));
  const isSame = expected[0] === "same";
  const wanted = isSame ? "ok" : expected.join("  ");
  expect(answerText(world, outcome, areas), line).toBe(wanted);
  const written = kept.slice(recordsBefore).map(({ record }) => record);
  const own = written.filter(
    (record) => record.type !== RecordType.MOVE || record.move !== Move.EXPIRE,
  );
  expect(own.length, `${line}: records`).toBeLessThanOrEqual(1);
  const isRefused = outcome.refused !== Result.OK || !outcome.value;
  if (isRefused || isSame) expect(own, line).toEqual([]);
  if (written.length === 0) expect(digest(world.engine.state), line).toBe(digestBefore);
}

function answerText(world: World, outcome: Outcome<boolean>, areas: readonly string[]): string {
  if (outcome.refused === Result.OK) return outcome.value ? "ok" : "false";
  const word = ANSWERS.get(outcome.refused) ?? `result ${outcome.refused}`;
  return [word, ...outcome.errors.map((error) => errorText(world, error, areas))].join("  ");
}

/**
 * `A1 LOCKED` for a seat, `Pit:9 INSUFFICIENT_CAPACITY` for places, `A1 leaves A2` for an orphan,
 * `field CODE` for an invalid request.
 */
function errorText(world: World, error: FieldError, areas: readonly string[]): string {
  const { code, field, message, rejectedValue } = error;
  const nameOf = (id: unknown) => world.labels.labelOf(Number(id));
  if (code === "ORPHAN_SEAT") {
    return `${nameOf(rejectedValue)} leaves ${nameOf(/\d+/.exec(message)![0])}`;
  }
  if (field === "seats" || field === "sectors") {
    return code === "INVENTORY_IN_USE" ? `${nameOf(rejectedValue)} ${code}` : `${field} ${code}`;
  }
  const place = /^(seats|groupOfSeats)\[(\d+)\]\.(id|objectId|capacity|activeCount)$/.exec(field);
  if (place === null || REQUEST_CODES.has(code)) return `${field} ${code}`;
  const [, member, position, property] = place;
  const isCount = property === "capacity" || property === "activeCount";
  if (member === "groupOfSeats" && isCount) return `${areas[Number(position)]} ${code}`;
  return `${nameOf(rejectedValue)} ${code}`;
}

function expectSeats(world: World, line: string, cells: readonly string[]): void {
  world.engine.expire(world.event);
  const labels = cells.map((cell) => cell.split(" ")[0]!);
  const actual = labels.map((label) => {
    const state = world.partition.state[world.seat(label)]!;
    return `${label} ${STATE_WORDS[state]}`;
  });
  expect(actual, line).toEqual(cells);
}

function expectPlaces(world: World, line: string, cells: readonly string[]): void {
  world.engine.expire(world.event);
  const [label, counters] = cells;
  const { areas } = world.partition;
  const places = (state: 2 | 3 | 4 | 5) => areas.places(world.area(label!), state);
  const { ACTIVE, LOCKED, SOLD, BLOCKED } = SeatState;
  const actual =
    `active ${places(ACTIVE)} locked ${places(LOCKED)} ` +
    `sold ${places(SOLD)} blocked ${places(BLOCKED)}`;
  expect(actual, line).toBe(counters);
}
