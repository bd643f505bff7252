/** Events: a schema on sale at a time. Creating an event creates its partition. */
import { assert } from "../assert.ts";
import { type Caller, EVENT, EVENT_CHANGE, EVENT_COPY, EVENT_RULES } from "../bodies.ts";
import type { CatalogPut, EventRow, EventRules, EventStatus, SeriesRow } from "../catalog.ts";
import { placeInCell } from "../cells.ts";
import { command, NOT_OWN } from "../command.ts";
import { NONE } from "../constants.ts";
import type { Partition } from "../inventory/partition.ts";
import { Move, SeatState } from "../inventory/states.ts";
import { ownRow } from "../queries/access.ts";
import { type LogRecord, RecordType } from "../records.ts";
import {
  duplicate,
  isRefused,
  notFound,
  type Refusal,
  refuse,
  refuseInvalid,
  Result,
} from "../results.ts";
import {
  BOOLEAN,
  EVENT_STATUS,
  LOCAL_DATE_TIME,
  LONG,
  NAME,
  normalLocalDateTime,
  object,
  optional,
  orNull,
  UUID_KEY,
} from "../schema.ts";
import type { State } from "../state.ts";
import { grantChange, isHeldOrSold, isInUse, removesOfEvent } from "./owned.ts";
import { runsOf } from "./prices.ts";

const { EVENT_BOUND_TO_SERIES, INVALID_STATUS_TRANSITION, INVENTORY_IN_USE, VALIDATION_FAILED } =
  Result;

const RULE_NAMES = [
  "orphanMode",
  "orphanUntilSold",
  "heldPerSession",
  "heldPerEvent",
] as const satisfies readonly (keyof EventRules)[];

type KillAfter = string | null | undefined;
/** A date-time kept with an event for v1 clients; it has no effect. */
const KILL_AFTER = optional(LOCAL_DATE_TIME);

