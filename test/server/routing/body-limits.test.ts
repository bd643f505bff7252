/** Limits of bodies by route: all that is valid fits, and nothing beyond is parsed. */
import { expect, test } from "vitest";
import {
  NAME_LENGTH_MAX,
  OBJECTS_PER_REQUEST_MAX,
  THUMBNAIL_BYTES_MAX,
} from "../../../engine/constants.ts";
import type { Shape } from "../../../engine/schema.ts";
import { type Route } from "../../../server/api/route.ts";
import { checksOf } from "../../../server/api/validate.ts";
import { parseJson } from "../../../server/http/json.ts";
import { routeTable } from "../../../server/routes/table.ts";
import { actingFor, requestOf } from "../../support/answers/exchange.ts";
import { ROUTES, TestServer } from "../../support/server.ts";
import { targetFor } from "../../support/targets.ts";
import { BODY_BYTES, BODY_VALUES, OF_LISTS } from "../../../server/http/limits.ts";

const KIB = 1_024;
const endpointOf = ({ method, path }: Route) => `${method.toUpperCase()} ${path}`;
const bodied = routeTable("0.0.0-test", true).filter(({ body }) => body !== undefined);
const limitsOf = ({
  bodyBytesMax = BODY_BYTES.usual,
  bodyValuesMax = BODY_VALUES.usual,
}: Route) => ({
  bodyBytesMax,
  bodyValuesMax,
});

/** Of four bytes. */
const LETTER = "\u{20000}";
const ID_MAX = Number.MAX_SAFE_INTEGER;
const FORMATS: Readonly<Record<string, string>> = {
  uuid: "ffffffff-ffff-4fff-8fff-ffffffffffff",
  "lower-case-uuid": "ffffffff-ffff-4fff-8fff-ffffffffffff",
  "channel-key": "a".repeat(64),
  currency: "EUR",
  email: `${LETTER.repeat(64)}@${LETTER.repeat(190)}`,
  "local-date-time": "2026-03-19T10:00:00.123456789",
};
/** Longest values of members without a bound in their shape. */
const OPEN: Readonly<Record<string, unknown>> = {
  // Three labels and their separators are more than any call could have, so a thousand bytes.
  compositeKey: LETTER.repeat(NAME_LENGTH_MAX - 5),
  seats: Array.from({ length: OBJECTS_PER_REQUEST_MAX }, (_, i) => ({
    id: ID_MAX - i,
    capacity: null,
  })),
  groupOfSeats: [],
  // Numbers are most of the values that fit.
  thumbnail: Array.from({ length: THUMBNAIL_BYTES_MAX / 2 - 1 }, () => 0),
};

function largest(shape: Shape, name = ""): unknown {
  const { type, properties, items, format, maxLength, maximum, additionalProperties } = shape;
  const types = new Set([type].flat());
  if (name in OPEN) return OPEN[name];
  if (Array.isArray(shape["anyOf"])) {
    const all = (shape["anyOf"] as Shape[]).map((one) => largest(one));
    return all.toSorted((a, b) => JSON.stringify(b).length - JSON.stringify(a).length)[0];
  }
  if (Array.isArray(shape["enum"]))
    return (shape["enum"] as (string | null)[]).toSorted(byLength)[0];
  if (types.has("array")) {
    const length = Number(shape["maxItems"]);
    return Array.from({ length }, () => largest(items as Shape));
  }
  if (types.has("object") && properties !== undefined) {
    const members = Object.entries(properties as Record<string, Shape>);
    return Object.fromEntries(members.map(([member, of]) => [member, largest(of, member)]));
  }
  if (types.has("object")) {
    const count = Number(shape["maxProperties"]);
    const value = largest(additionalProperties as Shape);
    return Object.fromEntries(Array.from({ length: count }, (_, i) => [ID_MAX - i, value]));
  }
  if (types.has("string")) {
    return FORMATS[String(format)] ?? LETTER.repeat(Number(maxLength ?? NAME_LENGTH_MAX));
  }
  if (types.has("integer")) return maximum ?? ID_MAX;
  if (types.has("number")) return (maximum as number) - Number.EPSILON;
  return types.has("boolean") ? false : null;
}

const byLength = (a: string | null, b: string | null) => `${b}`.length - `${a}`.length;

/** Lists of any length, layouts, parts of an organization, and logins. */
const isOpen = ({ path, bodyBytesMax }: Route) =>
  bodyBytesMax === OF_LISTS.bodyBytesMax || /\/layout$|seatmap|\/parts\/|^\/api\/auth/.test(path);

test.each(bodied.filter((route) => !isOpen(route)).map((route) => [endpointOf(route), route]))(
  "%s: the largest valid body → fits in the limits of the route",
  (_, route) => {
    const { bodyBytesMax, bodyValuesMax } = limitsOf(route);
    const body = largest(route.body!);
    const bytes = Buffer.from(JSON.stringify(body));
    expect(checksOf(route).body(body, bytes.length)).toEqual([]);
    expect(parseJson(bytes, { values: bodyValuesMax })).toEqual({ ok: true, value: body });
    expect(bytes.length).toBeLessThanOrEqual(bodyBytesMax);
  },
);

test("booking and check take 128 KiB, carts, prices and assignments 256 KiB", () => {
  const limit = (path: RegExp) => [
    ...new Set(
      bodied.filter((one) => path.test(one.path)).map((one) => limitsOf(one).bodyBytesMax),
    ),
  ];
  expect(limit(/v2.0\/booking\/(?!cart)/)).toEqual([128 * KIB]);
  expect(limit(/v2.0\/booking\/cart/)).toEqual([256 * KIB]);
  expect(limit(/prices\/|assignments\/|pricing_zones\//)).toEqual([256 * KIB, 64 * KIB]);
  // A price of v1 comes alone.
  expect(limit(/v1.0\/prices\//)).toEqual([64 * KIB]);
});

/** Bodies that would take longest to parse and to check, for their bytes. */
const WASTEFUL: readonly (readonly [string, (bytes: number) => string])[] = [
  ["empty objects", (bytes) => `[${"{},".repeat(bytes / 3 - 2)}{}]`],
  ["empty lists", (bytes) => `{"seats":[${"[],".repeat(bytes / 3 - 6)}[]]}`],
  ["numbers", (bytes) => `{"seats":[${"0,".repeat(bytes / 2 - 8)}0]}`],
];

test.each(WASTEFUL)("as many %s as fit → refused before they are parsed", async (_, make) => {
  const server = new TestServer();
  const routes = ROUTES.filter(({ body, access }) => body !== undefined && access !== "public");
  for (const route of routes.filter((one) => !/\/layout$|seatmap|\/parts\//.test(one.path))) {
    const { bodyBytesMax, bodyValuesMax } = limitsOf(route);
    const body = make(bodyBytesMax);
    expect(body.length).toBeLessThanOrEqual(bodyBytesMax);
    const by = route.access === "tenant" ? {} : actingFor(server.tenantToken, server.a);
    const options = { key: server.tenantToken, ...by, body };
    const request = requestOf(route.method, targetFor(route, server.a), options);
    const before = server.digest;
    const answer = await server.send(request);
    expect([endpointOf(route), answer.status]).toEqual([endpointOf(route), 400]);
    const message = `has more than ${bodyValuesMax} values: send less in one request`;
    expect((JSON.parse(String(answer.body)) as { errors: object }).errors).toEqual([
      { field: "", code: "SIZE", message, rejectedValue: null },
    ]);
    expect(server.digest).toBe(before);
  }
});
