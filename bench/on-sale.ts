/** Sets up what is measured, over HTTP: an organization, a hall, an event on sale. */

export interface OnSale {
  readonly url: URL;
  readonly key: string;
  readonly eventId: string;
  /** Ascending; neighbours beside each other. */
  readonly seatIds: readonly number[];
}

interface Page {
  readonly content: readonly { readonly seatId: number; readonly state: string }[];
  readonly last: boolean;
}

const SEATS_PER_ROW = 50;

/** @param seatCount - Seats of the hall, rounded up to whole rows. */
export async function createOnSale(url: URL, token: string, seatCount: number): Promise<OnSale> {
  const organization = (await call({ url, key: token }, "POST management/v2.0/organizations/", {
    name: `Bench of ${seatCount} seats`,
    email: `bench-${seatCount}@example.org`,
    firstName: "Bench",
    lastName: "Mark",
    password: "bench-password",
  })) as { secretKey: string };
  const key = organization.secretKey;
  const to = { url, key };
  const venue = (await call(to, "POST v2.0/venues/", { name: "Hall" })) as { id: number };
  const plan = { name: "Plan", venueId: venue.id };
  const schema = (await call(to, "POST v2.0/schemas/", plan)) as { id: number };
  const rows = Math.ceil(seatCount / SEATS_PER_ROW);
  const layout = (await call(to, `PUT v2.0/schemas/${schema.id}/layout`, hall(rows))) as {
    sectors: { id: number }[];
    seats: { id: number }[];
  };
  const times = { start: "2030-01-01T20:00:00", endDate: "2030-01-01T22:00:00" };
  const show = { name: "Show", schemaId: schema.id, ...times };
  const event = (await call(to, "POST v2.0/events/", show)) as { id: string };
  const names = [{ name: "Seat", eventId: event.id }];
  const prices = (await call(to, `POST v2.0/event/${event.id}/prices/`, names)) as {
    id: number;
  }[];
  await call(to, `POST v2.0/event/${event.id}/prices/assignments/`, {
    groupOfSeats: [{ objectId: layout.sectors[0]!.id, assignmentId: prices[0]!.id }],
  });
  return { url, key, eventId: event.id, seatIds: layout.seats.map(({ id }) => id) };
}

function hall(rows: number): object {
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

/** Every state that a seat of the event has. */
export async function seatStates(onSale: OnSale): Promise<Set<string>> {
  const states = new Set<string>();
  for (let number = 0; ; number++) {
    const query = `size=100&page=${number}`;
    const page = (await call(onSale, `GET v2.0/events/${onSale.eventId}/seats/?${query}`)) as Page;
    for (const { state } of page.content) states.add(state);
    if (page.last) return states;
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
