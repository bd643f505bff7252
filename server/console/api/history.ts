/** Reads all changes of an event, a few pages of columns. */
import type { AreaState } from "../../client/changes.ts";
import type { Api } from "./http.ts";

export interface HistoryPage {
  readonly sequence: number;
  readonly more: boolean;
  readonly prices: readonly number[];
  readonly calls: readonly string[];
  /** An entry for each change. Numbers in `sequences` and `times` are differences. */
  readonly changes: {
    readonly sequences: readonly number[];
    readonly times: readonly number[];
    readonly calls: readonly number[];
    readonly seatCounts: readonly number[];
    readonly areaCounts: readonly number[];
  };
  /** An entry for each seat of each change. Numbers in `ids` are differences. */
  readonly seats: {
    readonly ids: readonly number[];
    readonly states: string;
    readonly priceIndexes: readonly number[];
  };
  readonly areas: readonly AreaState[];
}

/** @param since - Undefined for all changes that are kept. */
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