export const EVENT_COMMANDS = {
  /** Cost: O(seats of the schema). */
  createEvent: command({
    members: { eventId: UUID_KEY, body: EVENT, killAfter: KILL_AFTER },
    refusals: [VALIDATION_FAILED],
    decide(state, { caller, eventId, body, killAfter }, timeMs) {
      const { events, schemas, nextId } = state.catalog;
      if (events.has(eventId)) {
        return refuseInvalid([duplicate("id", eventId, "is the id of another event")]);
      }
      const schema = schemas.get(body.schemaId);
      if (schema?.organizationId !== caller.organizationId) {
        return refuseInvalid([notFound("schemaId", body.schemaId, "schema")]);
      }
      const times = timesOf(body);
      if (isRefused(times)) return times;
      const partition = placeInCell(nextId);
      assert(!state.partitions.has(partition), "a new event has a new partition");
      const status = schema.draft || body.status === "DRAFT" ? "DRAFT" : "PUBLISHED";
      const row: EventRow = {
        id: eventId,
        organizationId: caller.organizationId,
        schemaId: body.schemaId,
        partition,
        name: body.name,
        ...times,
        killAfter: momentOrNull(killAfter),
        createdAtMs: timeMs,
        status,
        statusChangedAtMs: 0,
        publishedAtMs: status === "PUBLISHED" ? timeMs : null,
        seriesId: null,
      };
      return grantChange(state, caller, { newIds: 1, puts: [{ table: "events", row }] }, row);
    },
  }),

  /**
   * A new event on the same schema, with the prices, their assignments, the capacities of areas and
   * the BLOCKED inventory of an event. What is LOCKED or SOLD there is ACTIVE in the new one.
   * Cost: O(seats of the schema).
   */
  cloneEvent: command({
    members: { eventId: UUID_KEY, cloneId: UUID_KEY, body: EVENT_COPY },
    refusals: [VALIDATION_FAILED, ...NOT_OWN],
    decide(state, { caller, eventId, cloneId, body }, timeMs) {
      const { events, nextId } = state.catalog;
      if (events.has(cloneId)) {
        return refuseInvalid([duplicate("id", cloneId, "is the id of another event")]);
      }
      const event = ownRow(events.get(eventId), caller, "event");
      if (isRefused(event)) return event;
      // The copy follows the organization, and everybody may take its seats.
      const { rules: _rules, door: _door, channels: _channels, ...facts } = event;
      const { name, start, endDate, status } = body;
      const times = timesOf({ start: start ?? event.start, endDate: endDate ?? event.endDate });
      if (isRefused(times)) return times;
      const isPublished = status === "PUBLISHED" && !isDraft(state, event.schemaId);
      const row: EventRow = {
        ...facts,
        ...times,
        id: cloneId,
        partition: placeInCell(nextId),
        name: name ?? event.name,
        createdAtMs: timeMs,
        status: isPublished ? "PUBLISHED" : "DRAFT",
        statusChangedAtMs: 0,
        publishedAtMs: isPublished ? timeMs : null,
        seriesId: null,
      };
      const prices = [...state.catalog.pricesOf(eventId).values()].map((price, i): CatalogPut => {
        const copy = { ...price, id: nextId + 1 + i, eventId: cloneId, renamedAtMs: 0 };
        return { table: "prices", row: copy };
      });
      const puts: CatalogPut[] = [{ table: "events", row }, ...prices];
      const granted = grantChange(state, caller, { newIds: puts.length, puts }, row);
      const more = inventoryOf(state.partitionOf(event), caller, row.partition);
      return more.length === 0 ? granted : { ...granted, more };
    },
  }),

  /**
   * With another schema the event gets a new inventory. It keeps its prices, but they are assigned to
   * nothing, since the seats are different. The status has a command of its own. Without
   * `killAfter` the event keeps its own.
   *
   * @returns EVENT_BOUND_TO_SERIES when the start would move, INVALID_STATUS_TRANSITION when a
   * published event would move to a draft, INVENTORY_IN_USE when the schema would change while
   * something is LOCKED, SOLD or BLOCKED and `force` is false.
   * Cost: O(seats of both schemas) when the schema changes.
   */
  updateEvent: command({
    members: { eventId: UUID_KEY, body: EVENT_CHANGE, force: BOOLEAN, killAfter: KILL_AFTER },
    refusals: [
      VALIDATION_FAILED,
      ...NOT_OWN,
      EVENT_BOUND_TO_SERIES,
      INVALID_STATUS_TRANSITION,
      INVENTORY_IN_USE,
    ],
    decide(state, { caller, eventId, body, force, killAfter }) {
      const { events, schemas } = state.catalog;
      const stored = events.get(eventId);
      const { schemaId } = body;
      const isMoved = schemaId !== stored?.schemaId;
      if (isMoved && schemas.get(schemaId)?.organizationId !== caller.organizationId) {
        return refuseInvalid([notFound("schemaId", schemaId, "schema")]);
      }
      const times = timesOf(body);
      if (isRefused(times)) return times;
      const event = ownRow(stored, caller, "event");
      if (isRefused(event)) return event;
      if (event.seriesId !== null && times.start !== event.start) {
        return refuse(
          EVENT_BOUND_TO_SERIES,
          "The start of an event in a series does not move: unbind it first.",
        );
      }
      if (isMoved && event.status === "PUBLISHED" && isDraft(state, schemaId)) {
        const detail = "A published event does not move to a draft schema: set its draft to false.";
        return refuse(INVALID_STATUS_TRANSITION, detail);
      }
      if (isMoved && !force && isInUse(state, event)) {
        const detail =
          "Seats or places of the event are held, sold or blocked, and another schema would take " +
          "them away; force=true changes it all the same.";
        return refuse(INVENTORY_IN_USE, detail);
      }
      const row: EventRow = {
        ...event,
        ...times,
        schemaId,
        name: body.name,
        killAfter: momentOrNull(killAfter) ?? event.killAfter,
      };
      assert(row.id === eventId, "a change of an event keeps its id");
      return grantChange(state, caller, { puts: [{ table: "events", row }] }, row);
    },
  }),

  /**
   * Deletes an event and its prices.
   *
   * @returns INVENTORY_IN_USE while something is LOCKED or SOLD, the organization protects its
   * sales and `force` is not true.
   */
  deleteEvent: command({
    members: { eventId: UUID_KEY, force: optional(BOOLEAN) },
    refusals: [...NOT_OWN, INVENTORY_IN_USE],
    decide(state, { caller, eventId, force }) {
      const event = ownRow(state.catalog.events.get(eventId), caller, "event");
      if (isRefused(event)) return event;
      const { protectSales } = state.catalog.organizations.get(event.organizationId)!;
      if (protectSales && force !== true && isHeldOrSold(state, event)) {
        const detail =
          "Seats or places of the event are held or sold, and the organization protects its sales; " +
          "force=true deletes it all the same.";
        return refuse(INVENTORY_IN_USE, detail);
      }
      return grantChange(state, caller, { removes: removesOfEvent(state, event) }, null);
    },
  }),

  /** Replaces the event's own rules. The event is shown as before. */
  changeEventRules: command({
    members: { eventId: UUID_KEY, body: EVENT_RULES },
    refusals: NOT_OWN,
    decide(state, { caller, eventId, body }) {
      const event = ownRow(state.catalog.events.get(eventId), caller, "event");
      if (isRefused(event)) return event;
      const { rules: _rules, ...facts } = event;
      const given = RULE_NAMES.flatMap((name) => {
        const value = body[name] ?? null;
        return value === null ? [] : [[name, value] as const];
      });
      const rules = Object.fromEntries(given) as EventRules;
      const row: EventRow = given.length === 0 ? facts : { ...facts, rules };
      return grantChange(state, caller, { puts: [{ table: "events", row, isUnshown: true }] }, row);
    },
  }),

  changeEventStatus: command({
    members: { eventId: UUID_KEY, body: object({ status: EVENT_STATUS }) },
    refusals: [...NOT_OWN, INVALID_STATUS_TRANSITION],
    decide(state, { caller, eventId, body }, timeMs) {
      const event = ownRow(state.catalog.events.get(eventId), caller, "event");
      if (isRefused(event)) return event;
      const { status } = body;
      if (NEXT_STATUS[event.status] !== status) {
        return refuse(
          INVALID_STATUS_TRANSITION,
          `An event that is ${event.status} becomes ${NEXT_STATUS[event.status]}, not ${status}.`,
        );
      }
      if (status === "PUBLISHED" && isDraft(state, event.schemaId)) {
        return refuse(
          INVALID_STATUS_TRANSITION,
          "The schema of the event is a draft, so the event cannot be published.",
        );
      }
      const publishedAtMs = status === "PUBLISHED" ? timeMs : event.publishedAtMs;
      if (status !== "DRAFT")
        assert(publishedAtMs !== null, "an event that left DRAFT was published");
      const row: EventRow = { ...event, status, statusChangedAtMs: timeMs, publishedAtMs };
      return grantChange(state, caller, { puts: [{ table: "events", row }] }, row);
    },
  }),
};

