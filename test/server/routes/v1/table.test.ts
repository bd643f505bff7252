/** The seventeen rows of v1, and the table of the guide that maps them to v2. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { API_ROUTES } from "../../../../server/routes/table.ts";
import { LEGACY_ROUTES } from "../../../../server/routes/v1/table.ts";
import { V2 } from "../../../support/server.ts";
import { V1 } from "./desk.ts";

const GUIDE = readFileSync(path.resolve("server/docs/guide/v1.md"), "utf8");

/** `POST /booking/lock`, of the rows below a base path. */
function rowsBelow(base: string): string[] {
  return API_ROUTES.filter((route) => route.path.startsWith(`${base}/`)).map(
    (route) => `${route.method.toUpperCase()} ${route.path.slice(base.length)}`,
  );
}

/** The calls of one column of the guide's table, without their queries. */
function column(index: number): string[] {
  return GUIDE.split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.split("|")[index]!.replaceAll("`", "").trim().replace(/\?.*$/, ""));
}

test("the guide maps every row of v1, in order, to rows that v2 has", () => {
  expect(LEGACY_ROUTES.length).toBe(17);
  expect(column(1)).toEqual(rowsBelow(V1));
  expect(rowsBelow(V2)).toEqual(expect.arrayContaining(column(2)));
});

test("the rows of v1 are legacy and no others are", () => {
  const legacy = API_ROUTES.filter(({ isLegacy }) => isLegacy === true);
  expect(legacy).toEqual([...LEGACY_ROUTES]);
  expect(legacy.every((route) => route.path.startsWith(`${V1}/`))).toBe(true);
});
