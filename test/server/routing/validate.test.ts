/** Checks that are compiled from shapes: of bodies, path parameters and query parameters. */
import { Ajv } from "ajv";
import { expect, test } from "vitest";
import { COMMANDS } from "../../../engine/commands.ts";
import {
  exactObject,
  FORMATS,
  list,
  LONG,
  NAME,
  object,
  optional,
  orNull,
  type Shape,
  UUID,
} from "../../../engine/schema.ts";
import { PLATFORM_ROUTES } from "../../../server/routes/organizations.ts";
import { API_ROUTES } from "../../../server/routes/table.ts";
import { checksOf, QUERIES_MIN, rememberedQueries } from "../../../server/api/validate.ts";

const ITEM = object({ id: LONG, tags: optional(list(NAME)), note: optional(orNull(NAME)) });
const BODY = object({
  name: NAME,
  items: optional(list(ITEM, { maxItems: 2 })),
  ref: optional(UUID),
});
const { body } = checksOf({ body: BODY });

test("every shape of every route is a valid JSON Schema, which the server does not check", () => {
  const ajv = new Ajv({ strict: true, allowUnionTypes: true });
  for (const [name, validate] of Object.entries(FORMATS)) ajv.addFormat(name, validate);
  ajv.addFormat("int64", true);
  const shapes = [...API_ROUTES, ...PLATFORM_ROUTES].flatMap((route) => [
    ...(route.body === undefined ? [] : [route.body]),
    ...Object.values(route.params ?? {}),
    ...Object.values(route.query ?? {}).map(({ shape }) => shape),
  ]);
  expect(shapes.length).toBeGreaterThan(100);
  for (const shape of shapes) expect(() => ajv.compile(shape)).not.toThrow();
  expect(() => ajv.compile({ type: "strnig" })).toThrow("schema is invalid");
});

const BODIES_AND_ERRORS: readonly (readonly [unknown, readonly string[]])[] = [
  [{ name: "x" }, []],
  [{ name: "x", items: [{ id: 1, tags: ["a"], note: null }] }, []],
  [null, [" NOT_NULL"]],
  [[], [" TYPE"]],
  [{}, ["name NOT_NULL"]],
  [{ name: null }, ["name NOT_NULL"]],
  [{ name: "" }, ["name SIZE"]],
  [{ name: "a\u0000b" }, ["name FORMAT"]],
  [{ name: "x", items: {} }, ["items TYPE"]],
  [{ name: "x", items: [{}] }, ["items[0].id NOT_NULL"]],
  [{ name: "x", items: [{ id: 1 }, { id: 0 }] }, ["items[1].id RANGE"]],
  [{ name: "x", items: [{ id: 1, tags: ["a", 7] }] }, ["items[0].tags[1] TYPE"]],
  [{ name: "x", items: [{ id: 1 }, { id: 1 }, { id: 1 }] }, ["items SIZE"]],
  [{ name: "x", ref: "no" }, ["ref FORMAT"]],
  [{ name: 7, ref: 7 }, ["name TYPE", "ref TYPE"]],
];

test.each(BODIES_AND_ERRORS)("the body %j has the errors %j", (value, expected) => {
  const found = body(value).map(({ field, code }) => `${field} ${code}`);
  expect([...found].sort()).toEqual([...expected].sort());
});

test("an error has a message and shows the rejected value", () => {
  const [fault] = body({ name: "x".repeat(256) });
  expect(fault).toMatchObject({ message: expect.stringMatching(/255/) as string });
  expect(fault?.rejectedValue).toBe("x".repeat(256));
});

test("a body with 50,000 wrong items gets 100 errors, at little cost", () => {
  const { body: ofList } = checksOf({ body: list(ITEM) });
  const items = Array.from({ length: 50_000 }, () => ({}));
  const before = process.cpuUsage();
  expect(ofList(items).length).toBe(100);
  expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
});

test("errors within lists of objects → the first hundred fields, each once, in order", () => {
  const shape = object({ name: NAME, lists: list(exactObject({ id: LONG, ids: list(LONG) })) });
  const wrong = { id: -1.5, ids: [0, 1, "x"], more: true };
  const lists = Array.from({ length: 10_000 }, () => wrong);
  const errors = checksOf({ body: shape })
    .body({ lists })
    .map(({ field, code }) => `${field} ${code}`);
  expect(errors.slice(0, 6)).toEqual([
    "name NOT_NULL",
    "lists[0].more UNKNOWN",
    "lists[0].id TYPE",
    "lists[0].ids[0] RANGE",
    "lists[0].ids[2] TYPE",
    "lists[1].more UNKNOWN",
  ]);
  expect([errors.length, new Set(errors).size]).toEqual([100, 100]);
});

test("path parameters are converted as their shape says", () => {
  const { params } = checksOf({ params: { id: LONG, event: UUID } });
  const event = "00000000-0000-4000-8000-00000000000A";
  expect(params({ id: "12", event })).toEqual({
    values: { id: 12, event: event.toLowerCase() },
    errors: [],
  });
  expect(params({ id: "9007199254740991", event }).errors).toEqual([]);
  const texts: [string, string][] = [
    ["", "TYPE"],
    ["0", "RANGE"],
    ["-0", "RANGE"],
    ["-1", "RANGE"],
    ["9007199254740992", "RANGE"],
    ["9223372036854775807", "RANGE"],
    ["99999999999999999999", "TYPE"],
    ["0x10", "TYPE"],
    ["1e3", "TYPE"],
    ["12abc", "TYPE"],
    [" 1", "TYPE"],
    ["1.0", "TYPE"],
    ["١", "TYPE"],
    ["NaN", "TYPE"],
    ["%31", "TYPE"],
    ["1%00", "TYPE"],
  ];
  for (const [text, code] of texts) {
    const { errors } = params({ id: text, event });
    expect([text, errors.map((error) => `${error.field} ${error.code}`)]).toEqual([
      text,
      [`id ${code}`],
    ]);
  }
});

