/** Venues. */
import { commandRoute } from "../routing/command-route.ts";
import { PAGE_QUERY, pageOfRows, type PageQuery, pageShape } from "../routing/page.ts";
import { Access, type Context, type Handled, type Route, route } from "../routing/route.ts";
import { answer, NO_CONTENT } from "../wire/answers.ts";
import { VENUE } from "../wire/shapes.ts";
import { venueView } from "../wire/views.ts";
import { type ById, LONG_ID, showOwn } from "./handling.ts";

const BASE = { tag: "Venues", access: Access.ORGANIZATION, durable: true };

export const VENUE_ROUTES: readonly Route[] = [
  commandRoute("createVenue", {
    ...BASE,
    method: "post",
    path: "/api/private/v2.0/venues/",
    summary: "Create a venue",
    answers: { 201: VENUE },
    show: (venue) => answer(201, venueView(venue)),
  }),
  route({
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/venues/",
    summary: "List venues",
    query: PAGE_QUERY,
    answers: { 200: pageShape(VENUE) },
    problems: [400, 403],
    handle: listVenues,
  }),
  commandRoute("updateVenue", {
    ...BASE,
    method: "put",
    path: "/api/private/v2.0/venues/",
    summary: "Change a venue",
    answers: { 200: VENUE },
    show: (venue) => answer(200, venueView(venue)),
  }),
  route({
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/venues/{id}",
    summary: "Read a venue",
    params: LONG_ID,
    answers: { 200: VENUE },
    problems: [400, 403, 404],
    handle: readVenue,
  }),
  commandRoute("deleteVenue", {
    ...BASE,
    method: "delete",
    path: "/api/private/v2.0/venues/{id}",
    summary: "Delete a venue that has no schemas",
    answers: { 204: null },
    show: () => NO_CONTENT,
  }),
];

function readVenue(context: ById): Handled {
  const venue = context.services.engine.state.catalog.venues.get(context.params.id);
  return showOwn(venue, context, "venue", (own) => answer(200, venueView(own)));
}

function listVenues({ services, caller, query }: Context<unknown, PageQuery>): Handled {
  const venues = [...services.engine.state.catalog.venues.values()]
    .filter(({ organizationId }) => organizationId === caller.organizationId)
    .map(venueView);
  return pageOfRows(venues, query, ["id", "name", "address", "draft"]);
}
