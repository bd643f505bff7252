/** What the console reads while it watches an event: summary, holds, and metrics of the server. */
import type { Change } from "../../client/changes.ts";
import type { Api } from "./http.ts";

export interface PriceSummary {
  readonly priceId: number;
  readonly priceName: string;
  readonly active: number;
  readonly locked: number;
  readonly sold: number;
  readonly blocked: number;
}

export interface Hold {
  readonly fence: number;
  readonly sessionId: string;
  readonly holdType: string;
  readonly since: string;
  /** Null for a hold without an end. */
  readonly until: string | null;
  readonly seats: readonly number[];
  readonly areas: readonly { readonly groupOfSeatsId: number; readonly capacity: number }[];
}

export interface HoldPage {
  readonly content: readonly Hold[];
  readonly totalElements: number;
}

export const readSummary = (api: Api, id: string) =>
  api.call<{ readonly byPrice: readonly PriceSummary[] }>(`/events/${id}/summary/`);

/** The holds that end first. */
export const readNextHolds = (api: Api, id: string, size: number) =>
  api.call<HoldPage>(`/events/${id}/holds/`, { query: { sort: "until", size } });

/** @param since - The changes after this sequence number. */
export const readChanges = (api: Api, id: string, since: number, limit: number) =>
  api.call<{ readonly changes: readonly Change[] }>(`/events/${id}/changes/`, {
    query: { since, limit },
  });

/** @returns Null when the server keeps its metrics to those who have a token. */
export async function readMetrics(): Promise<string | null> {
  const response = await fetch("/metrics");
  return response.ok ? response.text() : null;
}
