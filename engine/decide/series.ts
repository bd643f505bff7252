/** Series: events that belong together. While an event is in a series, its start does not move. */
import { assert } from "../assert.ts";
import type { CatalogPut, EventRow, SeriesRow } from "../catalog.ts";
import { ownRow } from "../queries/access.ts";
import { type Decision, isRefused, notFound, refuseInvalid } from "../results.ts";
import type { CommandWith } from "../shapes/caller.ts";
import type { State } from "../state.ts";
import { grantChange } from "./catalog-record.ts";

export function createSeries(
  state: State,
  { caller, body }: CommandWith<{ body: { readonly name: string } }>,
): Decision<SeriesRow> {
  const { series, nextId: id } = state.catalog;
  assert(!series.has(id), "a new series has a new id");
  const row: SeriesRow = { id, organizationId: caller.organizationId, name: body.name };
  return grantChange(state, caller, { newIds: 1, puts: [{ table: "series", row }] }, row);
}

/** Deletes a series. Its events stay, and belong to no series. */
export function deleteSeries(
  state: State,
  { caller, seriesId }: CommandWith<{ seriesId: number }>,
): Decision<null> {
  const { series, events } = state.catalog;
  const own = ownRow(series.get(seriesId), caller, "series");
  if (isRefused(own)) return own;
  const members = [...events.values()].filter((event) => event.seriesId === seriesId);
  const puts = members.map((event): CatalogPut => {
    assert(event.organizationId === own.organizationId, "a series has events of its owner");
    return { table: "events", row: { ...event, seriesId: null } };
  });
  return grantChange(state, caller, { puts, removes: [{ table: "series", key: seriesId }] }, null);
}

/** Puts an event into a series, or with null takes it out of its series. */
export function bindEvent(
  state: State,
  command: CommandWith<{ eventId: string; body: { readonly seriesId: number | null } }>,
): Decision<EventRow> {
  const { caller, eventId, body } = command;
  const { seriesId } = body;
  const series = state.catalog.series.get(seriesId ?? 0);
  if (seriesId !== null && series?.organizationId !== caller.organizationId) {
    return refuseInvalid([notFound("seriesId", seriesId, "series")]);
  }
  const event = ownRow(state.catalog.events.get(eventId), caller, "event");
  if (isRefused(event)) return event;
  if (series !== undefined) {
    assert(series.organizationId === event.organizationId, "a series has events of its owner");
  }
  const row: EventRow = { ...event, seriesId };
  return grantChange(state, caller, { puts: [{ table: "events", row }] }, row);
}
