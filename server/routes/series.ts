/** Series of events. */
import { commandRoute } from "../routing/command-route.ts";
import { listRoute } from "../routing/page.ts";
import { Access, type Route } from "../routing/route.ts";
import { answer, NO_CONTENT } from "../wire/answers.ts";
import { EVENT_SERIES, SERIES } from "../wire/shapes.ts";
import { seriesView } from "../wire/views.ts";
import { ownRows } from "./handling.ts";

const BASE = { tag: "Series", access: Access.ORGANIZATION, durable: true };

export const SERIES_ROUTES: readonly Route[] = [
  commandRoute(BASE, "POST /api/private/v2.0/series/", "createSeries", {
    summary: "Create a series",
    answers: { 201: SERIES },
    show: (series) => answer(201, seriesView(series)),
  }),
  listRoute(BASE, "GET /api/private/v2.0/series/", {
    summary: "List series",
    item: SERIES,
    rows: ({ services, caller }) =>
      ownRows(services.engine.state.catalog.series, caller).map(seriesView),
  }),
  commandRoute(BASE, "DELETE /api/private/v2.0/series/{id}", "deleteSeries", {
    summary: "Delete a series; its events stay",
    answers: { 204: null },
    show: () => NO_CONTENT,
  }),
  commandRoute(BASE, "PUT /api/private/v2.0/events/{id}/series", "bindEvent", {
    summary: "Put an event into a series, or take it out",
    answers: { 200: EVENT_SERIES },
    show: ({ id, name, seriesId }) => answer(200, { id, name, seriesId }),
  }),
];
