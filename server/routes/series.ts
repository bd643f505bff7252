/** Series of events. */
import type { CommandOf } from "../../engine/commands.ts";
import { BODIES } from "../../engine/shapes.ts";
import { PAGE_QUERY, pageOfRows, pageShape } from "../routing/page.ts";
import { Access, type Context, type Handled, type Route } from "../routing/route.ts";
import { answer, NO_CONTENT } from "../wire/answers.ts";
import { EVENT_SERIES, SERIES } from "../wire/shapes.ts";
import { seriesView } from "../wire/views.ts";
import { LONG_ID, submit, UUID_ID } from "./handling.ts";

const BASE = { tag: "Series", access: Access.ORGANIZATION, durable: true } as const;

const SORTS = ["id", "name"] as const;

export const SERIES_ROUTES: readonly Route[] = [
  {
    ...BASE,
    method: "post",
    path: "/api/private/v2.0/series/",
    summary: "Create a series",
    body: BODIES.createSeries,
    answers: { 201: SERIES },
    problems: [400, 403],
    handle: createSeries,
  },
  {
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/series/",
    summary: "List series",
    query: PAGE_QUERY,
    answers: { 200: pageShape(SERIES) },
    problems: [400, 403],
    handle: listSeries,
  },
  {
    ...BASE,
    method: "delete",
    path: "/api/private/v2.0/series/{id}",
    summary: "Delete a series; its events stay",
    params: LONG_ID,
    answers: { 204: null },
    problems: [400, 403, 404],
    handle: deleteSeries,
  },
  {
    ...BASE,
    method: "put",
    path: "/api/private/v2.0/events/{id}/series",
    summary: "Put an event into a series, or take it out",
    params: UUID_ID,
    body: BODIES.bindEvent,
    answers: { 200: EVENT_SERIES },
    problems: [400, 403, 404],
    handle: bindEvent,
  },
];

function createSeries(context: Context): Handled {
  const { caller, body } = context;
  const command = { kind: "createSeries", caller, body } as CommandOf<"createSeries">;
  return submit(context, command, (series) => answer(201, seriesView(series)));
}

function listSeries({ services, caller, query }: Context): Handled {
  const series = [...services.engine.state.catalog.series.values()]
    .filter(({ organizationId }) => organizationId === caller.organizationId)
    .map(seriesView);
  return pageOfRows(series, query, SORTS);
}

function deleteSeries(context: Context): Handled {
  const { caller, params } = context;
  const command = { kind: "deleteSeries", caller, seriesId: Number(params["id"]) } as const;
  return submit(context, command, () => NO_CONTENT);
}

function bindEvent(context: Context): Handled {
  const { caller, params, body } = context;
  const command = { kind: "bindEvent", caller, eventId: params["id"], body };
  return submit(context, command as CommandOf<"bindEvent">, ({ id, name, seriesId }) =>
    answer(200, { id, name, seriesId }),
  );
}
