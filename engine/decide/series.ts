/** Series: events that belong together. While an event is in one, its start does not move. */
import type { EventRow, SeriesRow, CatalogPut } from "../catalog.ts";
import type { CommandOf } from "../commands.ts";
import { isRefusal, ownRow } from "../queries/access.ts";
import { type Decision, grant, refuseInvalid, notFound } from "../results.ts";
import type { State } from "../state.ts";
import { catalogRecord } from "./catalog-record.ts";

export function createSeries(
  { catalog }: State,
  { caller, body }: CommandOf<"createSeries">,
): Decision<SeriesRow> {
  const id = catalog.nextId;
  const row: SeriesRow = { id, organizationId: caller.organizationId, name: body.name };
  return grant(catalogRecord(caller, { nextId: id + 1, puts: [{ table: "series", row }] }), row);
}

/** Its events stay and are free of it. @returns ENTITY_NOT_FOUND or ACCESS_DENIED. */
export function deleteSeries(
  { catalog }: State,
  { caller, seriesId }: CommandOf<"deleteSeries">,
): Decision<null> {
  const series = ownRow(catalog.series.get(seriesId), caller, "series");
  if (isRefusal(series)) return series;
  const puts = [...catalog.events.values()]
    .filter((event) => event.seriesId === seriesId)
    .map((event): CatalogPut => ({ table: "events", row: { ...event, seriesId: null } }));
  const removes = [{ table: "series", key: seriesId }] as const;
  return grant(catalogRecord(caller, { nextId: catalog.nextId, puts, removes }), null);
}

/**
 * Puts an event into a series, or with null takes it out of the one that it is in.
 *
 * @returns VALIDATION_FAILED when the series is not the organization's, ENTITY_NOT_FOUND or
 * ACCESS_DENIED; else the event.
 */
export function bindEvent(
  { catalog }: State,
  { caller, eventId, body }: CommandOf<"bindEvent">,
): Decision<EventRow> {
  const { seriesId } = body;
  const series = catalog.series.get(seriesId ?? 0);
  if (seriesId !== null && series?.organizationId !== caller.organizationId) {
    return refuseInvalid([notFound("seriesId", seriesId, "series")]);
  }
  const event = ownRow(catalog.events.get(eventId), caller, "event");
  if (isRefusal(event)) return event;
  const row: EventRow = { ...event, seriesId };
  const { nextId } = catalog;
  return grant(catalogRecord(caller, { nextId, puts: [{ table: "events", row }] }), row);
}
