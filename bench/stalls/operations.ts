/** All operations, each after those it depends on. */
import { TENANT_TOKEN } from "../contenders/venue.ts";
import { CHANNEL_GROUPS_MAX, CHANNEL_SEATS_MAX } from "../../engine/constants.ts";
import { EVENT_TIMES } from "../harness/event-data.ts";
import { ADMIN_EMAIL, PASSWORD, type Stage } from "./stage.ts";

export function allOperations(): readonly Operation[] {
  return [
    ...OTHER_OPERATIONS,
    ...LAYOUT_OPERATIONS,
    ...EVENT_OPERATIONS,
    ...ZONED_OPERATIONS,
    ...LAST_LAYOUT_OPERATIONS,
    ...LAST_OTHER_OPERATIONS,
  ];
}

// An operation whose stall is measured, and how it is carried out.

/** Values of an operation for its row of the route table. */
export interface Filling {
  /** For the path parameters, in order. */
  readonly path?: readonly (string | number)[];
  /** Without its question mark. */
  readonly query?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly statuses?: readonly number[];
}

export interface Operation {
  /** Method and path as in the route table. */
  readonly route: string;
  /** Says how it differs from others of the same row. */
  readonly variant: string;
  readonly fill: (stage: Stage) => Filling;
  /** Keeps what later operations need. */
  readonly keep?: (stage: Stage, answer: never) => void;
  /** Runs before it, outside of the measurement. */
  readonly prepare?: (stage: Stage) => Promise<void>;
  /** Other work follows its answer, in slices that are measured too. */
  readonly hasAftermath?: boolean;
}

type Options = Omit<Operation, "route" | "variant" | "fill">;

function operation(
  route: string,
  variant = "",
  fill: Operation["fill"] = () => ({}),
  options: Options = {},
): Operation {
  return { route, variant, fill, ...options };
}

const PARAMETER = /\{[^}]+\}/g;

export async function carryOut(stage: Stage, { route, fill, keep }: Operation): Promise<void> {
  const { path = [], query, ...ask } = fill(stage);
  const left = [...path];
  const target = route.replace(PARAMETER, () => String(left.shift()));
  const line = query === undefined ? target : `${target}?${query}`;
  const answer = await stage.ask(line, ask);
  keep?.(stage, answer as never);
}

// Operations on events, prices and bookings.

const V2 = "/api/private/v2.0";
const V1 = "/api/private/v1.0";
const EVENTS = `${V2}/events`;
const PRICES = `${V2}/event/{eventId}/prices`;
const SEATS_BOOKED = 1_000;
const CART_ITEMS = 50;
const KEYS_ASSIGNED = 4_000;
const GROUPS_REPEATED = 2_000;
/** From the most expensive comparisons to the ones that decide. */
const SORTS =
  "sectionName rowName seatName state priceName priceId sectionId rowId updatedAt seatId".split(
    " ",
  );

interface Created {
  readonly id: number;
}

const theEvent = ({ event }: Stage) => ({ path: [event.id] });
const theChannel = ({ event }: Stage) => ({ path: [event.id, "agency"] });
const theVisitor = ({ event, notes }: Stage) => ({ path: [event.id, notes["visitor"]!] });
/** A visitor who is not invited yet is refused. */
const entering = (stage: Stage) => ({ ...theVisitor(stage), statuses: [200, 409] });
const ADMISSION = `${EVENTS}/{id}/admission`;
const ofEvent = ({ event }: Stage) => `eventId=${event.id}`;
const byId = ({ event }: Stage) => `id=${event.id}`;
const listed = ({ listedKey }: Stage) => ({ headers: { "X-API-Key": listedKey } });

function booking(kind: string): Operation {
  return operation(`POST ${V2}/booking/${kind}`, `${SEATS_BOOKED} seats`, (stage) => {
    const seats = stage.seats.slice(0, SEATS_BOOKED).map(({ id }) => ({ id }));
    const call = kind === "check" ? "&call=lock" : "";
    const more = kind === "extend" ? { seconds: 60 } : {};
    return { query: ofEvent(stage) + call, body: { seats, ...more } };
  });
}

