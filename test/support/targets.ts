/** Requests to a route of the table, made from the ids of a house. */
import type { Route } from "../../server/api/route.ts";
import { NO_ID, NOWHERE } from "../server/wire/wire.ts";
import type { House } from "./server.ts";

/** The id of the house for this place in a path, or an unknown id. */
function idFor(path: string, name: string, house: House): string | number {
  const before = path.slice(0, path.indexOf(`{${name}}`)).split("/");
  const owner = before.at(-2) ?? "";
  if (/^events?$/.test(owner)) return house.eventId;
  if (owner === "venues") return house.venueId;
  if (owner === "organizations") return house.id;
  if (owner === "prices") return house.priceId;
  if (owner === "schemas" || owner === "seatmap") return house.schemaId;
  return NO_ID;
}

/** The path of a route, with the ids of the house. */
export function pathFor({ path, params = {} }: Route, house: House): string {
  return Object.keys(params).reduce((filled, name) => {
    const isUuid = params[name]!["format"] === "uuid";
    const id = idFor(path, name, house);
    return filled.replace(`{${name}}`, String(isUuid && id === NO_ID ? NOWHERE : id));
  }, path);
}

/** The path and the required query parameters. */
export function targetFor(route: Route, house: House): string {
  const required = Object.entries(route.query ?? {}).filter(([, { required: is }]) => is === true);
  const texts = required.map(([name, { shape }]) => {
    const [choice] = (shape["enum"] ?? []) as readonly string[];
    return `${name}=${choice ?? (shape["format"] === "uuid" ? house.eventId : house.priceId)}`;
  });
  return pathFor(route, house) + (texts.length === 0 ? "" : `?${texts.join("&")}`);
}
