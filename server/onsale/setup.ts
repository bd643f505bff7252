/** Creates an event on sale from a layout file: venue, schema, layout, event, prices. */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { ApiClient } from "./http/api-client.ts";

const MS_PER_DAY = 86_400_000;
const EVENT_DAYS_AHEAD = 30;
const EVENT_NAME = "On-sale rehearsal";
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

/** An object that the server created or stored, with its id. */
interface Stored<Id = number> {
  readonly id: Id;
  readonly name: string;
}

/**
 * Reads a layout, plain or compressed with gzip, whatever the file's name.
 * @throws the system's error, or a SyntaxError if the content is not JSON.
 */
export function readLayoutFile(path: string): string {
  const bytes = readFileSync(path);
  const isGzip = bytes.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC);
  const text = (isGzip ? gunzipSync(bytes) : bytes).toString();
  JSON.parse(text);
  return text;
}

/** @returns The id of a new event with one price for each section and area. */
export async function createEvent(client: ApiClient, layout: string): Promise<string> {
  const post = <Body>(path: string, body: object) =>
    client.write<Body>("POST", path, JSON.stringify(body));
  const venue = await post<Stored>("/venues/", { name: EVENT_NAME });
  const schema = await post<Stored>("/schemas/", { name: EVENT_NAME, venueId: venue.id });
  const layoutPath = `/schemas/${schema.id}/layout`;
  const { sectors } = await client.write<{ sectors: Stored[] }>("PUT", layoutPath, layout);
  const event = await post<Stored<string>>("/events/", {
    name: EVENT_NAME,
    start: localDateTime(EVENT_DAYS_AHEAD),
    endDate: localDateTime(EVENT_DAYS_AHEAD + 1),
    schemaId: schema.id,
  });
  const pricesPath = `/event/${event.id}/prices/`;
  const names = sectors.map(({ name }) => ({ name, eventId: event.id }));
  const prices = await post<readonly Stored[]>(pricesPath, names);
  const priceIdByName = new Map(prices.map((price) => [price.name, price.id]));
  const groupOfSeats = sectors.map(({ id, name }) => ({
    objectId: id,
    assignmentId: priceIdByName.get(name),
    activeCount: null,
  }));
  await post<boolean>(`${pricesPath}assignments/`, { seats: [], groupOfSeats });
  return event.id;
}

/** A local date-time without offset, as the interface expects it. */
function localDateTime(daysAhead: number): string {
  return new Date(Date.now() + daysAhead * MS_PER_DAY).toISOString().slice(0, 19);
}