const FLAG: Shape = { type: "boolean" };
const DESCRIBED = { description: "" };
const QUERY = {
  page: { ...DESCRIBED, shape: { type: "integer", minimum: 0 }, default: 7 },
  flag: { ...DESCRIBED, shape: FLAG },
  sort: { ...DESCRIBED, shape: list({ type: "string" }), default: [] },
  need: { ...DESCRIBED, shape: LONG, required: true },
};

const QUERIES: readonly (readonly [string, object, readonly string[]])[] = [
  ["need=1", { page: 7, flag: undefined, sort: [], need: 1 }, []],
  ["need=1&page=0&flag=true&sort=a&sort=b", { page: 0, flag: true, sort: ["a", "b"], need: 1 }, []],
  ["need=1&flag=false&other=x", { page: 7, flag: false, sort: [], need: 1 }, []],
  ["need=1&sort=a,b", { page: 7, flag: undefined, sort: ["a,b"], need: 1 }, []],
  ["", { page: 7, flag: undefined, sort: [], need: undefined }, ["need NOT_NULL"]],
  ["need=", { page: 7, flag: undefined, sort: [], need: undefined }, ["need NOT_NULL"]],
  ["need=1&page=&flag=&sort=", { page: 7, flag: undefined, sort: [], need: 1 }, []],
  ["need=1&flag=1", { page: 7, flag: "1", sort: [], need: 1 }, ["flag TYPE"]],
  ["need=1&flag=TRUE", { page: 7, flag: "TRUE", sort: [], need: 1 }, ["flag TYPE"]],
  ["need=1&page=+1", { page: " 1", flag: undefined, sort: [], need: 1 }, ["page TYPE"]],
  ["need=1&page=-1", { page: -1, flag: undefined, sort: [], need: 1 }, ["page RANGE"]],
  ["need=1&need=1", { page: 7, flag: undefined, sort: [], need: 1 }, []],
  ["need=1&need=2", { page: 7, flag: undefined, sort: [], need: ["1", "2"] }, ["need TYPE"]],
  ["need=%31", { page: 7, flag: undefined, sort: [], need: 1 }, []],
];

test.each(QUERIES)("the query %j has the values %j and the errors %j", (text, values, expected) => {
  const { query } = checksOf({ query: QUERY });
  const checked = query(text);
  expect(checked.values).toEqual(values);
  expect(checked.errors.map(({ field, code }) => `${field} ${code}`)).toEqual(expected);
});

test("a parameter with two values is refused with a message that says so", () => {
  const { errors } = checksOf({ query: QUERY }).query("need=1&need=2");
  const message = "must not be given with different values";
  expect(errors).toEqual([{ field: "need", code: "TYPE", message, rejectedValue: ["1", "2"] }]);
});

test("checks can be compiled from every shape of the route table", () => {
  for (const route of API_ROUTES) {
    expect(() => checksOf(route)).not.toThrow();
    for (const shape of Object.values(route.answers)) {
      expect(() => checksOf({ ...route, body: shape ?? {} })).not.toThrow();
    }
  }
});

test("only the first error of a large body is reported", () => {
  const layout = checksOf({ body: COMMANDS.putLayout.members.body });
  const sectors = Array.from({ length: 1_000 }, () => 0);
  expect(layout.body({ sectors }, 1_000)).toHaveLength(100);
  expect(layout.body({ sectors }, 1_000_000).map(({ field }) => field)).toEqual(["sectors[0]"]);
});

test("the checked queries of 10,000 to 20,000 events are kept", () => {
  const { query } = checksOf({ query: { eventId: { shape: UUID, description: "" } } });
  const ask = (i: number) =>
    query(`eventId=00000000-0000-4000-8000-${String(i).padStart(12, "0")}`);
  const { count } = rememberedQueries;
  const [first, last] = [ask(0), ask(9_999)];
  for (let i = 0; i < 10_000; i++) ask(i);
  expect([ask(0) === first, ask(9_999) === last]).toEqual([true, true]);
  for (let i = 10_000; i < 30_000; i++) {
    ask(i);
    if (i % 1_000 === 0) ask(0);
  }
  expect(rememberedQueries.count - count).toBeGreaterThanOrEqual(QUERIES_MIN);
  expect(rememberedQueries.count - count).toBeLessThanOrEqual(2 * QUERIES_MIN);
  // A query that is used again and again is kept.
  expect([ask(0) === first, ask(9_999) === last]).toEqual([true, false]);
  expect(ask(9_999)).toEqual(last);
});

test("the queries of a list are not kept", () => {
  const shape = { shape: NAME, description: "" };
  const { query } = checksOf({ query: { name: shape, other: shape } });
  expect(query("name=a")).toEqual(query("name=a"));
  expect(query("name=a")).not.toBe(query("name=a"));
});
