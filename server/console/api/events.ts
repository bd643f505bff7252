/** What the console reads of events: the calls, and the forms of their answers. */
import type { EventMap, SeatState } from "../../client/changes.ts";
import type { GeometryColumns } from "../../layouts/geometry-columns.ts";
import type { Api } from "./http.ts";

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

/** A transition of a seat, as the audit trail lists it. */
export interface Transition {
  readonly sequence: number;
  readonly time: string;
  readonly call: string;
  readonly sessionId?: string;
  readonly fromState: SeatState;
  readonly toState: SeatState;
}

export interface Price {
  readonly id: number;
  readonly name: string;
}

export const readEvent = (api: Api, id: string) => api.call<EventFacts>(`/events/${id}`);

export const readMap = (api: Api, id: string) => api.call<EventMap>(`/events/${id}/map/`);

export const readGeometry = (api: Api, schemaId: number) =>
  api.call<GeometryColumns>(`/schemas/${schemaId}/geometry/`);

/** @returns The transitions of a seat, the newest first. */
export async function readTransitions(
  api: Api,
  eventId: string,
  seatId: number,
  count: number,
): Promise<readonly Transition[]> {
  const query = { seatId, size: count, sort: "sequence,desc" };
  const path = `/events/${eventId}/audit/`;
  const { content } = await api.call<{ content: readonly Transition[] }>(path, { query });
  return content;
}

/** @returns All prices of the event, of which there are few. */
export async function readPrices(api: Api, eventId: string): Promise<readonly Price[]> {
  const prices: Price[] = [];
  for (let page = 0; ; page++) {
    // oxlint-disable-next-line no-await-in-loop -- each page says whether there is another
    const answer = await api.call<{ content: Price[]; last: boolean }>(
      `/event/${eventId}/prices/`,
      {
        query: { page, size: 100 },
      },
    );
    prices.push(...answer.content);
    if (answer.last) return prices;
  }
}
