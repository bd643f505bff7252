/**
 * Rows and inventory in the wire form of the interface. A member without a value is null where the
 * contract says so; otherwise it is undefined, and left out of the answer.
 */
import type {
  AccountRow,
  CloneRow,
  EventRow,
  OrganizationRow,
  PriceRow,
  SchemaRow,
  SeriesRow,
  VenueRow,
  WebhookRow,
  ZoneRow,
} from "../../engine/catalog.ts";
import { SeatState, STATE_NAMES } from "../../engine/inventory/states.ts";
import type { LayoutDocument, Row, Sector, Shape } from "../../engine/layout/layout-document.ts";
import type { ZonesOfSchema } from "../../engine/layout/zone-table.ts";
import { capacitiesOf } from "../../engine/queries/capacities.ts";
import type { AreaAfter, ChangeColumns } from "../../engine/queries/event-change.ts";
import type { Booked } from "../../engine/queries/inventory/booked.ts";
import type { HeldFacts } from "../../engine/queries/inventory/hold-listing.ts";
import type { AreaFacts, SeatFacts } from "../../engine/queries/place-facts.ts";
import type { State } from "../../engine/state.ts";
import { localDateTime } from "./moments.ts";

export function organizationView(row: OrganizationRow, privateKey: string) {
  const { id, name, publicKey, domain, type, tenantId } = row;
  const { autologinEnabled, appendDomainToLogin } = row;
  const login = { autologinEnabled, appendDomainToLogin };
  return { id, name, publicKey, privateKey, domain, ...login, type, tenantId };
}

export function settingsView(row: OrganizationRow) {
  const { salesControl, bookingEnabled, orphanPrevention } = row;
  const { heldPerSession, heldPerEvent, requestsPerSecond, bookingsPerSecond } = row;
  const limits = { heldPerSession, heldPerEvent, requestsPerSecond, bookingsPerSecond };
  return { salesControl, bookingEnabled, orphanPrevention, ...limits };
}

export function userView({ id, email, firstName, lastName, organizationIds }: AccountRow) {
  const name = `${firstName} ${lastName}`.trim();
  return { id, email, name, organizationId: organizationIds[0] };
}

export function venueView({ id, name, address, lat, lng, draft }: VenueRow) {
  const set = { address: address ?? undefined, lat: lat ?? undefined, lng: lng ?? undefined };
  return { id, name, ...set, draft };
}

export function schemaView(state: State, schema: SchemaRow) {
  const { organizationId: _organizationId, updatedAtMs: _updatedAtMs, ...row } = schema;
  const { gaCapacity, seatsCapacity } = capacitiesOf(state, schema);
  return {
    ...row,
    description: row.description ?? undefined,
    externalId: row.externalId ?? undefined,
    gaCapacity: gaCapacity ?? undefined,
    seatsCapacity: seatsCapacity ?? undefined,
    venueName: state.catalog.venues.get(row.venueId)?.name ?? null,
  };
}

export function eventView({ id, createdAtMs, start, endDate, name, schemaId, status }: EventRow) {
  return { id, createdDate: localDateTime(createdAtMs), start, endDate, name, schemaId, status };
}

export function eventExpandView(state: State, event: EventRow) {
  const schema = state.catalog.schemas.get(event.schemaId);
  const venue = schema === undefined ? undefined : state.catalog.venues.get(schema.venueId);
  return {
    ...eventView(event),
    schemaName: schema?.name ?? null,
    venueId: venue === undefined ? undefined : String(venue.id),
    venueName: venue?.name,
  };
}

export function seriesView({ id, name }: SeriesRow) {
  return { id, name };
}

export function webhookView({ id, url, types, eventIds, active, disabledReason }: WebhookRow) {
  const disabled = { disabledReason: disabledReason ?? undefined };
  return { id, url, events: types, eventIds, active, ...disabled };
}

export function zoneView({ id, name, schemaId }: ZoneRow) {
  return { id, name, schemaId };
}

export function priceView({ id, name, eventId, externalId }: PriceRow) {
  return { id, name, eventId, externalId };
}

/**
 * A page has a hundred seats. Copying their members by spreading took most of its time.
 * @param isOnSale - Whether ACTIVE seats of the event can be booked.
 */
export function seatView(seat: SeatFacts, isOnSale: boolean) {
  const { state } = seat;
  return {
    seatId: seat.seatId,
    seatName: seat.seatName,
    rowId: seat.rowId,
    rowName: seat.rowName,
    sectionId: seat.sectionId,
    sectionName: seat.sectionName,
    state: STATE_NAMES[state],
    available: state === SeatState.ACTIVE && isOnSale,
    priceId: seat.priceId ?? undefined,
    priceName: seat.priceName ?? undefined,
    updatedAt: localDateTime(seat.changedAtMs),
  };
}

export function areaView({ areaId, changedAtMs, priceId, priceName, ...facts }: AreaFacts) {
  const price = { priceId: priceId ?? undefined, priceName: priceName ?? undefined };
  return { groupOfSeatsId: areaId, ...facts, ...price, updatedAt: localDateTime(changedAtMs) };
}

