/** The shapes of answers, as JSON Schema: for the OpenAPI document and the tests. */
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
import type { Extended } from "../../engine/extend.ts";
import { SeatState, STATE_NAMES } from "../../engine/inventory/states.ts";
import type {
  LayoutDocument,
  Row,
  Sector,
  Shape as LayoutShape,
} from "../../engine/layout/document.ts";
import type { ZonesOfSchema } from "../../engine/layout/zones.ts";
import type { AreaAfter, ChangeColumns } from "../../engine/queries/history.ts";
import type { Booked, BookedCart, HeldFacts } from "../../engine/queries/holds.ts";
import { type AreaFacts, SEAT_SORTS, type SeatFacts } from "../../engine/queries/seats.ts";
import { capacitiesOf } from "../../engine/queries/summary.ts";
import { orphanModeOf, presentRules } from "../../engine/rules.ts";
import {
  ANYTHING,
  BOOLEAN,
  CURRENCY,
  either,
  EVENT_STATUS,
  integer,
  list,
  LOCAL_DATE_TIME,
  LONG,
  number,
  NUMBER_OR_NULL,
  object,
  oneOf,
  openObject,
  ORPHAN_MODE,
  type Optional,
  ORGANIZATION_TYPE,
  orNull,
  RECORD,
  type Shape,
  TEXT,
  text,
  UUID,
  whenSet,
} from "../../engine/schema.ts";
import type { State } from "../../engine/state.ts";
import { REPLIES } from "../http/answers.ts";
import { localDateTime } from "../http/json.ts";

const TEXT_OR_NULL = orNull(TEXT);
const COUNT = integer({ minimum: 0 });
const COUNT_OR_NULL = orNull(COUNT);

export const DONE = BOOLEAN;

const ORGANIZATION_MEMBERS = {
  id: LONG,
  name: TEXT,
  publicKey: UUID,
  privateKey: UUID,
  domain: TEXT_OR_NULL,
  autologinEnabled: BOOLEAN,
  appendDomainToLogin: BOOLEAN,
  type: ORGANIZATION_TYPE,
  tenantId: LONG,
};
export const ORGANIZATION = object(ORGANIZATION_MEMBERS);
export const NEW_ORGANIZATION = object({ ...ORGANIZATION_MEMBERS, secretKey: TEXT });

const RULES = {
  orphanUntilSold: COUNT_OR_NULL,
  heldPerSession: COUNT_OR_NULL,
  heldPerEvent: COUNT_OR_NULL,
};
/** The own rules of an event as given, and those that count. */
export const EVENT_RULES = object({
  orphanMode: orNull(ORPHAN_MODE),
  ...RULES,
  effective: object({ orphanMode: ORPHAN_MODE, ...RULES }),
});

const DOOR_STATE = oneOf(["before", "open", "paused", "soldout"]);
const DOOR_COUNTS = { joined: COUNT, drawn: COUNT, serving: COUNT };
/** The settings of a door, and how it stands. */
const BEACON = object({ name: TEXT, value: TEXT_OR_NULL });
export const DOOR = object({
  opensAt: TEXT,
  perMinute: COUNT,
  maxInside: COUNT_OR_NULL,
  claimSeconds: COUNT,
  insideSeconds: COUNT,
  seatsPerVisitor: COUNT_OR_NULL,
  draw: BOOLEAN,
  beacon: orNull(BEACON),
  paused: BOOLEAN,
  exemptHoldTypes: list(TEXT),
  shop: TEXT_OR_NULL,
  state: DOOR_STATE,
  commitment: TEXT,
  seed: TEXT_OR_NULL,
  tokenKey: TEXT,
  ...DOOR_COUNTS,
  waiting: COUNT,
  invited: COUNT,
  inside: COUNT,
  gone: COUNT,
});
/** A door as shown to everybody. */
export const DOOR_STATUS = object({
  eventId: UUID,
  name: TEXT,
  state: DOOR_STATE,
  now: TEXT,
  opensAt: TEXT,
  draw: BOOLEAN,
  beacon: orNull(BEACON),
  perMinute: COUNT,
  ...DOOR_COUNTS,
  joinedHash: TEXT_OR_NULL,
  commitment: TEXT,
  seed: TEXT_OR_NULL,
});
const VISITOR_MEMBERS = {
  visitor: TEXT,
  entry: TEXT,
  state: oneOf(["waiting", "invited", "inside", "gone"]),
  place: COUNT_OR_NULL,
  ahead: COUNT_OR_NULL,
  estimatedSeconds: COUNT_OR_NULL,
  until: TEXT_OR_NULL,
  taken: COUNT,
};
export const DOOR_VISITOR = object(VISITOR_MEMBERS);
export const ENTERED_VISITOR = object({ ...VISITOR_MEMBERS, admission: TEXT });