/** Locks in an event of which nothing is taken. */
function cartItems({ events, seats }: Stage) {
  const seatsPerItem = SEATS_BOOKED / CART_ITEMS;
  return Array.from({ length: CART_ITEMS }, (_, item) => {
    const first = item * seatsPerItem;
    const own = seats.slice(first, first + seatsPerItem).map(({ id }) => ({ id }));
    return { eventId: events.at(-1)!.id, call: "lock", seats: own };
  });
}

/** A lock, and as many searches as a cart may have on the largest layout. */
function bestItems({ events, seats }: Stage) {
  const eventId = events.at(-1)!.id;
  const lock = { eventId, call: "lock", seats: seats.slice(-CART_ITEMS).map(({ id }) => ({ id })) };
  const best = { eventId, call: "best", quantity: 50, adjacent: "preferred" };
  return [lock, best, best];
}

/** @param count - How many seats, from the end of the first section on. */
function keys({ layout, sectors }: Stage, count: number): { compositeKey: string }[] {
  const rows = new Map(layout.rows.map((row) => [row.guid, row]));
  const names = new Map(layout.sectors.map(({ guid, name }) => [guid, name]));
  const from = sectors.length > 0 ? SEATS_BOOKED : 0;
  return layout.seats.slice(from, from + count).map(({ rowGuid, name }) => {
    const { sectorGuid, rowNumber } = rows.get(rowGuid)!;
    return { compositeKey: `${names.get(sectorGuid)};;${rowNumber};;Seat ${name}` };
  });
}

const legacyBooking = (kind: string) =>
  operation(`POST ${V1}/booking/${kind}`, `${SEATS_BOOKED} seats`, (stage) => ({
    query: byId(stage),
    body: keys(stage, SEATS_BOOKED),
  }));

const legacyPriced = (stage: Stage, count: number) =>
  keys(stage, count).map((key) => ({ ...key, price: stage.event.priceId }));