/** Records for a new event: prices, capacities and BLOCKED inventory of `partition`. */
function inventoryOf(partition: Partition, { actor }: Caller, number: number): LogRecord[] {
  const { layout, state, price, areas } = partition;
  const [priced, blocked]: [number[], number[]] = [[], []];
  for (let area = 0; area < areas.count; area++) {
    if (areas.price[area] === 0) continue;
    priced.push(area, areas.price[area]!, areas.capacity(area));
    const places = areas.places(area, SeatState.BLOCKED);
    if (places > 0) blocked.push(area, NONE, places);
  }
  const runs = runsOf(price, new Uint16Array(layout.seatCount));
  const seats: number[] = [];
  for (let seat = 0; seat < state.length; seat++) {
    if (state[seat] === SeatState.BLOCKED) seats.push(seat);
  }
  const records: LogRecord[] = [];
  if (runs.length + priced.length > 0) {
    records.push({
      type: RecordType.PRICE,
      actor,
      partition: number,
      runs: Uint32Array.from(runs),
      areas: Uint32Array.from(priced),
    });
  }
  if (seats.length + blocked.length === 0) return records;
  records.push({
    type: RecordType.MOVE,
    actor,
    partition: number,
    move: Move.BLOCK,
    hold: NONE,
    expiresAtMs: 0,
    session: "",
    holdType: "",
    seats: Uint32Array.from(seats),
    areas: Uint32Array.from(blocked),
  });
  return records;
}