export const SETTINGS = object({
  salesControl: BOOLEAN,
  bookingEnabled: BOOLEAN,
  orphanPrevention: BOOLEAN,
  orphanMode: ORPHAN_MODE,
  orphanUntilSold: COUNT_OR_NULL,
  protectSales: BOOLEAN,
  heldPerSession: whenSet(integer()),
  heldPerEvent: whenSet(integer()),
  requestsPerSecond: whenSet(integer()),
  bookingsPerSecond: whenSet(integer()),
});

export const SESSION_CONFIG = object({ publicSessionsEnabled: BOOLEAN });

export const SECRET_KEY = object({ secretKey: TEXT });
export const TENANT_TOKEN = object({ tenantToken: TEXT });

export const TENANT = object({ id: LONG, name: TEXT });
export const NEW_TENANT = object({ id: LONG, name: TEXT, tenantToken: TEXT });

export const MOVE = object({
  organizationId: LONG,
  cell: COUNT,
  phase: oneOf(["ABSENT", "HERE", "LEAVING", "LEFT", "ARRIVING"]),
  moveId: COUNT_OR_NULL,
  toCell: COUNT_OR_NULL,
  address: orNull(TEXT),
  parts: COUNT_OR_NULL,
  receipt: orNull(TEXT),
});
export const SEALED_PART = object({ content: TEXT });

export const HOLD_TYPES = list(
  object({ name: TEXT, ttlSeconds: COUNT_OR_NULL, maxSeconds: COUNT_OR_NULL }),
);

export const VENUE = object({
  id: LONG,
  name: TEXT,
  address: whenSet(TEXT),
  lat: whenSet(number()),
  lng: whenSet(number()),
  draft: BOOLEAN,
});

export const SCHEMA = object({
  id: LONG,
  name: TEXT,
  venueId: LONG,
  description: whenSet(TEXT),
  draft: BOOLEAN,
  template: BOOLEAN,
  archived: BOOLEAN,
  externalId: whenSet(TEXT),
  gaCapacity: whenSet(COUNT),
  seatsCapacity: whenSet(COUNT),
  preview: orNull(UUID),
  thumbnail: ANYTHING,
  venueName: TEXT_OR_NULL,
});

const DRAWN_SHAPE = object({ id: whenSet(TEXT) });

export const GROUP_OF_SEATS = object({
  id: LONG,
  name: TEXT,
  prefix: TEXT_OR_NULL,
  seatPrefix: TEXT_OR_NULL,
  parentId: orNull(LONG),
  type: oneOf(["SECTION", "ROW", "GA", "TABLE"]),
  ga: BOOLEAN,
  schemaId: LONG,
  pricingZoneId: orNull(LONG),
  guid: UUID,
  externalId: TEXT_OR_NULL,
  shapes: orNull(list(DRAWN_SHAPE)),
  width: NUMBER_OR_NULL,
  height: NUMBER_OR_NULL,
  left: NUMBER_OR_NULL,
  top: NUMBER_OR_NULL,
  angle: NUMBER_OR_NULL,
});

