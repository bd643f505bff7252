/** Sets up what is measured, over HTTP: an organization with a hall, and events on sale in it. */
import type { Hall } from "../load/plan.ts";

/** An organization that has drawn a hall. */
export interface House {
  readonly url: URL;
  readonly key: string;
  readonly schemaId: number;
  readonly sectorId: number;
  /** Ascending; neighbours beside each other. */
  readonly seatIds: readonly number[];
}

interface Page {
  readonly content: readonly { readonly seatId: number; readonly state: string }[];
  readonly last: boolean;
}

const SEATS_PER_ROW = 50;
const SHOW_HOURS = { start: "2030-01-01T20:00:00", endDate: "2030-01-01T22:00:00" };

/** @param seatCount - Seats of the hall, rounded up to whole rows. */
export async function buildHouse(url: URL, token: string, seatCount: number): Promise<House> {
  const organizations = "management/v2.0/organizations";
  const tenant = { url, key: token };
  const organization = (await call(tenant, `POST ${organizations}/`, {
    name: `Bench of ${seatCount} seats`,
    email: `bench-${seatCount}@example.org`,
    firstName: "Bench",
    lastName: "Mark",
    password: "bench-password",
  })) as { id: number; secretKey: string };
  const settings = { salesControl: true, bookingEnabled: true, orphanPrevention: false };
  await call(tenant, `PUT ${organizations}/${organization.id}/settings`, settings);
  const to = { url, key: organization.secretKey };
  const venue = (await call(to, "POST v2.0/venues/", { name: "Hall" })) as { id: number };
  const plan = { name: "Plan", venueId: venue.id };
  const schema = (await call(to, "POST v2.0/schemas/", plan)) as { id: number };
  const rows = Math.ceil(seatCount / SEATS_PER_ROW);
  const layout = (await call(to, `PUT v2.0/schemas/${schema.id}/layout`, layoutOf(rows))) as {
    sectors: { id: number }[];
    seats: { id: number }[];
  };
  const seatIds = layout.seats.map(({ id }) => id);
  return { ...to, schemaId: schema.id, sectorId: layout.sectors[0]!.id, seatIds };
}

/** Puts an event on sale in the house, every seat free. */
export async function openShow(house: House): Promise<Hall> {
  const { key, schemaId, sectorId, seatIds } = house;
  const show = { name: "Show", schemaId, ...SHOW_HOURS };
  const { id: eventId } = (await call(house, "POST v2.0/events/", show)) as { id: string };
  const names = [{ name: "Seat", eventId }];
  const prices = (await call(house, `POST v2.0/event/${eventId}/prices/`, names)) as {
    id: number;
  }[];
  await call(house, `POST v2.0/event/${eventId}/prices/assignments/`, {
    groupOfSeats: [{ objectId: sectorId, assignmentId: prices[0]!.id }],
  });
  return { key, eventId, seatIds };
}

function layoutOf(rows: number): object {
  const labels = Array.from({ length: rows }, (_, i) => String(i + 1));
  return {
    sectors: [{ guid: "hall", name: "Hall", ga: false }],
    rows: labels.map((row) => ({ guid: row, sectorGuid: "hall", rowNumber: row })),
    seats: labels.flatMap((row) =>
      Array.from({ length: SEATS_PER_ROW }, (_, i) => ({
        guid: `${row}/${i + 1}`,
        rowGuid: row,
        name: String(i + 1),
        x: i,
        y: 0,
      })),
    ),
  };
}

/** Seats of the event by their state, every one looked at. */
export async function countStates(url: URL, hall: Hall): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (let number = 0; ; number++) {
    const row = `GET v2.0/events/${hall.eventId}/seats/?size=100&page=${number}`;
    const page = (await call({ url, key: hall.key }, row)) as Page;
    for (const { state } of page.content) counts.set(state, (counts.get(state) ?? 0) + 1);
    if (page.last) return counts;
  }
}

/** A call by its method and its path below `/api/private/`. */
export async function call(
  { url, key }: { readonly url: URL; readonly key: string },
  row: string,
  body?: unknown,
): Promise<unknown> {
  const [method = "", path = ""] = row.split(" ");
  const response = await fetch(new URL(`/api/private/${path}`, url), {
    method,
    headers: { "X-API-Key": key, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${row}: ${await response.text()}`);
  return response.json();
}
