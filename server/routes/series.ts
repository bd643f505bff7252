/** Series of events. */
import { commandRoute } from "../routing/command-route.ts";
import { PAGE_QUERY, pageOfRows, type PageQuery, pageShape } from "../routing/page.ts";
import { Access, type Context, type Handled, type Route, route } from "../routing/route.ts";
import { answer, NO_CONTENT } from "../wire/answers.ts";
import { EVENT_SERIES, SERIES } from "../wire/shapes.ts";
import { seriesView } from "../wire/views.ts";

const BASE = { tag: "Series", access: Access.ORGANIZATION, durable: true };

export const SERIES_ROUTES: readonly Route[] = [
  commandRoute("createSeries", {
    ...BASE,
    method: "post",
    path: "/api/private/v2.0/series/",
    summary: "Create a series",
    answers: { 201: SERIES },
    show: (series) => answer(201, seriesView(series)),
  }),
  route({
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/series/",
    summary: "List series",
    query: PAGE_QUERY,
    answers: { 200: pageShape(SERIES) },
    problems: [400, 403],
    handle: listSeries,
  }),
  commandRoute("deleteSeries", {
    ...BASE,
    method: "delete",
    path: "/api/private/v2.0/series/{id}",
    summary: "Delete a series; its events stay",
    answers: { 204: null },
    show: () => NO_CONTENT,
  }),
  commandRoute("bindEvent", {
    ...BASE,
    method: "put",
    path: "/api/private/v2.0/events/{id}/series",
    summary: "Put an event into a series, or take it out",
    answers: { 200: EVENT_SERIES },
    show: ({ id, name, seriesId }) => answer(200, { id, name, seriesId }),
  }),
];

function listSeries({ services, caller, query }: Context<unknown, PageQuery>): Handled {
  const series = [...services.engine.state.catalog.series.values()]
    .filter(({ organizationId }) => organizationId === caller.organizationId)
    .map(seriesView);
  return pageOfRows(series, query, ["id", "name"]);
}
