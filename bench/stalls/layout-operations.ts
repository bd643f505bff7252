/** Operations on layouts, zones and schemas. */
import { EVENT_TIMES } from "../harness/event-data.ts";
import { type Operation, operation } from "./operation.ts";
import type { Stage } from "./stage.ts";

const V2 = "/api/private/v2.0";
const SCHEMAS = `${V2}/schemas`;
const LAYOUT = `${SCHEMAS}/{id}/layout`;
const ZONES = `${SCHEMAS}/{schemaId}/pricing_zones`;
const V1_SCHEMAS = "/api/private/v1.0/venues/schemas";
const GROUPS_REPEATED = 2_000;
/** Seats in one request, whose body is not much shorter than the longest. */
const SEATS_ZONED = 15_000;

interface Created {
  readonly id: number;
}

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

export const LAYOUT_OPERATIONS: readonly Operation[] = [
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
  operation(`POST ${ZONES}/assignments/`, "10,000 seats", (stage) => ({
    ...large(stage),
    body: { seats: zoned(stage, stage.seats.slice(0, 10_000)) },
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

/** What happens when every single seat has a zone. */
export const ZONED_OPERATIONS: readonly Operation[] = [
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
export const LAST_LAYOUT_OPERATIONS: readonly Operation[] = [
  operation(`DELETE ${SCHEMAS}/{id}`, "with events", large, aftermath),
];

function zoned({ notes }: Stage, objects: readonly Created[]) {
  return objects.map(({ id }) => ({ objectId: id, assignmentId: notes["zone"] }));
}
