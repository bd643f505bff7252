/** Creates an organization with a venue over HTTP, and puts events on sale in it. */
import { EVENT_TIMES, layoutOf } from "../harness/event-data.ts";
import type { EventOnSale } from "../load/plan.ts";
import type { SeatCounts } from "./contender.ts";

export const TENANT_TOKEN = "bench-tenant-token";
/** States of the interface by the names that every contender uses. */
const STATES: Readonly<Record<string, string>> = { ACTIVE: "free", LOCKED: "locked", SOLD: "sold" };

/** A venue with a layout, and the key of its organization. */
export interface Venue {
  readonly url: URL;
  readonly key: string;
  readonly schemaId: number;
  readonly sectorId: number;
  readonly seatIds: readonly number[];
}

interface Created {
  readonly id: number;
}

/** There can be one venue for each number of seats. */
export async function createVenue(url: URL, seatCount: number): Promise<Venue> {
  const organizations = "management/v2.0/organizations/";
  const tenant = { url, key: TENANT_TOKEN };
  const create = `POST ${organizations}`;
  const { id, secretKey } = await call<Created & { secretKey: string }>(tenant, create, {
    name: `Bench of ${seatCount} seats`,
    email: `bench-${seatCount}@example.org`,
    firstName: "Bench",
    lastName: "Mark",
    password: "bench-password",
  });
  const settings = { salesControl: true, bookingEnabled: true, orphanPrevention: false };
  await call(tenant, `PUT ${organizations}${id}/settings`, settings);
  const to = { url, key: secretKey };
  const venue = await call<Created>(to, "POST v2.0/venues/", { name: "Venue" });
  const plan = { name: "Plan", venueId: venue.id };
  const schema = await call<Created>(to, "POST v2.0/schemas/", plan);
  const put = `PUT v2.0/schemas/${schema.id}/layout`;
  const layout = await call<Record<"sectors" | "seats", Created[]>>(to, put, layoutOf(seatCount));
  const seatIds = layout.seats.map((seat) => seat.id);
  return { ...to, schemaId: schema.id, sectorId: layout.sectors[0]!.id, seatIds };
}

/** Puts an event on sale in the venue, with every seat free. */
export async function openEvent(venue: Venue): Promise<EventOnSale> {
  const { key, schemaId, sectorId, seatIds } = venue;
  const event = { name: "Show", schemaId, ...EVENT_TIMES };
  const { id: eventId } = await call<{ id: string }>(venue, "POST v2.0/events/", event);
  const prices = `POST v2.0/event/${eventId}/prices/`;
  const [price] = await call<Created[]>(venue, prices, [{ name: "Seat", eventId }]);
  const groupOfSeats = [{ objectId: sectorId, assignmentId: price!.id }];
  await call(venue, `${prices}assignments/`, { groupOfSeats });
  return { key, eventId, seatIds };
}

interface Page {
  readonly content: readonly { readonly state: string }[];
  readonly last: boolean;
}

/** Reads every seat of the event. */
export async function countSeats(url: URL, { eventId, key }: EventOnSale): Promise<SeatCounts> {
  const counts = new Map<string, number>();
  for (let number = 0; ; number++) {
    const path = `GET v2.0/events/${eventId}/seats/?size=100&page=${number}`;
    const page = await call<Page>({ url, key }, path);
    for (const { state } of page.content) {
      const name = STATES[state] ?? state;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    if (page.last) return counts;
  }
}

/** @param line - The method and the path below `/api/private/`. */
export async function call<Answer>(
  { url, key }: { readonly url: URL; readonly key: string },
  line: string,
  body?: unknown,
): Promise<Answer> {
  const [method = "", path = ""] = line.split(" ");
  const response = await fetch(new URL(`/api/private/${path}`, url), {
    method,
    headers: { "X-API-Key": key, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${line}: ${await response.text()}`);
  return (await response.json()) as Answer;
}
