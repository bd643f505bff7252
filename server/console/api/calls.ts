/** The calls of the console, and the forms of their answers. All throw `ApiError`. */
import type { AreaState, Change, EventMap, SeatState } from "../../client/changes.ts";
import type { GeometryColumns } from "../../layouts/geometry-columns.ts";
import type { StateCounts } from "../map/seats.ts";
import { type Api, ApiError, reach, STRICT } from "./http.ts";

/** The server's local date-times are UTC without a zone. */
export function timeMs(localDateTime: string): number {
  return Date.parse(`${localDateTime}Z`);
}

interface Page<T> {
  readonly content: readonly T[];
  readonly totalElements: number;
  readonly last: boolean;
}

export interface Named {
  readonly id: number;
  readonly name: string;
}

function create<T>(api: Api, path: string, body: object): Promise<T> {
  return api.call<T>(path, { method: "POST", body });
}

/* Events. */

export interface EventFacts {
  readonly id: string;
  readonly name: string;
  /** Local date-times. */
  readonly start: string;
  readonly endDate: string;
  readonly schemaId: number;
  readonly status: string;
  readonly venueName?: string;
}

export interface EventsQuery {
  readonly name?: string | undefined;
  /** The earliest start, a local date-time. */
  readonly startDate?: string | undefined;
  readonly sort: string;
  readonly page: number;
  readonly size: number;
}

export interface PriceSummary extends StateCounts {
  readonly priceId: number;
  readonly priceName: string;
}

export interface Summary {
  readonly total: StateCounts;
  readonly byPrice: readonly PriceSummary[];
}

export const listEvents = (api: Api, query: EventsQuery) =>
  api.call<Page<EventFacts>>("/events/", { query: { ...query } });

export const readEvent = (api: Api, id: string) => api.call<EventFacts>(`/events/${id}`);

export const readMap = (api: Api, id: string) => api.call<EventMap>(`/events/${id}/map/`);

export const readGeometry = (api: Api, schemaId: number) =>
  api.call<GeometryColumns>(`/schemas/${schemaId}/geometry/`);

export const readSummary = (api: Api, id: string) => api.call<Summary>(`/events/${id}/summary/`);

/** @param since - The sequence number before the first change. */
export const readChanges = (api: Api, id: string, since: number, limit: number) =>
  api.call<{ readonly changes: readonly Change[] }>(`/events/${id}/changes/`, {
    query: { since, limit },
  });

/** @returns Null when the metrics need a token. */
export async function readMetrics(): Promise<string | null> {
  const response = await fetch("/metrics");
  return response.ok ? response.text() : null;
}

/* Setting up venues, plans and events. */

export interface NewEvent extends Pick<EventFacts, "name" | "start" | "endDate" | "schemaId"> {
  readonly status: "DRAFT";
}

export const listVenues = (api: Api) => listByName(api, "/venues/", {});

export const listSchemas = (api: Api, venueId: number) => listByName(api, "/schemas/", { venueId });

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

/** The first hundred by name. */
async function listByName(
  api: Api,
  path: string,
  query: Readonly<Record<string, number>>,
): Promise<readonly Named[]> {
  const sorted = { ...query, size: 100, sort: "name,asc" };
  return (await api.call<Page<Named>>(path, { query: sorted })).content;
}

/* Prices. */

export type Price = Named;

export interface AreaFacts extends AreaState {
  readonly name: string;
  readonly priceId?: number;
}

export interface PriceItem {
  readonly objectId: number;
  readonly assignmentId: number;
  /** Places of an area to put on sale; those of the layout when undefined. */
  readonly activeCount?: number | undefined;
}

export interface PriceItems {
  readonly seats: readonly PriceItem[];
  /** Sections and areas. */
  readonly groupOfSeats: readonly PriceItem[];
}

/** All prices of the event: few. */
export async function readPrices(api: Api, eventId: string): Promise<readonly Price[]> {
  const prices: Price[] = [];
  for (let page = 0; ; page++) {
    const query = { page, size: 100 };
    // oxlint-disable-next-line no-await-in-loop -- each page says whether there is another
    const answer = await api.call<Page<Price>>(`/event/${eventId}/prices/`, { query });
    prices.push(...answer.content);
    if (answer.last) return prices;
  }
}

export const createPrice = (api: Api, eventId: string, name: string) =>
  create<readonly Price[]>(api, `/event/${eventId}/prices/`, [{ name, eventId }]);

export const readAreas = (api: Api, id: string) =>
  api.call<readonly AreaFacts[]>(`/events/${id}/areas/`);

/** Seats of one call: its body has at most 256 KiB. */
const ITEMS_MAX = 4_000;

/** In several calls when there are many seats: an error may leave a part of them changed. */
export async function assignPrices(
  api: Api,
  eventId: string,
  { seats, groupOfSeats, onlyActive }: PriceItems & { readonly onlyActive: boolean },
): Promise<void> {
  const path = `/event/${eventId}/prices/assignments/`;
  if (groupOfSeats.length > 0) await create<boolean>(api, path, { groupOfSeats, onlyActive });
  for (const part of partsOf(seats)) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other: an error ends the rest
    await create<boolean>(api, path, { seats: part, onlyActive });
  }
}

/**
 * v1: v2 has no call for it.
 * @param ids - Of seats and areas.
 * @returns How many keep their price: they are held, sold or blocked.
 */
