/** The most expensive invalid bodies of every route: alone, 48 at once, and beside another's locks. */
import { createVenue, openEvent, TENANT_TOKEN } from "../contenders/venue.ts";
import { Access } from "../../server/auth/access.ts";
import { type Route } from "../../server/api/route.ts";
import { routeTable } from "../../server/routes/table.ts";
import { quantileOf } from "../harness/measure.ts";
import type { Stage } from "./stage.ts";
import { BODY_BYTES } from "../../server/http/limits.ts";

export const AT_ONCE = 48;
const REPEATERS = 64;
const P99 = 0.99;

/** Wrong for every call: bodies of unknown members alone would be carried out by some. */
const WRONG =
  '"id":-1,"name":-1,"graceSeconds":-1,"seriesId":-1,"salesControl":1,"publicSessionsEnabled":1,"orphanMode":1,"onlyActive":1,"customer":-1';

/** Fill a body: objects, lists and members take longest to parse and to check, for their bytes. */
const FILLINGS: readonly ((bytes: number) => string)[] = [
  (bytes) => `{${WRONG},"seats":[${'{"id":1},'.repeat((bytes - 160) / 9)}{}]}`,
  (bytes) => `[${'{"name":"","price":0},'.repeat(bytes / 22 - 2)}{}]`,
  (bytes) => `[${"{},".repeat(bytes / 3 - 2)}{}]`,
  (bytes) => `{${WRONG},"seats":[${"[],".repeat((bytes - 160) / 3)}[]]}`,
  (bytes) => `{${WRONG},${membersOf(bytes - 160)}}`,
  (bytes) => `{${WRONG},"name":"${"e\u0301\u0323".repeat((bytes - 180) / 5)}"}`,
  (bytes) => `[{"compositeKey":"${";".repeat(bytes - 40)}"},{}]`,
];

function membersOf(bytes: number): string {
  const count = Math.floor(bytes / '"abcd":0,'.length);
  return Array.from({ length: count }, (_, i) => `"${(i + 46_656).toString(36)}":0`).join();
}

/** The invalid requests of a route. */
export interface InvalidRequests {
  readonly name: string;
  /** Sends each of them `times` times at once. */
  readonly send: (times: number) => Promise<void>;
}

const INVALID = [400];
/** Calls for which some fillings are valid, and then name a schema of nobody. */
const MAY_BE_VALID = new Map([
  ["/api/private/v2.0/schemas/{schemaId}/pricing_zones/assignments/", [400, 403]],
]);

/** Layouts and parts have threads and tokens of their own. */
const isMeasured = ({ body, access, path }: Route) =>
  body !== undefined && access !== Access.PLATFORM && !/\/layout$|seatmap|\/parts\//.test(path);

export function invalidRequests(stage: Stage): InvalidRequests[] {
  return routeTable("0.0.0-bench")
    .filter(isMeasured)
    .map((route) => {
      const { bodyBytesMax = BODY_BYTES.usual } = route;
      const line = `${route.method.toUpperCase()} ${targetOf(stage, route)}`;
      const headers = headersOf(stage, route);
      const statuses = MAY_BE_VALID.get(route.path) ?? INVALID;
      const bodies = FILLINGS.map((fill) => fill(bodyBytesMax));
      const send = async (times: number) => {
        for (const body of bodies) {
          const one = () => stage.ask(line, { body, headers, statuses });
          // oxlint-disable-next-line no-await-in-loop -- one kind after the other
          await Promise.all(Array.from({ length: times }, one));
        }
      };
      return { name: `${route.method.toUpperCase()} ${route.path}`, send };
    });
}

function targetOf({ event, organizationId }: Stage, { path, query = {} }: Route): string {
  const target = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    path.includes("organizations/") ? `${organizationId}` : isOfEvent(path, name) ? event.id : "1",
  );
  const texts = Object.entries(query).flatMap(([name, { required, shape }]) => {
    if (required !== true) return [];
    const [choice] = (shape["enum"] ?? []) as readonly string[];
    return [`${name}=${choice ?? event.id}`];
  });
  return texts.length === 0 ? target : `${target}?${texts.join("&")}`;
}

function isOfEvent(path: string, name: string): boolean {
  return /\/events?\/\{/.test(path) && (name === "eventId" || /events\/\{id\}/.test(path));
}

function headersOf({ key, organizationId }: Stage, { access }: Route): Record<string, string> {
  if (access === Access.PUBLIC) return {};
  if (access === Access.TENANT) return { "X-API-Key": TENANT_TOKEN };
  if (access !== Access.TENANT_ORGANIZATION) return { "X-API-Key": key };
  return { "X-API-Key": TENANT_TOKEN, "X-Organization-ID": String(organizationId) };
}

/**
 * @param requests - They are repeated by 64 connections.
 * @returns The 99th percentile of the locks of another organization meanwhile: milliseconds.
 */
export async function locksBeside(
  url: URL,
  requests: readonly InvalidRequests[],
  seconds: number,
): Promise<number> {
  const { key, eventId, seatIds } = await openEvent(await createVenue(url, 1_000));
  const endMs = performance.now() + seconds * 1_000;
  const repeat = async (_: unknown, lane: number) => {
    for (let i = lane; performance.now() < endMs; i++) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await requests[i % requests.length]!.send(1);
    }
  };
  const repeaters = Promise.all(Array.from({ length: REPEATERS }, repeat));
  const times: number[] = [];
  const headers = { "X-API-Key": key, "Content-Type": "application/json" };
  const target = new URL(`/api/private/v2.0/booking/lock?eventId=${eventId}`, url);
  for (let i = 0; performance.now() < endMs && i < seatIds.length; i++) {
    const startMs = performance.now();
    const body = JSON.stringify({ seats: [{ id: seatIds[i] }] });
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const answer = await fetch(target, { method: "POST", headers, body });
    if (answer.status !== 200) throw new Error(`a lock was refused with ${answer.status}`);
    times.push(performance.now() - startMs);
  }
  await repeaters;
  return quantileOf(times, P99) ?? Infinity;
}