const POSITION = { x: whenSet(NUMBER_OR_NULL), y: whenSet(NUMBER_OR_NULL) };
const SECTOR = openObject({
  id: LONG,
  guid: TEXT,
  name: TEXT,
  ga: whenSet(BOOLEAN),
  gaCapacity: whenSet(COUNT_OR_NULL),
  angle: whenSet(NUMBER_OR_NULL),
  ...POSITION,
});
const ROW = openObject({ id: LONG, guid: TEXT, sectorGuid: TEXT, rowNumber: whenSet(TEXT) });
const SEAT = openObject({
  id: LONG,
  guid: TEXT,
  rowGuid: whenSet(TEXT),
  name: TEXT,
  ...POSITION,
  rank: whenSet(orNull(integer())),
});
/** Drawing members that the service does not know are kept and given back. */
export const LAYOUT = object({
  sectors: list(SECTOR),
  rows: list(ROW),
  seats: list(SEAT),
  shapes: list(RECORD),
  clientViewBox: orNull(RECORD),
  focalPoint: whenSet(object({ x: number(), y: number() })),
  /** Of a change. */
  inUse: whenSet(object({ renamed: COUNT, moved: COUNT })),
});

const EVENT_MEMBERS = {
  id: UUID,
  createdDate: LOCAL_DATE_TIME,
  start: LOCAL_DATE_TIME,
  endDate: LOCAL_DATE_TIME,
  name: TEXT,
  schemaId: LONG,
  status: EVENT_STATUS,
};
export const EVENT = object(EVENT_MEMBERS);
export const EVENT_EXPAND = object({
  ...EVENT_MEMBERS,
  schemaName: TEXT_OR_NULL,
  venueId: whenSet(TEXT),
  venueName: whenSet(TEXT),
});
export const EVENT_STATUS_CHANGE = object({
  id: UUID,
  name: TEXT,
  status: EVENT_STATUS,
  publishedAt: whenSet(LOCAL_DATE_TIME),
});

export const EVENT_SERIES = object({ id: UUID, name: TEXT, seriesId: orNull(LONG) });

export const SERIES = object({ id: LONG, name: TEXT });

export const PRICING_ZONE = object({ id: LONG, name: TEXT, schemaId: LONG });

export const CLONE = object({
  id: UUID,
  status: oneOf(["PENDING", "IN_PROGRESS", "COMPLETED", "FAILED"]),
  schemaId: LONG,
  errorMessage: whenSet(TEXT),
});

const STATE: Shape = {
  type: ["string", "null"],
  enum: ["ACTIVE", "LOCKED", "SOLD", "BLOCKED", null],
};

export const EVENT_SEAT = object({
  seatId: LONG,
  seatName: TEXT,
  rowId: LONG,
  rowName: TEXT,
  sectionId: LONG,
  sectionName: TEXT,
  state: STATE,
  available: BOOLEAN,
  priceId: whenSet(LONG),
  priceName: whenSet(TEXT),
  updatedAt: LOCAL_DATE_TIME,
} satisfies Record<(typeof SEAT_SORTS)[number] | "available", Shape | Optional>);

export const AREA = object({
  groupOfSeatsId: LONG,
  name: TEXT,
  priceId: whenSet(LONG),
  priceName: whenSet(TEXT),
  capacity: COUNT,
  active: COUNT,
  locked: COUNT,
  sold: COUNT,
  blocked: COUNT,
  updatedAt: LOCAL_DATE_TIME,
});

const MONEY = { amount: whenSet(COUNT), currency: whenSet(CURRENCY) };
const STATE_COUNTS = {
  active: COUNT,
  locked: COUNT,
  sold: COUNT,
  blocked: COUNT,
  unpriced: COUNT,
};
export const EVENT_SUMMARY = object({
  sequence: COUNT,
  total: object(STATE_COUNTS),
  byPrice: list(object({ priceId: LONG, priceName: TEXT, ...MONEY, ...STATE_COUNTS })),
  bySection: list(object({ groupOfSeatsId: LONG, name: TEXT, ...STATE_COUNTS })),
  revenue: list(object({ currency: CURRENCY, sold: COUNT })),
});

/** A channel, and the seats that it keeps by state. */
export const CHANNEL = object({ key: TEXT, name: TEXT, ...STATE_COUNTS });