export async function unassignPrices(
  api: Api,
  eventId: string,
  ids: readonly number[],
): Promise<number> {
  let kept = 0;
  for (const part of partsOf(ids)) {
    const body = part.map((id) => ({ compositeKey: String(id) }));
    const options = { method: "DELETE", version: "v1.0", query: { id: eventId }, body } as const;
    // oxlint-disable-next-line no-await-in-loop
    kept += (await api.call<readonly unknown[]>("/assignments/", options)).length;
  }
  return kept;
}

function partsOf<T>(items: readonly T[]): T[][] {
  const count = Math.ceil(items.length / ITEMS_MAX);
  return Array.from({ length: count }, (_, i) => items.slice(i * ITEMS_MAX, (i + 1) * ITEMS_MAX));
}

/* Booking. */

export type BookingCall = "lock" | "unlock" | "sale" | "directsale" | "block" | "unblock";

export interface Selected {
  readonly sessionId?: string;
  readonly holdType?: string;
  readonly seats: readonly { readonly id: number }[];
  readonly groupOfSeats: readonly { readonly id: number; readonly capacity: number }[];
}

export interface Hold {
  readonly fence: number;
  readonly sessionId: string;
  readonly since: string;
  /** Null for a hold without an end. */
  readonly until: string | null;
  readonly seats: readonly number[];
  readonly areas: readonly { readonly groupOfSeatsId: number; readonly capacity: number }[];
}

/** @returns False for a direct sale of taken seats. */
export const book = (api: Api, eventId: string, call: BookingCall, body: Selected) =>
  api.call<boolean>(`/booking/${call}`, { method: "POST", query: { eventId }, body });

/** Dry run: answers as the call would, and changes nothing. */
export const checkBooking = (api: Api, eventId: string, call: BookingCall, body: Selected) =>
  api.call<boolean>("/booking/check", { method: "POST", query: { eventId, call }, body });

/** The holds to end first. */
export const readNextHolds = (api: Api, id: string, size: number) =>
  api.call<Page<Hold>>(`/events/${id}/holds/`, { query: { sort: "until", size } });

/* The past. */

/** A transition of a seat, as the audit trail lists it. */
export interface Transition {
  readonly sequence: number;
  readonly time: string;
  readonly call: string;
  readonly sessionId?: string;
  readonly toState: SeatState;
}

export interface HistoryPage {
  readonly sequence: number;
  readonly more: boolean;
  readonly prices: readonly number[];
  readonly calls: readonly string[];
  /** An entry for each change. `sequences` and `times` are differences. */
  readonly changes: {
    readonly sequences: readonly number[];
    readonly times: readonly number[];
    readonly calls: readonly number[];
    readonly seatCounts: readonly number[];
    readonly areaCounts: readonly number[];
  };
  /** An entry for each seat of each change. `ids` are differences. */
  readonly seats: {
    readonly ids: readonly number[];
    readonly states: string;
    readonly priceIndexes: readonly number[];
  };
  readonly areas: readonly AreaState[];
}

/** The transitions of a seat, the newest first. */
export async function readTransitions(
  api: Api,
  eventId: string,
  seatId: number,
  size: number,
): Promise<readonly Transition[]> {
  const query = { seatId, size, sort: "sequence,desc" };
  return (await api.call<Page<Transition>>(`/events/${eventId}/audit/`, { query })).content;
}

/** @param since - Undefined for all retained changes. */
export async function* readHistory(
  api: Api,
  eventId: string,
  since?: number,
): AsyncGenerator<HistoryPage, void> {
  let page: HistoryPage | undefined;
  do {
    const query = { since: page?.sequence ?? since };
    // oxlint-disable-next-line no-await-in-loop -- each page says where the next one begins
    page = await api.call<HistoryPage>(`/events/${eventId}/history/`, { query });
    yield page;
  } while (page.more);
}

/* Login with an account: below `/api/auth/`, whose errors have a form of their own. */

export interface Organization extends Named {
  readonly secretKey?: string;
}

export interface Login {
  readonly refreshToken: string;
  readonly organizations: readonly Organization[];
  /** Super admins alone have one. */
  readonly tenantToken?: string;
}

export const logInWith = (username: string, password: string) =>
  authenticate<Login>("login", { username, password });

export const refreshLogin = (refreshToken: string) =>
  authenticate<Login>("refresh", { refreshToken });

/** Ends the login. It ends by itself when the server cannot be reached. */
export const endLogin = (refreshToken: string) =>
  authenticate<void>("logout", { refreshToken }).catch(() => undefined);

/** The organizations of a tenant, the first hundred by name. */
export async function readOrganizations(tenantToken: string): Promise<readonly Organization[]> {
  const path = "/api/private/management/v2.0/organizations/?size=100&sort=name,asc";
  const response = await reach(path, { headers: { "X-API-Key": tenantToken, ...STRICT } });
  if (!response.ok) throw new ApiError(response.status, "ACCESS_DENIED", response.statusText);
  return ((await response.json()) as Page<Organization>).content;
}

async function authenticate<T>(call: string, body: object): Promise<T> {
  const response = await reach(`/api/auth/${call}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (response.status === 204) return undefined as T;
  const answer = (await response.json().catch(() => ({}))) as T & { readonly error?: string };
  if (response.ok) return answer;
  throw new ApiError(response.status, "LOGIN_REFUSED", answer.error ?? response.statusText);
}