const EVENT_OPERATIONS: readonly Operation[] = [
  operation(`GET ${EVENTS}/`, "many events", listed),
  operation(`GET ${EVENTS}/`, "many events, by name", (stage) => ({
    ...listed(stage),
    query: "sort=name,desc&page=10",
  })),
  operation(`GET ${EVENTS}/`, "many events, ten keys", (stage) => {
    const keyNames = ["name", "schemaName", "venueName", "status", "start", "endDate"];
    const sort = [...keyNames, "createdDate", "schemaId", "venueId", "id"].map((k) => `sort=${k}`);
    return { ...listed(stage), query: sort.join("&") };
  }),
  operation(`GET ${EVENTS}/`, "many events, part of the name", (stage) => ({
    ...listed(stage),
    query: `name=${encodeURIComponent("évening 1")}`,
  })),
  operation(`GET ${V1}/events/`, "many events", listed),
  operation(`GET ${EVENTS}/{id}`, "", theEvent),
  operation(`GET ${EVENTS}/{id}/areas/`, "", theEvent),
  operation(`GET ${EVENTS}/{id}/summary/`, "", theEvent),
  operation(`GET ${EVENTS}/{id}/holds/`, "", theEvent),
  operation(`GET ${EVENTS}/{id}/map/`, "", theEvent),
  operation(`GET ${EVENTS}/{id}/changes/`, "", (stage) => ({
    ...theEvent(stage),
    query: "since=0&limit=1000",
  })),
  operation(`POST ${EVENTS}/{id}/stream-tickets`, "", theEvent),
  operation(`GET ${EVENTS}/{id}/seats/`, "first page", theEvent),
  operation(`GET ${EVENTS}/{id}/seats/`, "again", theEvent),
  operation(`GET ${EVENTS}/{id}/seats/`, "by one key", (stage) => ({
    ...theEvent(stage),
    query: "sort=seatName,desc",
  })),
  operation(`GET ${EVENTS}/{id}/seats/`, "by ten keys", (stage) => ({
    ...theEvent(stage),
    query: SORTS.map((sort) => `sort=${sort}`).join("&"),
  })),
  operation(`GET ${EVENTS}/{id}/seats/`, "by ten keys, event new to it", ({ events }) => ({
    path: [events.at(-1)!.id],
    query: SORTS.map((sort) => `sort=${sort},desc`).join("&"),
  })),
  operation(`GET ${EVENTS}/{id}/seats/`, "of a section", (stage) => ({
    ...theEvent(stage),
    query: `sectionId=${stage.sectors[0]!.id}`,
  })),
  operation(`GET ${EVENTS}/{id}/seats/`, "since a time", (stage) => ({
    ...theEvent(stage),
    query: "lastUpdated=2020-01-01T00:00:00",
  })),
  operation(`GET ${EVENTS}/{id}/audit/`, "", theEvent),
  operation(`GET ${EVENTS}/{id}/history/`, "", theEvent),
  ...["check", "lock", "extend", "unlock", "lock", "sale", "revertsale", "directsale"].map(booking),
  booking("revertsale"),
  ...["block", "unblock"].map(booking),
  operation(`POST ${V2}/booking/best`, "for the first time", (stage) => ({
    query: ofEvent(stage),
    body: { quantity: 4 },
  })),
  operation(`POST ${V2}/booking/best`, "apart", (stage) => ({
    query: ofEvent(stage),
    body: { quantity: 50, adjacent: "preferred" },
  })),
  operation(`POST ${V2}/booking/cart`, `50 items with ${SEATS_BOOKED} seats`, (stage) => ({
    body: { sessionId: "cart", items: cartItems(stage) },
  })),
  operation(`POST ${V2}/booking/cart`, "a lock, and twice the best 50 apart", (stage) => ({
    body: { sessionId: "cart", items: bestItems(stage) },
  })),
  operation(
    `POST ${V2}/booking/lock`,
    `what can be had of ${SEATS_BOOKED} seats`,
    ({ events, seats }) => {
      const asked = seats.slice(SEATS_BOOKED / 2, SEATS_BOOKED + SEATS_BOOKED / 2);
      return {
        query: `eventId=${events.at(-1)!.id}&mode=best-effort`,
        body: { sessionId: "cart", seats: asked.map(({ id }) => ({ id })) },
      };
    },
  ),
  operation(`POST ${V2}/booking/unlock`, "all that a session holds", ({ events }) => ({
    query: `eventId=${events.at(-1)!.id}`,
    body: { sessionId: "cart", all: true },
  })),
  legacyBooking("lock"),
  legacyBooking("unlock"),
  legacyBooking("lock"),
  legacyBooking("sale"),
  operation(
    `POST ${PRICES}/`,
    "",
    (stage) => ({
      ...theEvent(stage),
      body: [{ name: "Other", eventId: stage.event.id }],
    }),
    { keep: ({ notes }, [price]: Created[]) => void (notes["price"] = price!.id) },
  ),
  operation(`POST ${PRICES}/assignments/`, "every section", (stage) => ({
    ...theEvent(stage),
    body: { groupOfSeats: priced(stage, stage.sectors) },
  })),
  operation(`POST ${PRICES}/assignments/`, "a section repeated", (stage) => {
    const repeated = Array.from({ length: GROUPS_REPEATED }, () => stage.sectors[0]!);
    // Another price than before: an equal assignment changes nothing.
    const groupOfSeats = priced(stage, repeated, stage.event.priceId);
    return { ...theEvent(stage), body: { groupOfSeats } };
  }),
  operation(`POST ${PRICES}/assignments/`, "every other seat", (stage) => {
    const half = stage.seats.filter((_, i) => i % 2 === 0).slice(-6_000);
    return { ...theEvent(stage), body: { seats: priced(stage, half, stage.event.priceId) } };
  }),
  operation(`GET ${PRICES}/`, "", theEvent),
  operation(`PUT ${PRICES}/`, "", (stage) => ({
    ...theEvent(stage),
    body: [{ id: stage.event.priceId, name: "Renamed", eventId: stage.event.id }],
  })),
  operation(`GET ${PRICES}/{id}`, "", ({ event }) => ({ path: [event.id, event.priceId] })),
  operation(`POST ${V1}/assignments/`, `${KEYS_ASSIGNED} seats`, (stage) => ({
    query: byId(stage),
    body: legacyPriced(stage, KEYS_ASSIGNED),
  })),
  operation(`POST ${V1}/assignments/`, "clean", (stage) => ({
    query: `${byId(stage)}&clean=true`,
    body: legacyPriced(stage, KEYS_ASSIGNED),
  })),
  operation(`POST ${V1}/assignments/`, "keys that name nothing", (stage) => ({
    query: byId(stage),
    body: legacyPriced(stage, KEYS_ASSIGNED).map((one) => ({ ...one, compositeKey: "None" })),
  })),
  operation(`DELETE ${V1}/assignments/`, `${KEYS_ASSIGNED} seats`, (stage) => ({
    query: byId(stage),
    body: keys(stage, KEYS_ASSIGNED + SEATS_BOOKED).slice(SEATS_BOOKED),
  })),
  operation(`POST ${V1}/assignments/clean`, "", (stage) => ({ query: byId(stage) })),
  operation(`DELETE ${PRICES}/{id}`, "", ({ event, notes }) => ({
    path: [event.id, notes["price"]!],
  })),
  operation(`GET ${V1}/prices/`, "", (stage) => ({ query: byId(stage) })),
  operation(
    `POST ${V1}/prices/`,
    "",
    ({ event }) => ({ body: { name: "Legacy", eventId: event.id } }),
    { keep: ({ notes }, price: Created) => void (notes["legacyPrice"] = price.id) },
  ),
  operation(`PUT ${V1}/prices/`, "", ({ event, notes }) => ({
    body: { id: notes["legacyPrice"], name: "Changed", eventId: event.id },
  })),
  operation(`DELETE ${V1}/prices/`, "", ({ notes }) => ({ query: `id=${notes["legacyPrice"]}` })),
  operation(
    `POST ${V1}/events/`,
    "",
    ({ schemaId }) => ({ body: { name: "Legacy", schemaId, start: EVENT_TIMES.start } }),
    { keep: ({ notes }, event: { id: string }) => void (notes["legacyEvent"] = event.id) },
  ),
  operation(`PUT ${V1}/events/`, "", ({ notes }) => ({
    body: { id: notes["legacyEvent"], name: "Changed" },
  })),
  operation(`DELETE ${V1}/events/{id}`, "", ({ notes }) => ({ path: [notes["legacyEvent"]!] })),
  operation(`POST ${V2}/series/`, "", () => ({ body: { name: "Series" } }), {
    keep: ({ notes }, series: Created) => void (notes["series"] = series.id),
  }),
  operation(`GET ${V2}/series/`),
  operation(`PUT ${EVENTS}/{id}/series`, "", (stage) => ({
    ...theEvent(stage),
    body: { seriesId: stage.notes["series"] },
  })),
  operation(`DELETE ${V2}/series/{id}`, "", ({ notes }) => ({ path: [notes["series"]!] })),
  operation(`POST ${EVENTS}/{id}/clone`, "", (stage) => ({ ...theEvent(stage), body: {} }), {
    keep: ({ notes }, event: { id: string }) => void (notes["clonedEvent"] = event.id),
  }),
  operation(`DELETE ${EVENTS}/{id}`, "a clone", ({ notes }) => ({ path: [notes["clonedEvent"]!] })),
  operation(`GET ${EVENTS}/{id}/rules`, "", theEvent),
  operation(`PUT ${EVENTS}/{id}/rules`, "", (stage) => ({ ...theEvent(stage), body: {} })),
  operation(`PUT ${EVENTS}/{id}/channels/{key}`, "all seats", (stage) => ({
    ...theChannel(stage),
    body: {
      name: "All",
      groupOfSeatsIds: stage.sectors
        .filter(({ guid }) => !stage.layout.sectors.find((one) => one.guid === guid)!.ga)
        .slice(0, CHANNEL_GROUPS_MAX)
        .map(({ id }) => id),
    },
  })),
  operation(`PUT ${EVENTS}/{id}/channels/{key}`, `${CHANNEL_SEATS_MAX} seats`, (stage) => ({
    ...theChannel(stage),
    body: { name: "Some", seats: stage.seats.slice(0, CHANNEL_SEATS_MAX).map(({ id }) => id) },
  })),
  operation(`GET ${EVENTS}/{id}/channels/`, "", theEvent),
  operation(`DELETE ${EVENTS}/{id}/channels/{key}`, "", theChannel),
  operation(`PUT ${ADMISSION}`, "", (stage) => ({
    ...theEvent(stage),
    body: { opensAt: "2020-01-01T00:00", perMinute: 600, draw: false },
  })),
  operation(`GET ${ADMISSION}`, "", theEvent),
  operation(`POST ${ADMISSION}/visitors`, "", (stage) => ({ ...theEvent(stage), body: {} }), {
    keep: ({ notes }, { visitor }: { visitor: string }) => void (notes["visitor"] = visitor),
  }),
  operation(`GET ${ADMISSION}/visitors/{visitor}`, "", theVisitor),
  operation(`POST ${ADMISSION}/visitors/{visitor}/enter`, "", entering),
  operation("GET /door/{eventId}", "", theEvent),
  operation("GET /door/{eventId}/status", "", theEvent),
  operation("GET /door/{eventId}/entries", "", theEvent),
  operation("GET /door/{eventId}/visitors/{visitor}", "", theVisitor),
  operation("POST /door/{eventId}/visitors/{visitor}/enter", "", entering),
  operation("DELETE /door/{eventId}/visitors/{visitor}", "", theVisitor),
  operation(`DELETE ${ADMISSION}/visitors/{visitor}`, "", theVisitor),
  operation(`DELETE ${ADMISSION}`, "", theEvent),
  operation(`POST ${EVENTS}/{id}/status`, "", (stage) => ({
    ...theEvent(stage),
    body: { status: "ARCHIVED" },
  })),
  operation(`DELETE ${EVENTS}/{id}`, "", theEvent),
];