/** What one lock still holds. */
export const HOLD = object({
  fence: COUNT,
  sessionId: whenSet(TEXT),
  holdType: TEXT,
  since: LOCAL_DATE_TIME,
  until: orNull(LOCAL_DATE_TIME),
  seats: list(LONG),
  areas: list(object({ groupOfSeatsId: LONG, capacity: COUNT })),
});

/** An area after a change. */
const AREA_COUNT_MEMBERS = {
  groupOfSeatsId: LONG,
  capacity: COUNT,
  active: COUNT,
  locked: COUNT,
  sold: COUNT,
  blocked: COUNT,
};
export const AREA_COUNTS = object(AREA_COUNT_MEMBERS);
const BOOKED_PLACES = {
  seats: list(
    object({
      id: LONG,
      label: TEXT,
      section: TEXT,
      row: TEXT,
      seat: TEXT,
      state: STATE,
      priceId: whenSet(LONG),
      expiresAt: whenSet(LOCAL_DATE_TIME),
      fence: whenSet(COUNT),
    }),
  ),
  areas: list(
    object({
      ...AREA_COUNT_MEMBERS,
      hold: whenSet(object({ fence: COUNT, expiresAt: orNull(LOCAL_DATE_TIME), capacity: COUNT })),
    }),
  ),
};
const REPRESENTATION = { sequence: COUNT, ...BOOKED_PLACES };
/** What a booking call has moved; or `true`, or the `false` of a direct sale. */
export const BOOKED = either(DONE, object(REPRESENTATION));
/** Extended holds, and the first of their ends. */
export const EXTENDED = object({ ...REPRESENTATION, until: orNull(LOCAL_DATE_TIME) });
/** The best places, with the areas in the form that `sale` and `unlock` take. */
export const BEST = object({
  ...REPRESENTATION,
  together: BOOLEAN,
  groupOfSeats: list(object({ id: LONG, capacity: COUNT })),
});

/** The items of a cart as the whole cart leaves them. */
export const CART_BOOKED = object({
  sequence: COUNT,
  items: list(object({ eventId: UUID, ...BOOKED_PLACES })),
});

/** A transition of one seat, or of some places of an area. */
export const AUDIT_ENTRY = object({
  sequence: LONG,
  ordinal: COUNT,
  time: LOCAL_DATE_TIME,
  call: TEXT,
  actorType: oneOf(["SYSTEM", "ORGANIZATION", "TENANT", "ACCOUNT"]),
  actorId: whenSet(LONG),
  sessionId: whenSet(TEXT),
  holdType: whenSet(TEXT),
  holdSequence: whenSet(LONG),
  seatId: whenSet(LONG),
  groupOfSeatsId: whenSet(LONG),
  capacity: whenSet(COUNT),
  fromState: STATE,
  toState: STATE,
  priceId: whenSet(LONG),
  channel: whenSet(TEXT_OR_NULL),
});

/** The part of the log that the trail covers. */
export const AUDIT_TRAIL = object({
  firstSequence: LONG,
  firstTime: whenSet(LOCAL_DATE_TIME),
  lastSequence: COUNT,
});

const PRICE_MEMBERS = { id: LONG, name: TEXT, eventId: UUID, externalId: TEXT_OR_NULL };
export const PRICE = object({ ...PRICE_MEMBERS, ...MONEY });
/** In v1, which knows no amounts. */
export const LEGACY_PRICE = object(PRICE_MEMBERS);

export const USER = object({
  id: LONG,
  email: TEXT,
  name: TEXT,
  organizationId: whenSet(LONG),
});

export const LOGIN = object({
  success: BOOLEAN,
  token: TEXT,
  refreshToken: TEXT,
  user: USER,
  organizations: list(object({ id: LONG, name: TEXT, secretKey: TEXT })),
  tenantToken: whenSet(TEXT),
});
export const LOGIN_FAILURE = object({ success: BOOLEAN, error: TEXT });

export const HEALTH = object({ status: TEXT });

