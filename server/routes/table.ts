/** The route table: every path of the service. */
import type { Route } from "../api/route.ts";
import { AUDIT_ROUTES } from "./history.ts";
import { AUTH_ROUTES } from "./auth.ts";
import { BOOKING_ROUTES, INVENTORY_ROUTES } from "./booking.ts";
import { CHANNEL_ROUTES } from "./channels.ts";
import { DOOR_ROUTES } from "./door.ts";
import { EVENT_ROUTES, SERIES_ROUTES } from "./events.ts";
import { LIVE_ROUTES } from "./live.ts";
import { KEY_ROUTES, ORGANIZATION_ROUTES, PLATFORM_ROUTES } from "./organizations.ts";
import { PRICE_ROUTES, ZONE_ROUTES } from "./prices.ts";
import { CLONE_ROUTES, SCHEMA_ROUTES, VENUE_ROUTES } from "./schemas.ts";
import { COPY_ROUTE, documentRoutes, GATEWAY_ROUTE, HEALTH_ROUTES } from "./service.ts";
import { LEGACY_ROUTES } from "./v1.ts";
import { WEBHOOK_ROUTES } from "./webhooks.ts";

/** The interface of every server. */
export const API_ROUTES: readonly Route[] = [
  ...BOOKING_ROUTES,
  ...EVENT_ROUTES,
  ...INVENTORY_ROUTES,
  ...CHANNEL_ROUTES,
  ...AUDIT_ROUTES,
  ...LIVE_ROUTES,
  ...DOOR_ROUTES,
  ...SERIES_ROUTES,
  ...WEBHOOK_ROUTES,
  ...PRICE_ROUTES,
  ...ZONE_ROUTES,
  ...SCHEMA_ROUTES,
  ...CLONE_ROUTES,
  ...VENUE_ROUTES,
  ...ORGANIZATION_ROUTES,
  ...KEY_ROUTES,
  ...AUTH_ROUTES,
  ...LEGACY_ROUTES,
  ...HEALTH_ROUTES,
];

/**
 * The whole table, with the OpenAPI document and its page.
 *
 * @param hasPlatform - Whether the server has a platform token; otherwise its rows do not exist.
 */
export function routeTable(version: string, hasPlatform = false): readonly Route[] {
  const routes = hasPlatform ? [...API_ROUTES, ...PLATFORM_ROUTES] : API_ROUTES;
  return [...routes, ...documentRoutes(routes, version), GATEWAY_ROUTE, COPY_ROUTE];
}
