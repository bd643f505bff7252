/** The seventeen rows of v1: what they are in v2, and requests that all of them refuse. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { API_ROUTES } from "../../../../server/routes/table.ts";
import { LEGACY_ROUTES } from "../../../../server/routes/v1.ts";
import { TestServer, V2 } from "../../../support/server.ts";
import { DENIED, EVENT_DENIED, expectProblem, invalid, NOWHERE } from "../../wire/wire.ts";
import { V1 } from "./desk.ts";

const GUIDE = readFileSync(path.resolve("server/docs/guide/v1.md"), "utf8");

/** The rows below a base path, as `POST /booking/lock`. */
function rowsBelow(base: string): string[] {
  return API_ROUTES.filter((route) => route.path.startsWith(`${base}/`)).map(
    (route) => `${route.method.toUpperCase()} ${route.path.slice(base.length)}`,
  );
}

/** The calls in a column of the guide's table, without their queries. */
function column(index: number): string[] {
  return GUIDE.split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.split("|")[index]!.replaceAll("`", "").trim().replace(/\?.*$/, ""));
}

test("the guide maps every row of v1, in order, to existing rows of v2", () => {
  expect(LEGACY_ROUTES.length).toBe(17);
  expect(column(1)).toEqual(rowsBelow(V1));
  expect(rowsBelow(V2)).toEqual(expect.arrayContaining(column(2)));
});

test("all rows of v1, and no others, are marked as legacy", () => {
  const legacy = API_ROUTES.filter(({ isLegacy }) => isLegacy === true);
  expect(legacy).toEqual([...LEGACY_ROUTES]);
  expect(legacy.every((route) => route.path.startsWith(`${V1}/`))).toBe(true);
});

/** For requests that are refused: it never changes. */
const unchanged = new TestServer();

test.each(rowsBelow(V1))(
  "%s with a wrong key is 403 and says so in the words of v1",
  async (row) => {
    const [method = "", template = ""] = row.split(" ");
    const target = V1 + template.replace("{id}", NOWHERE).replace("{schemaId}", "1");
    const body = method === "POST" || method === "PUT" ? {} : undefined;
    const reply = await unchanged.call(method, target, { key: "unknown", body });
    expectProblem(reply, DENIED);
    expect(reply.body.detail).toMatch(/correct private key/);
  },
);

const seat = { compositeKey: "Stalls;;A;;1" };
const priced = { ...seat, price: 1 };
const EVENT_ROWS: readonly (readonly [string, string, unknown])[] = [
  ["POST", "/booking/lock", [seat]],
  ["POST", "/booking/sale", [seat]],
  ["POST", "/booking/unlock", [seat]],
  ["POST", "/assignments/", [priced]],
  ["POST", "/assignments/clean", undefined],
  ["DELETE", "/assignments/", [seat]],
  ["GET", "/prices/", undefined],
];

test.each(EVENT_ROWS)(
  "%s %s refuses a foreign, unknown, missing or malformed event",
  async (...row) => {
    const [method, template, body] = row;
    const before = unchanged.digest;
    for (const [query, expected] of [
      [`id=${unchanged.b.eventId}`, EVENT_DENIED],
      [`id=${NOWHERE}`, EVENT_DENIED],
      ["", invalid("id NOT_NULL")],
      ["id=7", invalid("id FORMAT")],
    ] as const) {
      const target = `${V1}${template}?${query}`;
      const reply = await unchanged.call(method, target, { ...unchanged.a, body });
      expectProblem(reply, expected);
      if (expected === EVENT_DENIED) expect(reply.body.detail).toMatch(/correct private key/);
    }
    expect(unchanged.digest).toBe(before);
  },
);

test.each(["/events/", "/venues/schemas/"])(
  "GET %s refuses wrong limits and offsets",
  async (row) => {
    for (const [query, error] of [
      ["limit=0", "limit RANGE"],
      ["limit=1001", "limit RANGE"],
      ["limit=x", "limit TYPE"],
      ["offset=-1", "offset RANGE"],
      ["offset=1.5", "offset TYPE"],
    ] as const) {
      expectProblem(await unchanged.get(`${V1}${row}?${query}`), invalid(error));
    }
  },
);