function priced({ notes }: Stage, objects: readonly Created[], priceId = notes["price"]) {
  return objects.map(({ id }) => ({ objectId: id, assignmentId: priceId }));
}

// Operations on layouts, zones and schemas.

const SCHEMAS = `${V2}/schemas`;
const LAYOUT = `${SCHEMAS}/{id}/layout`;
const ZONES = `${SCHEMAS}/{schemaId}/pricing_zones`;
const V1_SCHEMAS = "/api/private/v1.0/venues/schemas";
/** Seats in one request, whose body is not much shorter than the longest. */
const SEATS_ZONED = 5_000;

/** Gives every seat a zone of its own but the first ones, which are left to be measured. */
async function zoneSeats(stage: Stage): Promise<void> {
  const { schemaId, seats, notes } = stage;
  const zones = ZONES.replace("{schemaId}", String(schemaId));
  const [zone] = await stage.ask<Created[]>(`POST ${zones}/`, {
    body: [{ name: "All", schemaId }],
  });
  notes["zone"] = zone!.id;
  for (let from = SEATS_ZONED; from < seats.length; from += SEATS_ZONED) {
    const body = { seats: zoned(stage, seats.slice(from, from + SEATS_ZONED)) };
    await stage.ask(`POST ${zones}/assignments/`, { body });
  }
}