export const ERROR_DETAIL = object({
  field: TEXT,
  message: TEXT,
  rejectedValue: ANYTHING,
  code: TEXT,
  alternatives: whenSet(list(object({ id: LONG, label: TEXT, priceId: LONG }))),
  available: whenSet(COUNT),
});
/** Everything that a lock could have of its request, and why it has not the rest. */
export const PARTIAL_LOCK = object({
  ...REPRESENTATION,
  groupOfSeats: list(object({ id: LONG, capacity: COUNT })),
  refused: list(ERROR_DETAIL),
});
const ERROR_CODES = [...new Set(Object.values(REPLIES).map(({ errorCode }) => errorCode))].sort();
export const PROBLEM = object({
  type: TEXT,
  title: TEXT,
  status: integer(),
  detail: TEXT,
  instance: TEXT,
  timestamp: text({ format: "date-time" }),
  path: TEXT,
  errorCode: oneOf(ERROR_CODES),
  sequence: whenSet(COUNT),
  largestTogether: whenSet(COUNT),
  available: whenSet(COUNT),
  errors: list(ERROR_DETAIL),
});

export const SEAT_AFTER = object({
  id: LONG,
  state: STATE,
  priceId: orNull(LONG),
  expiresAt: whenSet(LOCAL_DATE_TIME),
  channel: whenSet(TEXT_OR_NULL),
});

/** What one record changed in an event. */
export const EVENT_CHANGE = object({
  sequence: COUNT,
  previous: COUNT,
  time: LOCAL_DATE_TIME,
  call: TEXT,
  sessionId: whenSet(TEXT),
  holdType: whenSet(TEXT),
  seats: list(SEAT_AFTER),
  areas: list(AREA_COUNTS),
  status: whenSet(EVENT_STATUS),
  bookable: whenSet(BOOLEAN),
});

export const EVENT_CHANGES = object({
  sequence: COUNT,
  more: BOOLEAN,
  changes: list(EVENT_CHANGE),
});

const MAP_COLUMNS = object({
  ids: list(LONG),
  states: TEXT,
  priceIndexes: list(integer()),
  /** While a seat is in one. */
  channels: whenSet(list(TEXT_OR_NULL)),
});

/** The whole map of an event. */
export const MAP_MEMBERS = {
  sequence: COUNT,
  status: EVENT_STATUS,
  bookable: BOOLEAN,
  prices: list(LONG),
  columns: MAP_COLUMNS,
  expiresAt: ANYTHING,
  areas: list(AREA_COUNTS),
};
export const EVENT_MAP = object(MAP_MEMBERS);

export const STREAM_TICKET = object({ ticket: TEXT, expiresAt: LOCAL_DATE_TIME });

// Rows and inventory in the wire form of the interface. A member without a value is null where the
// contract says so; otherwise it is undefined, and left out of the answer.

export function organizationView(row: OrganizationRow, privateKey: string) {
  const { id, name, publicKey, domain, type, tenantId } = row;
  const { autologinEnabled, appendDomainToLogin } = row;
  const login = { autologinEnabled, appendDomainToLogin };
  return { id, name, publicKey, privateKey, domain, ...login, type, tenantId };
}

export function settingsView(row: OrganizationRow) {
  const { salesControl, bookingEnabled, orphanPrevention, orphanUntilSold, protectSales } = row;
  const orphans = { orphanMode: orphanModeOf(row), orphanUntilSold: orphanUntilSold ?? null };
  const { heldPerSession, heldPerEvent, requestsPerSecond, bookingsPerSecond } = row;
  const limits = { heldPerSession, heldPerEvent, requestsPerSecond, bookingsPerSecond };
  return { salesControl, bookingEnabled, orphanPrevention, ...orphans, protectSales, ...limits };
}

