/** The small halls of the simulations, for the engine and for the model. */
import type { LayoutDocument } from "../../../engine/layout/document.ts";
import { area, section, table } from "../../support/layout.ts";
import type { ModelArea, ModelEvent, ModelRules, ModelSeat } from "../model/facts.ts";

/** Two rows, one with an aisle; a table; an area with its own capacity, one with the rest. */
export const PARTS = [
  section("Stalls", { A: "1 2 3 4 5", B: "1 2 _ 3 4 5 6" }),
  table("T", "1 2 3"),
  area("Pit", 8),
  area("Lawn", null),
];
export const SCHEMA_GA_CAPACITY = 13;
export const SEATS_OF_ROW_MAX = 8;
export const UNKNOWN_ID = 999_999;
const NO_RULES: ModelRules = {
  orphanMode: null,
  orphanUntilSold: null,
  heldPerSession: null,
  heldPerEvent: null,
};

export interface NewEvent {
  readonly organization: number;
  readonly schema: number;
  readonly nowMs: number;
}

/** An event of the model without bookings and prices. */
export function modelEventOf(document: LayoutDocument, event: NewEvent): ModelEvent {
  const { organization, schema, nowMs } = event;
  return {
    organization,
    schema,
    rules: NO_RULES,
    status: "PUBLISHED",
    schemaGaCapacity: SCHEMA_GA_CAPACITY,
    prices: new Map(),
    channels: new Map(),
    seats: modelSeatsOf(document, nowMs),
    areas: modelAreasOf(document, nowMs),
  };
}

export function modelSeatsOf(
  { sectors, rows, seats }: LayoutDocument,
  nowMs: number,
): Map<number, ModelSeat> {
  const sectorOf = new Map(sectors.map((sector) => [sector.guid, sector]));
  const rowOf = new Map(rows.map((row) => [row.guid, row]));
  return new Map(
    seats.map(({ id, rowGuid, x, y }) => {
      const row = rowOf.get(rowGuid)!;
      const sector = sectorOf.get(row.sectorGuid)!;
      const place = { row: row.id, section: sector.id, isTable: sector.type === "TABLE" };
      const seat = { id, ...place, x: x!, y: y!, state: null, price: 0, channel: null };
      return [id, { ...seat, hold: null, fence: 0, updatedMs: nowMs }];
    }),
  );
}

export function modelAreasOf({ sectors }: LayoutDocument, nowMs: number): Map<number, ModelArea> {
  const areas = sectors.filter(({ ga }) => ga);
  return new Map(
    areas.map(({ id, gaCapacity }) => {
      const counters = { price: 0, active: 0, sold: 0, blocked: 0, held: [] };
      return [id, { id, gaCapacity: gaCapacity ?? null, ...counters, updatedMs: nowMs }];
    }),
  );
}
