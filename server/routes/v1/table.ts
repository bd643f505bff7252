/** The seventeen rows of v1. */
import type { Route } from "../../routing/route.ts";
import { LEGACY_ASSIGNMENT_ROUTES } from "./assignments.ts";
import { LEGACY_BOOKING_ROUTES } from "./booking.ts";
import { LEGACY_EVENT_ROUTES } from "./events.ts";
import { LEGACY_PRICE_ROUTES } from "./prices.ts";
import { LEGACY_SCHEMA_ROUTES } from "./schemas.ts";

export const LEGACY_ROUTES: readonly Route[] = [
  ...LEGACY_BOOKING_ROUTES,
  ...LEGACY_EVENT_ROUTES,
  ...LEGACY_ASSIGNMENT_ROUTES,
  ...LEGACY_PRICE_ROUTES,
  ...LEGACY_SCHEMA_ROUTES,
];
