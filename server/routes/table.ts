/** The route table: every path that the service has. */
import type { Route } from "../route.ts";
import { AUTH_ROUTES } from "./auth.ts";
import { BOOKING_ROUTES } from "./booking.ts";
import { EVENT_ROUTES } from "./events.ts";
import { ORGANIZATION_ROUTES } from "./organizations.ts";
import { PRICE_ROUTES } from "./prices.ts";
import { SCHEMA_ROUTES } from "./schemas.ts";
import { documentRoutes, HEALTH_ROUTES } from "./service.ts";
import { VENUE_ROUTES } from "./venues.ts";

/** The interface: what the OpenAPI document describes. */
export const API_ROUTES: readonly Route[] = [
  ...BOOKING_ROUTES,
  ...EVENT_ROUTES,
  ...PRICE_ROUTES,
  ...SCHEMA_ROUTES,
  ...VENUE_ROUTES,
  ...ORGANIZATION_ROUTES,
  ...AUTH_ROUTES,
  ...HEALTH_ROUTES,
];

/** All of it, with the document and its page. */
export function routeTable(version: string): readonly Route[] {
  return [...API_ROUTES, ...documentRoutes(API_ROUTES, version)];
}