export function bookedView({ sequence, seats, areas }: Booked) {
  return {
    sequence,
    seats: seats.map(({ id, label, state, priceId, expiresAtMs, fence }) => ({
      id,
      label,
      state: STATE_NAMES[state],
      priceId: priceId ?? undefined,
      expiresAt: expiresAtMs === null ? undefined : localDateTime(expiresAtMs),
      fence: fence ?? undefined,
    })),
    areas: areas.map(({ areaId, capacity, active, locked, sold, blocked }) => ({
      groupOfSeatsId: areaId,
      capacity,
      active,
      locked,
      sold,
      blocked,
    })),
  };
}

export function holdView({ fence, session, holdType, seatIds, areas, ...times }: HeldFacts) {
  const { startedAtMs, expiresAtMs } = times;
  return {
    fence,
    sessionId: session === "" ? undefined : session,
    holdType,
    since: localDateTime(startedAtMs),
    until: expiresAtMs === 0 ? null : localDateTime(expiresAtMs),
    seats: seatIds,
    areas: areas.map(({ areaId, places }) => ({ groupOfSeatsId: areaId, capacity: places })),
  };
}

/** An operation is complete before it is answered, so no other status is ever seen. */
export function cloneView({ id, schemaId }: CloneRow) {
  return { id, status: "COMPLETED", schemaId };
}

/**
 * Sections, tables, areas and rows of a layout, in the order of the document. A row without its own
 * pricing zone is in that of its section.
 */
export function groupViews(schemaId: number, document: LayoutDocument, zones: ZonesOfSchema) {
  const shapesOf = shapesByGroup(document);
  const sectorIds = new Map(document.sectors.map(({ guid, id }) => [guid, id]));
  const group = (object: Sector | Row) => ({
    id: object.id,
    prefix: text(object["prefix"]),
    seatPrefix: text(object["seatPrefix"]),
    schemaId,
    guid: object.guid,
    externalId: text(object["externalId"]),
    shapes: (shapesOf.get(object.guid) ?? []).map(shapeView),
    width: number(object["width"]),
    height: number(object["height"]),
    left: number(object["left"] ?? object["x"]),
    top: number(object["top"] ?? object["y"]),
    angle: number(object["angle"]),
  });
  const sections = document.sectors.map((sector) => ({
    ...group(sector),
    name: sector.name,
    parentId: null,
    pricingZoneId: zones.get(sector.id) ?? null,
    type: sector.ga ? "GA" : (sector.type ?? "SECTION"),
    ga: sector.ga,
  }));
  const rows = document.rows.map((row) => {
    const parentId = sectorIds.get(row.sectorGuid) ?? null;
    const zoneId = zones.get(row.id) ?? zones.get(parentId ?? 0);
    return {
      ...group(row),
      name: row.rowNumber,
      parentId,
      pricingZoneId: zoneId ?? null,
      type: "ROW",
      ga: false,
    };
  });
  return [...sections, ...rows];
}

/** By the guid of the sector or row that they belong to. */
export function shapesByGroup({ shapes }: LayoutDocument): ReadonlyMap<string, readonly Shape[]> {
  const shapesOf = new Map<string, Shape[]>();
  for (const shape of shapes) {
    const guid = shape.groupOfSeatsGuid;
    if (typeof guid === "string") shapesOf.set(guid, [...(shapesOf.get(guid) ?? []), shape]);
  }
  return shapesOf;
}

export function shapeView(shape: Shape) {
  return {
    id: shape.id ?? "",
    width: number(shape["width"]),
    height: number(shape["height"]),
    x: number(shape["left"] ?? shape["x"]),
    y: number(shape["top"] ?? shape["y"]),
    angle: number(shape["angle"]),
    groupOfSeatsGuid: shape.groupOfSeatsGuid ?? null,
    order: number(shape["order"]),
    text: text(shape["text"]),
    textPosition: text(shape["textPosition"]),
    textColor: text(shape["textColor"]),
    fill: text(shape["fill"]),
    fontScale: number(shape["fontScale"]),
  };
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

export function number(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

/** Index: a `SeatState`. */
const STATE_LETTERS = "--ALSB";

/** @param since - The record after which the changes begin. */
export function historyView(columns: ChangeColumns, since: number) {
  const { sequences, timesMs, seatCounts, areaCounts, seatIds, states, hasMore } = columns;
  const prices = [...new Set(columns.priceIds)].filter((id) => id > 0);
  const calls = [...new Set(columns.calls)];
  const indexOfPrice = new Map(prices.map((id, index) => [id, index]));
  const indexOfCall = new Map(calls.map((call, index) => [call, index]));
  return {
    sequence: sequences.at(-1) ?? since,
    more: hasMore,
    prices,
    calls,
    changes: {
      sequences: differences(sequences),
      times: differences(timesMs),
      calls: columns.calls.map((call) => indexOfCall.get(call)!),
      seatCounts,
      areaCounts,
    },
    seats: {
      ids: differences(seatIds),
      states: states.map((state) => STATE_LETTERS[state]!).join(""),
      priceIndexes: columns.priceIds.map((id) => indexOfPrice.get(id) ?? -1),
    },
    areas: columns.areas.map(areaAfterView),
  };
}

export function areaAfterView({ id, active, locked, sold, blocked }: AreaAfter) {
  const capacity = active + locked + sold + blocked;
  return { groupOfSeatsId: id, capacity, active, locked, sold, blocked };
}

/** Each number as its difference to the one before: short, and alike. */
function differences(values: readonly number[]): number[] {
  return values.map((value, i) => value - (values[i - 1] ?? 0));
}