const large = ({ schemaId }: Stage) => ({ path: [schemaId] });
const putLarge = (body: (stage: Stage) => unknown) => (stage: Stage) => ({
  ...large(stage),
  body: body(stage),
});
const aftermath = { hasAftermath: true };
const onNewSchema = (name: string) => ({
  prepare: async (stage: Stage) => {
    stage.notes["newSchema"] = await stage.createSchema(name);
  },
  ...aftermath,
});
const newSchema = ({ notes }: Stage) => ({ path: [notes["newSchema"]!] });
/** The same text with one letter of the first name escaped. */
const escaped = (text: string) => text.replace('"name":"', String.raw`"name":"\u0061`);
const asEditor = ({ notes, organizationId }: Stage) => ({
  query: `orgId=${organizationId}`,
  headers: { Authorization: `Bearer ${notes["token"]}` },
});

const LAYOUT_OPERATIONS: readonly Operation[] = [
  operation(
    `PUT ${LAYOUT}`,
    "first, no events",
    (stage) => ({ ...newSchema(stage), body: stage.layout.text }),
    onNewSchema("First"),
  ),
  operation(
    `PUT ${LAYOUT}`,
    "{} without events",
    (stage) => ({ ...newSchema(stage), body: {} }),
    aftermath,
  ),
  operation(
    `PUT ${LAYOUT}`,
    "first, one escaped letter",
    (stage) => ({ ...newSchema(stage), body: escaped(stage.layout.text) }),
    onNewSchema("Escaped"),
  ),
  operation(
    `PUT ${LAYOUT}`,
    "the same again, with events",
    putLarge(({ layout }) => layout.text),
    aftermath,
  ),
  operation(
    `PUT ${LAYOUT}`,
    "{} with events",
    putLarge(() => ({})),
    aftermath,
  ),
  operation(
    `PUT ${LAYOUT}`,
    "one seat renamed, with events",
    putLarge(({ seats, layout }) => {
      const [seat, sent] = [seats[0]!, layout.seats[0]!];
      return { seats: [{ ...sent, id: seat.id, name: "First" }] };
    }),
    aftermath,
  ),
  operation(
    `PUT ${LAYOUT}`,
    "every seat renamed, with events",
    putLarge(({ layout }) => {
      const seats = layout.seats.map((seat) => ({ ...seat, name: `Seat ${seat.name}` }));
      return { seats };
    }),
    aftermath,
  ),
  operation(
    `PUT ${LAYOUT}`,
    "a row removed, with events",
    putLarge(({ layout }) => ({ rows: [{ ...layout.rows.at(-1), toRemove: true }] })),
    { keep: (stage, { seats }: Pick<Stage, "seats">) => void (stage.seats = seats), ...aftermath },
  ),
  operation(`GET ${LAYOUT}`, "", large),
  operation(`GET ${SCHEMAS}/{id}/geometry/`, "", large),
  operation("GET /api/seatmap/{id}/", "", (stage) => ({ ...large(stage), ...asEditor(stage) })),
  operation(
    "PUT /api/seatmap/{id}/",
    "{}",
    (stage) => ({ ...large(stage), ...asEditor(stage), body: {} }),
    aftermath,
  ),
  operation(`GET ${SCHEMAS}/{schemaId}/seatmaps/`, "", large),
  operation(`GET ${V1_SCHEMAS}/`),
  operation(`GET ${V1_SCHEMAS}/{schemaId}/details/`, "", large),
  operation(`GET ${V1_SCHEMAS}/{schemaId}/`, "", large),
  operation(
    `POST ${ZONES}/`,
    "",
    (stage) => ({ ...large(stage), body: [{ name: "Zone", schemaId: stage.schemaId }] }),
    { keep: ({ notes }, [zone]: Created[]) => void (notes["zone"] = zone!.id) },
  ),
  operation(`POST ${ZONES}/assignments/`, "every section", (stage) => ({
    ...large(stage),
    body: { groupOfSeats: zoned(stage, stage.sectors) },
  })),
  operation(`POST ${ZONES}/assignments/`, "a section repeated", (stage) => {
    const repeated = Array.from({ length: GROUPS_REPEATED }, () => stage.sectors[0]!);
    return { ...large(stage), body: { groupOfSeats: zoned(stage, repeated) } };
  }),
  operation(`POST ${ZONES}/assignments/`, "5,000 seats", (stage) => ({
    ...large(stage),
    body: { seats: zoned(stage, stage.seats.slice(0, SEATS_ZONED)) },
  })),
  operation(`GET ${ZONES}/`, "", large),
  operation(`PUT ${ZONES}/`, "", (stage) => {
    const { schemaId, notes } = stage;
    return { ...large(stage), body: [{ id: notes["zone"], name: "Renamed", schemaId }] };
  }),
  operation(`GET ${ZONES}/{id}`, "", ({ schemaId, notes }) => ({
    path: [schemaId, notes["zone"]!],
  })),
  operation(`POST ${SCHEMAS}/clone/{id}`, "", large, {
    keep: ({ notes }, id: string) => void (notes["clone"] = id),
    ...aftermath,
  }),
  operation(`GET ${SCHEMAS}/clone/{id}`, "", ({ notes }) => ({ path: [notes["clone"]!] }), {
    keep: ({ notes }, clone: { schemaId: number }) => void (notes["copy"] = clone.schemaId),
  }),
  operation(`DELETE ${ZONES}/{id}`, "", ({ schemaId, notes }) => ({
    path: [schemaId, notes["zone"]!],
  })),
  operation(`POST ${SCHEMAS}/`, "", ({ venueId }) => ({ body: { name: "Another", venueId } })),
  operation(`GET ${SCHEMAS}/`),
  operation(`GET ${SCHEMAS}/{id}`, "", large),
  operation(`PUT ${SCHEMAS}/`, "", ({ schemaId, venueId }) => ({
    body: { id: schemaId, name: "Large plan", venueId },
  })),
  operation(
    `POST ${V2}/events/`,
    "on the large layout",
    ({ schemaId }) => ({ body: { name: "One more", schemaId, ...EVENT_TIMES } }),
    { keep: ({ notes }, event: { id: string }) => void (notes["event"] = event.id) },
  ),
  operation(
    `PUT ${V2}/events/`,
    "to another large layout",
    ({ notes }) => ({
      body: { id: notes["event"], name: "Moved", schemaId: notes["copy"], ...EVENT_TIMES },
    }),
    aftermath,
  ),
];