function momentOrNull(text: KillAfter): string | null {
  return text ? normalLocalDateTime(text) : null;
}

type Times = Pick<EventRow, "start" | "endDate">;

/** The times of an event as they are stored. */
function timesOf(body: Times): Times | Refusal {
  const start = normalLocalDateTime(body.start);
  const endDate = normalLocalDateTime(body.endDate);
  if (endDate >= start) return { start, endDate };
  const message = "must not be before start";
  return refuseInvalid([{ field: "endDate", code: "RANGE", message, rejectedValue: body.endDate }]);
}

const NEXT_STATUS: Readonly<Record<EventStatus, EventStatus>> = {
  DRAFT: "PUBLISHED",
  PUBLISHED: "ARCHIVED",
  ARCHIVED: "DRAFT",
};

function isDraft({ catalog }: State, schemaId: number): boolean {
  return catalog.schemas.get(schemaId)?.draft === true;
}

// Series of events. While an event is in a series, its start does not move.

export const SERIES_COMMANDS = {
  createSeries: command({
    members: { body: object({ name: NAME }) },
    refusals: [],
    decide(state, { caller, body }) {
      const { series, nextId: id } = state.catalog;
      assert(!series.has(id), "a new series has a new id");
      const row: SeriesRow = { id, organizationId: caller.organizationId, name: body.name };
      return grantChange(state, caller, { newIds: 1, puts: [{ table: "series", row }] }, row);
    },
  }),

  /** Deletes a series. Its events stay, and belong to no series. */
  deleteSeries: command({
    members: { seriesId: LONG },
    refusals: NOT_OWN,
    decide(state, { caller, seriesId }) {
      const { series, events } = state.catalog;
      const own = ownRow(series.get(seriesId), caller, "series");
      if (isRefused(own)) return own;
      const members = [...events.values()].filter((event) => event.seriesId === seriesId);
      const puts = members.map((event): CatalogPut => {
        assert(event.organizationId === own.organizationId, "a series has events of its owner");
        return { table: "events", row: { ...event, seriesId: null } };
      });
      return grantChange(
        state,
        caller,
        { puts, removes: [{ table: "series", key: seriesId }] },
        null,
      );
    },
  }),

  /** Puts an event into a series, or with null takes it out of its series. */
  bindEvent: command({
    members: { eventId: UUID_KEY, body: object({ seriesId: orNull(LONG) }) },
    refusals: [VALIDATION_FAILED, ...NOT_OWN],
    decide(state, { caller, eventId, body }) {
      const { seriesId } = body;
      const series = state.catalog.series.get(seriesId ?? 0);
      if (seriesId !== null && series?.organizationId !== caller.organizationId) {
        return refuseInvalid([notFound("seriesId", seriesId, "series")]);
      }
      const event = ownRow(state.catalog.events.get(eventId), caller, "event");
      if (isRefused(event)) return event;
      if (series !== undefined) {
        assert(series.organizationId === event.organizationId, "a series has events of its owner");
      }
      const row: EventRow = { ...event, seriesId };
      return grantChange(state, caller, { puts: [{ table: "events", row }] }, row);
    },
  }),
};
