/** What the console reads of events: the calls, and the forms of their answers. */
import type { GeometryAnswer } from "../map/geometry.ts";
import type { AreaCounts } from "../map/live-seats.ts";
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

export interface AreaAfter extends AreaCounts {
  readonly groupOfSeatsId: number;
}

export interface MapAnswer {
  readonly sequence: number;
  readonly status: string;
  readonly bookable: boolean;
  readonly prices: readonly number[];
  readonly columns: {
    readonly ids: readonly number[];
    /** One letter a seat: `-ALSB`. */
    readonly states: string;
    readonly priceIndexes: readonly number[];
  };
  /** By seat id. */
  readonly expiresAt: Readonly<Record<string, string>>;
  readonly areas: readonly AreaAfter[];
}

export type SeatStateName = "ACTIVE" | "LOCKED" | "SOLD" | "BLOCKED";

export interface Change {
  readonly sequence: number;
  readonly previous: number;
  readonly time: string;
  readonly call: string;
  readonly sessionId?: string;
  readonly holdType?: string;
  readonly seats: readonly {
    readonly id: number;
    readonly state: SeatStateName | null;
    readonly priceId: number | null;
    readonly expiresAt?: string;
  }[];
  readonly areas: readonly AreaAfter[];
  readonly status?: string;
  readonly bookable?: boolean;
}

/** A transition of a seat, as the audit trail lists it. */
export interface Transition {
  readonly sequence: number;
  readonly time: string;
  readonly call: string;
  readonly sessionId?: string;
  readonly fromState: SeatStateName | null;
  readonly toState: SeatStateName | null;
}

export interface Price {
  readonly id: number;
  readonly name: string;
}

export const readEvent = (api: Api, id: string) => api.call<EventFacts>(`/events/${id}`);

export const readMap = (api: Api, id: string) => api.call<MapAnswer>(`/events/${id}/map/`);

export const readGeometry = (api: Api, schemaId: number) =>
  api.call<GeometryAnswer>(`/schemas/${schemaId}/geometry/`);

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