/** Operations on a layout with a zone on every seat. */
const ZONED_OPERATIONS: readonly Operation[] = [
  operation(
    `POST ${ZONES}/assignments/`,
    `${SEATS_ZONED} seats, all others have zones`,
    (stage) => ({
      ...large(stage),
      body: { seats: zoned(stage, stage.seats.slice(0, SEATS_ZONED)) },
    }),
    { prepare: zoneSeats },
  ),
  operation(`POST ${SCHEMAS}/clone/{id}`, "every seat has a zone", large, aftermath),
  operation(`DELETE ${ZONES}/{id}`, "of every seat", ({ schemaId, notes }) => ({
    path: [schemaId, notes["zone"]!],
  })),
];

/** At the end, because nothing is left to measure. */
const LAST_LAYOUT_OPERATIONS: readonly Operation[] = [
  operation(`DELETE ${SCHEMAS}/{id}`, "with events", large, aftermath),
];

function zoned({ notes }: Stage, objects: readonly Created[]) {
  return objects.map(({ id }) => ({ objectId: id, assignmentId: notes["zone"] }));
}

// Operations on organizations, venues, webhooks and logins, and those of the service itself.

const MANAGEMENT = "/api/private/management/v2.0";
const ORGANIZATIONS = `${MANAGEMENT}/organizations`;
interface Login {
  readonly token: string;
  readonly refreshToken: string;
}

