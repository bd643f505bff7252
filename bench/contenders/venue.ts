/** Creates an organization with a venue over HTTP, and puts events on sale in it. */
import { EVENT_TIMES, layoutOf } from "../harness/event-data.ts";
import type { EventOnSale } from "../load/plan.ts";

/** A venue with a layout, and the key of its organization. */
export interface Venue {
  readonly url: URL;
  readonly key: string;
  readonly schemaId: number;
  readonly sectorId: number;
  readonly seatIds: readonly number[];
}

/** @param token - The tenant's. There can be one venue for each number of seats. */
export async function createVenue(url: URL, token: string, seatCount: number): Promise<Venue> {
  const organizations = "management/v2.0/organizations";
  const tenant = { url, key: token };
  const organization = await call<{ id: number; secretKey: string }>(
    tenant,
    `POST ${organizations}/`,
    {
      name: `Bench of ${seatCount} seats`,
      email: `bench-${seatCount}@example.org`,
      firstName: "Bench",
      lastName: "Mark",
      password: "bench-password",
    },
  );
  const settings = { salesControl: true, bookingEnabled: true, orphanPrevention: false };
  await call(tenant, `PUT ${organizations}/${organization.id}/settings`, settings);
  const to = { url, key: organization.secretKey };
  const venue = await call<Created>(to, "POST v2.0/venues/", { name: "Venue" });
  const plan = { name: "Plan", venueId: venue.id };
  const schema = await call<Created>(to, "POST v2.0/schemas/", plan);
  const put = `PUT v2.0/schemas/${schema.id}/layout`;
  const layout = await call<Layout>(to, put, layoutOf(seatCount));
  const seatIds = layout.seats.map(({ id }) => id);
  return { ...to, schemaId: schema.id, sectorId: layout.sectors[0]!.id, seatIds };
}

interface Created {
  readonly id: number;
}

interface Layout {
  readonly sectors: readonly Created[];
  readonly seats: readonly Created[];
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
  readonly content: readonly { readonly seatId: number; readonly state: string }[];
  readonly last: boolean;
}

/** Reads every seat of the event. @returns The number of seats by state. */
export async function countStates(
  url: URL,
  { eventId, key }: EventOnSale,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (let number = 0; ; number++) {
    const path = `GET v2.0/events/${eventId}/seats/?size=100&page=${number}`;
    const page = await call<Page>({ url, key }, path);
    for (const { state } of page.content) counts.set(state, (counts.get(state) ?? 0) + 1);
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
