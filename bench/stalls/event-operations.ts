/** Operations on events, prices and bookings. */
import { EVENT_TIMES } from "../harness/event-data.ts";
import { type Operation, operation } from "./operation.ts";
import type { Stage } from "./stage.ts";

const V2 = "/api/private/v2.0";
const V1 = "/api/private/v1.0";
const EVENTS = `${V2}/events`;
const PRICES = `${V2}/event/{eventId}/prices`;
const SEATS_BOOKED = 1_000;
const KEYS_ASSIGNED = 5_000;
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
const ofEvent = ({ event }: Stage) => `eventId=${event.id}`;
const byId = ({ event }: Stage) => `id=${event.id}`;
const listed = ({ listedKey }: Stage) => ({ headers: { "X-API-Key": listedKey } });

function booking(kind: string): Operation {
  return operation(`POST ${V2}/booking/${kind}`, `${SEATS_BOOKED} seats`, (stage) => {
    const seats = stage.seats.slice(0, SEATS_BOOKED).map(({ id }) => ({ id }));
    const call = kind === "check" ? "&call=lock" : "";
    return { query: ofEvent(stage) + call, body: { seats } };
  });
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

export const EVENT_OPERATIONS: readonly Operation[] = [
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
  ...["check", "lock", "unlock", "lock", "sale", "revertsale", "directsale"].map(booking),
  booking("revertsale"),
  ...["block", "unblock"].map(booking),
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
    const half = stage.seats.filter((_, i) => i % 2 === 0).slice(-15_000);
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
  operation(`POST ${EVENTS}/{id}/status`, "", (stage) => ({
    ...theEvent(stage),
    body: { status: "ARCHIVED" },
  })),
  operation(`DELETE ${EVENTS}/{id}`, "", theEvent),
];

function priced({ notes }: Stage, objects: readonly Created[], priceId = notes["price"]) {
  return objects.map(({ id }) => ({ objectId: id, assignmentId: priceId }));
}