const asTenant = () => ({ headers: { "X-API-Key": TENANT_TOKEN } });
const forLarge = ({ organizationId }: Stage) => ({
  headers: { "X-API-Key": TENANT_TOKEN, "X-Organization-ID": String(organizationId) },
});
const loggedIn = {
  keep: ({ notes }: Stage, { token, refreshToken }: Login) =>
    void Object.assign(notes, { token, refreshToken }),
};
const NO_KEY = { headers: {} };
/** Inactive, so nothing is sent to anybody. */
const HOOK = { url: "https://receiver.example/", events: ["change"], active: false };
const theWebhook = ({ notes }: Stage) => ({ path: [notes["webhook"]!] });

const OTHER_OPERATIONS: readonly Operation[] = [
  operation(
    "POST /api/auth/login",
    "",
    () => ({ ...NO_KEY, body: { username: ADMIN_EMAIL, password: PASSWORD } }),
    loggedIn,
  ),
  operation(
    "POST /api/auth/login",
    "one escaped letter",
    () => {
      const texts = { username: ADMIN_EMAIL, password: PASSWORD, filling: "a".repeat(3_500) };
      return { ...NO_KEY, body: JSON.stringify(texts).replace(/a/, String.raw`\u0061`) };
    },
    loggedIn,
  ),
  operation(
    "POST /api/auth/refresh",
    "",
    ({ notes }) => ({ ...NO_KEY, body: { refreshToken: notes["refreshToken"] } }),
    loggedIn,
  ),
  operation("GET /api/auth/user/", "", ({ notes }) => ({
    headers: { Authorization: `Bearer ${notes["token"]}` },
  })),
  operation(
    `POST ${V2}/venues/`,
    "one escaped letter in a long body",
    () => {
      const filling = Array.from({ length: 6_000 }, (_, i) => `f${i}`);
      const text = JSON.stringify({ name: "Venue", filling });
      return { body: text.replace("V", String.raw`\u0056`) };
    },
    { keep: ({ notes }, venue: Created) => void (notes["venue"] = venue.id) },
  ),
  operation(`GET ${V2}/venues/`),
  operation(`GET ${V2}/venues/{id}`, "", ({ venueId }) => ({ path: [venueId] })),
  operation(`PUT ${V2}/venues/`, "", ({ venueId }) => ({ body: { id: venueId, name: "Venue" } })),
  operation(`DELETE ${V2}/venues/{id}`, "", ({ notes }) => ({ path: [notes["venue"]!] })),
  operation(
    `POST ${ORGANIZATIONS}/`,
    "",
    () => ({
      ...asTenant(),
      body: {
        name: "Third",
        email: "third@example.org",
        firstName: "Third",
        lastName: "One",
        password: PASSWORD,
      },
    }),
    { keep: ({ notes }, { id }: Created) => void (notes["organization"] = id) },
  ),
  operation(`GET ${ORGANIZATIONS}/`, "", asTenant),
  operation(`GET ${ORGANIZATIONS}/{id}`, "", ({ organizationId }) => ({
    ...asTenant(),
    path: [organizationId],
  })),
  operation(`PUT ${ORGANIZATIONS}/`, "", ({ organizationId }) => ({
    ...asTenant(),
    body: { id: organizationId, name: "Large" },
  })),
  operation(`DELETE ${ORGANIZATIONS}/{id}`, "", ({ notes }) => ({
    ...asTenant(),
    path: [notes["organization"]!],
  })),
  operation(`GET ${ORGANIZATIONS}/{id}/settings`, "", ({ organizationId }) => ({
    ...asTenant(),
    path: [organizationId],
  })),
  operation(`PUT ${ORGANIZATIONS}/{id}/settings`, "", ({ organizationId }) => ({
    ...asTenant(),
    path: [organizationId],
    body: { salesControl: true, orphanPrevention: false },
  })),
  operation(`GET ${MANAGEMENT}/session-config/`, "", forLarge),
  operation(`PUT ${MANAGEMENT}/session-config/`, "", (stage) => ({
    ...forLarge(stage),
    body: { publicSessionsEnabled: true },
  })),
  operation(`GET ${MANAGEMENT}/hold-types/`, "", forLarge),
  operation(`PUT ${MANAGEMENT}/hold-types/`, "", (stage) => ({
    ...forLarge(stage),
    body: [{ name: "VIP", ttlSeconds: 60 }],
  })),
  operation(`POST ${V2}/webhooks/`, "", () => ({ body: HOOK }), {
    keep: ({ notes }, { id }: Created) => void (notes["webhook"] = id),
  }),
  operation(`GET ${V2}/webhooks/`),
  operation(`GET ${V2}/webhooks/{id}`, "", theWebhook),
  operation(`PUT ${V2}/webhooks/`, "", ({ notes }) => ({
    body: { id: notes["webhook"], ...HOOK },
  })),
  operation(`POST ${V2}/webhooks/{id}/rotate`, "", theWebhook),
  operation(`POST ${V2}/webhooks/{id}/retry`, "", theWebhook),
  operation(`POST ${V2}/webhooks/{id}/test`, "", theWebhook),
  operation(`GET ${V2}/webhooks/{id}/deliveries/`, "", theWebhook),
  operation(`DELETE ${V2}/webhooks/{id}`, "", theWebhook),
  operation("GET /healthz"),
  operation("GET /readyz"),
  operation("GET /metrics"),
  operation("GET /openapi.json"),
  operation("GET /asyncapi.json"),
  operation("GET /"),
  operation("GET /docs"),
  operation("GET /console"),
];

/** These end what the others need. */
const LAST_OTHER_OPERATIONS: readonly Operation[] = [
  operation("POST /api/auth/logout", "", ({ notes }) => ({
    ...NO_KEY,
    body: { refreshToken: notes["refreshToken"] },
  })),
  operation(`POST ${V2}/keys/rotate`, "", ({ listedKey }) => ({
    headers: { "X-API-Key": listedKey },
  })),
  operation(
    `DELETE ${ORGANIZATIONS}/{id}`,
    "the large one",
    ({ organizationId }) => ({
      ...asTenant(),
      path: [organizationId],
    }),
    { hasAftermath: true },
  ),
  operation(`POST ${MANAGEMENT}/keys/rotate`, "", asTenant),
];
