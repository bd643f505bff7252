/** Lists of events with their figures, and the calls that set up venues, plans and events. */
import type { EventFacts, Price } from "./events.ts";
import type { Api } from "./http.ts";

export interface PageOf<T> {
  readonly content: readonly T[];
  readonly totalElements: number;
}

export interface StateCounts {
  readonly active: number;
  readonly locked: number;
  readonly sold: number;
  readonly blocked: number;
  readonly unpriced: number;
}

export interface EventsQuery {
  readonly name?: string | undefined;
  /** Events that start at or after this local date-time. */
  readonly startDate?: string | undefined;
  readonly sort: string;
  readonly page: number;
  readonly size: number;
}

export interface Named {
  readonly id: number;
  readonly name: string;
}

export interface AreaFacts extends StateCounts {
  readonly groupOfSeatsId: number;
  readonly name: string;
  readonly priceId?: number;
  readonly capacity: number;
}

export interface NewEvent {
  readonly name: string;
  /** Local date-times. */
  readonly start: string;
  readonly endDate: string;
  readonly schemaId: number;
  readonly status: "DRAFT";
}

export const listEvents = (api: Api, query: EventsQuery) =>
  api.call<PageOf<EventFacts>>("/events/", { query: { ...query } });

export const readSummary = (api: Api, id: string) =>
  api.call<{ total: StateCounts }>(`/events/${id}/summary/`);

export const listVenues = (api: Api) => listAll(api, "/venues/", {});

export const listSchemas = (api: Api, venueId: number) => listAll(api, "/schemas/", { venueId });

export const createVenue = (api: Api, name: string) => create<Named>(api, "/venues/", { name });

export const createSchema = (api: Api, name: string, venueId: number) =>
  create<Named>(api, "/schemas/", { name, venueId });

/** @param text - The document as JSON. */
export const putLayout = (api: Api, schemaId: number, text: string) =>
  api.call<unknown>(`/schemas/${schemaId}/layout`, { method: "PUT", body: text });

export const createEvent = (api: Api, event: NewEvent) =>
  create<EventFacts>(api, "/events/", event);

export const changeStatus = (api: Api, id: string, status: string) =>
  create<{ status: string }>(api, `/events/${id}/status`, { status });

export const readAreas = (api: Api, id: string) =>
  api.call<readonly AreaFacts[]>(`/events/${id}/areas/`);

export const createPrice = (api: Api, eventId: string, name: string) =>
  create<readonly Price[]>(api, `/event/${eventId}/prices/`, [{ name, eventId }]);

export interface PriceItem {
  readonly objectId: number;
  readonly assignmentId: number;
  /** Places of an area that go on sale. */
  readonly activeCount?: number;
}

export const assignPrices = (api: Api, eventId: string, groupOfSeats: readonly PriceItem[]) =>
  create<boolean>(api, `/event/${eventId}/prices/assignments/`, { groupOfSeats });

function create<T>(api: Api, path: string, body: object): Promise<T> {
  return api.call<T>(path, { method: "POST", body });
}

/** The first hundred by name. */
async function listAll(
  api: Api,
  path: string,
  query: Readonly<Record<string, number>>,
): Promise<readonly Named[]> {
  const sorted = { ...query, size: 100, sort: "name,asc" };
  return (await api.call<PageOf<Named>>(path, { query: sorted })).content;
}
