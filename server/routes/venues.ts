/** Venues. */
import { commandRoute } from "../routing/command-route.ts";
import { listRoute } from "../routing/page.ts";
import { Access, type Route, route } from "../routing/route.ts";
import { answer, NO_CONTENT } from "../wire/answers.ts";
import { VENUE } from "../wire/shapes.ts";
import { venueView } from "../wire/views.ts";
import { LONG_ID, ownRows, showOwn } from "./handling.ts";

const BASE = { tag: "Venues", access: Access.ORGANIZATION, durable: true };

export const VENUE_ROUTES: readonly Route[] = [
  commandRoute(BASE, "POST /api/private/v2.0/venues/", "createVenue", {
    summary: "Create a venue",
    answers: { 201: VENUE },
    show: (venue) => answer(201, venueView(venue)),
  }),
  listRoute(BASE, "GET /api/private/v2.0/venues/", {
    summary: "List venues",
    item: VENUE,
    rows: ({ services, caller }) =>
      ownRows(services.engine.state.catalog.venues, caller).map(venueView),
  }),
  commandRoute(BASE, "PUT /api/private/v2.0/venues/", "updateVenue", {
    summary: "Change a venue",
    answers: { 200: VENUE },
    show: (venue) => answer(200, venueView(venue)),
  }),
  route(BASE, "GET /api/private/v2.0/venues/{id}", {
    summary: "Read a venue",
    params: LONG_ID,
    answers: { 200: VENUE },
    problems: [400, 403, 404],
    handle: (context) => {
      const venue = context.services.engine.state.catalog.venues.get(context.params.id);
      return showOwn(venue, context, "venue", (own) => answer(200, venueView(own)));
    },
  }),
  commandRoute(BASE, "DELETE /api/private/v2.0/venues/{id}", "deleteVenue", {
    summary: "Delete a venue that has no schemas",
    answers: { 204: null },
    show: () => NO_CONTENT,
  }),
];