/** Members without a value are null. */
export function rulesView({ catalog }: State, event: EventRow) {
  const organization = catalog.organizations.get(event.organizationId)!;
  const none = { orphanUntilSold: null, heldPerSession: null, heldPerEvent: null };
  const { orphanMode, ...present } = presentRules(organization, event);
  const effective = { orphanMode, ...none, ...present };
  return { orphanMode: null, ...none, ...event.rules, effective };
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

export function priceView(row: PriceRow) {
  const { amount, currency } = row;
  return { ...legacyPriceView(row), amount, currency };
}

export function legacyPriceView({ id, name, eventId, externalId }: PriceRow) {
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
    available: state === SeatState.ACTIVE && isOnSale && seat.channel === null,
    priceId: seat.priceId ?? undefined,
    priceName: seat.priceName ?? undefined,
    updatedAt: localDateTime(seat.changedAtMs),
  };
}

export function areaView({ areaId, changedAtMs, priceId, priceName, ...facts }: AreaFacts) {
  const price = { priceId: priceId ?? undefined, priceName: priceName ?? undefined };
  return { groupOfSeatsId: areaId, ...facts, ...price, updatedAt: localDateTime(changedAtMs) };
}

export function bookedView({ sequence, ...places }: Booked) {
  return { sequence, ...placesView(places) };
}

export function cartView({ sequence, items }: BookedCart) {
  return {
    sequence,
    items: items.map(({ eventId, ...places }) => ({ eventId, ...placesView(places) })),
  };
}

function placesView({ seats, areas }: Omit<Booked, "sequence">) {
  return {
    seats: seats.map(({ state, priceId, expiresAtMs, fence, ...labels }) => ({
      ...labels,
      state: STATE_NAMES[state],
      priceId: priceId ?? undefined,
      expiresAt: expiresAtMs === null ? undefined : localDateTime(expiresAtMs),
      fence: fence ?? undefined,
    })),
    areas: areas.map(({ areaId, capacity, active, locked, sold, blocked, hold }) => ({
      groupOfSeatsId: areaId,
      capacity,
      active,
      locked,
      sold,
      blocked,
      hold:
        hold === null
          ? undefined
          : {
              fence: hold.fence,
              expiresAt: hold.expiresAtMs === null ? null : localDateTime(hold.expiresAtMs),
              capacity: hold.places,
            },
    })),
  };
}

/** @param sequence - The last record of the event. */
export function extendedView({ untilMs, ...booked }: Extended, sequence: number) {
  const until = untilMs === null ? null : localDateTime(untilMs);
  return { ...bookedView({ sequence, ...booked }), until };
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
  const group = (given: Sector | Row) => ({
    id: given.id,
    prefix: textOrNull(given["prefix"]),
    seatPrefix: textOrNull(given["seatPrefix"]),
    schemaId,
    guid: given.guid,
    externalId: textOrNull(given["externalId"]),
    shapes: (shapesOf.get(given.guid) ?? []).map(shapeView),
    width: numberOrNull(given["width"]),
    height: numberOrNull(given["height"]),
    left: numberOrNull(given["left"] ?? given["x"]),
    top: numberOrNull(given["top"] ?? given["y"]),
    angle: numberOrNull(given["angle"]),
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
export function shapesByGroup({
  shapes,
}: LayoutDocument): ReadonlyMap<string, readonly LayoutShape[]> {
  const shapesOf = new Map<string, LayoutShape[]>();
  for (const shape of shapes) {
    const guid = shape.groupOfSeatsGuid;
    if (typeof guid === "string") shapesOf.set(guid, [...(shapesOf.get(guid) ?? []), shape]);
  }
  return shapesOf;
}

export function shapeView(shape: LayoutShape) {
  return {
    id: shape.id ?? "",
    width: numberOrNull(shape["width"]),
    height: numberOrNull(shape["height"]),
    x: numberOrNull(shape["left"] ?? shape["x"]),
    y: numberOrNull(shape["top"] ?? shape["y"]),
    angle: numberOrNull(shape["angle"]),
    groupOfSeatsGuid: shape.groupOfSeatsGuid ?? null,
    order: numberOrNull(shape["order"]),
    text: textOrNull(shape["text"]),
    textPosition: textOrNull(shape["textPosition"]),
    textColor: textOrNull(shape["textColor"]),
    fill: textOrNull(shape["fill"]),
    fontScale: numberOrNull(shape["fontScale"]),
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

export function numberOrNull(value: unknown): number | null {
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
