/** From a layout file to an event on sale: venue, schema, layout, event, one price a section. */

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { Client } from "./http/client.ts";

const MS_PER_DAY = 86_400_000;
const EVENT_DAYS_AHEAD = 30;
const EVENT_NAME = "On-sale rehearsal";
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

interface Created<Id> {
  readonly id: Id;
}

interface StoredLayout {
  readonly sectors: readonly { readonly id: number; readonly name: string }[];
}

interface StoredPrice {
  readonly id: number;
  readonly name: string;
}

/**
 * Reads a layout, plain or packed with gzip, whatever its name.
 * @throws the system's error, or a SyntaxError when the content is not JSON.
 */
export function readLayoutFile(path: string): string {
  const bytes = readFileSync(path);
  const isPacked = bytes.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC);
  const text = (isPacked ? gunzipSync(bytes) : bytes).toString();
  JSON.parse(text);
  return text;
}

/** @returns the id of a new event of which every seat and every area has a price. */
export async function createEvent(client: Client, layout: string): Promise<string> {
  const post = <Body>(path: string, body: object) =>
    client.write<Body>("POST", path, JSON.stringify(body));
  const venue = await post<Created<number>>("/venues/", { name: EVENT_NAME });
  const schemaDraft = { name: EVENT_NAME, venueId: venue.id };
  const schema = await post<Created<number>>("/schemas/", schemaDraft);
  const layoutPath = `/schemas/${schema.id}/layout`;
  const { sectors } = await client.write<StoredLayout>("PUT", layoutPath, layout);
  const event = await post<Created<string>>("/events/", {
    name: EVENT_NAME,
    start: localDateTime(EVENT_DAYS_AHEAD),
    endDate: localDateTime(EVENT_DAYS_AHEAD + 1),
    schemaId: schema.id,
  });
  const pricesPath = `/event/${event.id}/prices/`;
  const names = sectors.map(({ name }) => ({ name, eventId: event.id }));
  const prices = await post<readonly StoredPrice[]>(pricesPath, names);
  const priceIdByName = new Map(prices.map((price) => [price.name, price.id]));
  const groupOfSeats = sectors.map(({ id, name }) => ({
    objectId: id,
    assignmentId: priceIdByName.get(name),
    activeCount: null,
  }));
  await post<boolean>(`${pricesPath}assignments/`, { seats: [], groupOfSeats });
  return event.id;
}

/** A local date-time without offset, as the interface takes it, so many days from now. */
function localDateTime(daysAhead: number): string {
  return new Date(Date.now() + daysAhead * MS_PER_DAY).toISOString().slice(0, 19);
}
