/** Venues. */
import type { CommandOf } from "../../engine/commands.ts";
import { BODIES } from "../../engine/shapes.ts";
import { PAGE_QUERY, pageOfRows, pageShape } from "../routing/page.ts";
import { Access, type Context, type Handled, type Route } from "../routing/route.ts";
import { answer, NO_CONTENT } from "../wire/answers.ts";
import { VENUE } from "../wire/shapes.ts";
import { venueView } from "../wire/views.ts";
import { LONG_ID, showOwn, submit } from "./handling.ts";

const BASE = { tag: "Venues", access: Access.ORGANIZATION, durable: true } as const;

const SORTS = ["id", "name", "address", "draft"] as const;

export const VENUE_ROUTES: readonly Route[] = [
  {
    ...BASE,
    method: "post",
    path: "/api/private/v2.0/venues/",
    summary: "Create a venue",
    body: BODIES.createVenue,
    answers: { 201: VENUE },
    problems: [400, 403],
    handle: createVenue,
  },
  {
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/venues/",
    summary: "List venues",
    query: PAGE_QUERY,
    answers: { 200: pageShape(VENUE) },
    problems: [400, 403],
    handle: listVenues,
  },
  {
    ...BASE,
    method: "put",
    path: "/api/private/v2.0/venues/",
    summary: "Change a venue",
    body: BODIES.updateVenue,
    answers: { 200: VENUE },
    problems: [400, 403, 404],
    handle: updateVenue,
  },
  {
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/venues/{id}",
    summary: "Read a venue",
    params: LONG_ID,
    answers: { 200: VENUE },
    problems: [400, 403, 404],
    handle: readVenue,
  },
  {
    ...BASE,
    method: "delete",
    path: "/api/private/v2.0/venues/{id}",
    summary: "Delete a venue that has no schemas",
    params: LONG_ID,
    answers: { 204: null },
    problems: [400, 403, 404, 409],
    handle: deleteVenue,
  },
];

function createVenue(context: Context): Handled {
  const { caller, body } = context;
  const command = { kind: "createVenue", caller, body } as CommandOf<"createVenue">;
  return submit(context, command, (venue) => answer(201, venueView(venue)));
}

function updateVenue(context: Context): Handled {
  const { caller, body } = context;
  const command = { kind: "updateVenue", caller, body } as CommandOf<"updateVenue">;
  return submit(context, command, (venue) => answer(200, venueView(venue)));
}

function deleteVenue(context: Context): Handled {
  const { caller, params } = context;
  const command = { kind: "deleteVenue", caller, venueId: Number(params["id"]) } as const;
  return submit(context, command, () => NO_CONTENT);
}

function readVenue(context: Context): Handled {
  const { venues } = context.services.engine.state.catalog;
  const venue = venues.get(Number(context.params["id"]));
  return showOwn(venue, context, "venue", (own) => answer(200, venueView(own)));
}

function listVenues({ services, caller, query }: Context): Handled {
  const venues = [...services.engine.state.catalog.venues.values()]
    .filter(({ organizationId }) => organizationId === caller.organizationId)
    .map(venueView);
  return pageOfRows(venues, query, SORTS);
}
