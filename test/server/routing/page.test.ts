/** Paged lists: their order, their pages and their wrapper. */
import { expect, test } from "vitest";
import { BOOLEAN, integer, object, orNull, TEXT } from "../../../engine/schema.ts";
import { pageOfRows, rangeOf } from "../../../server/api/page.ts";
import type { Answer } from "../../../server/http/answers.ts";
import { replyOf } from "../../support/answers/exchange.ts";
import { type PageBody } from "../../support/server.ts";
import { expectPage } from "../wire/wire.ts";

interface Row {
  readonly id: number;
  readonly name: string;
  readonly note: string | null;
  readonly draft: boolean;
}

const ROWS: readonly Row[] = [
  { id: 10, name: "b", note: null, draft: true },
  { id: 9, name: "a", note: "x", draft: false },
  { id: 2, name: "B", note: "y", draft: true },
  { id: 1, name: "a", note: null, draft: false },
];
const ITEM = object({
  id: integer(),
  name: TEXT,
  note: orNull(TEXT),
  draft: BOOLEAN,
});
const PROPERTIES = ["id", "name", "note", "draft"] as const;

async function list(sort: readonly string[], page = 0, size = 20) {
  const handled = await pageOfRows(ROWS, { page, size, sort }, ITEM);
  return replyOf<PageBody<Row>>(handled as Answer);
}

const ORDERS: readonly (readonly [readonly string[], readonly number[]])[] = [
  [[], [1, 2, 9, 10]],
  [["id,desc"], [10, 9, 2, 1]],
  [["name"], [1, 9, 10, 2]],
  [["name,desc"], [2, 10, 1, 9]],
  [
    ["name", "id,desc"],
    [9, 1, 10, 2],
  ],
  [
    ["name", "draft", "name,desc"],
    [1, 9, 10, 2],
  ],
  [["note"], [1, 10, 9, 2]],
  [["note,desc"], [2, 9, 1, 10]],
  [
    ["draft", "note,desc"],
    [9, 1, 2, 10],
  ],
  [
    ["draft,ASC", "id,Desc"],
    [9, 1, 10, 2],
  ],
];

test.each(ORDERS)("rows are sorted by %j, and equal rows by id", async (sort, ids) => {
  expect((await list(sort)).body.content.map(({ id }) => id)).toEqual(ids);
});

test("sorting does not change the order of the given rows", async () => {
  await list(["id"]);
  expect(ROWS.map(({ id }) => id)).toEqual([10, 9, 2, 1]);
});

const CUTS: readonly (readonly [number, number, number])[] = [
  [0, 1, 1],
  [3, 1, 1],
  [4, 1, 0],
  [0, 3, 3],
  [1, 3, 1],
  [2, 3, 0],
  [0, 4, 4],
  [1, 4, 0],
  [0, 100, 4],
  [90_000_000_000_000, 100, 0],
];

test.each(CUTS)("page %d of size %d has %d rows", async (number, size, count) => {
  const expected = { number, size, total: ROWS.length, count };
  expectPage(await list([], number, size), expected);
  expectPage(await list(["name"], number, size), { ...expected, isSorted: true });
});

test("a list without rows is one empty page, the first and the last", async () => {
  const handled = await pageOfRows([] as Row[], { page: 0, size: 20, sort: [] }, ITEM);
  const { body } = replyOf<PageBody<Row>>(handled as Answer);
  expect(body).toMatchObject({ totalPages: 0, first: true, last: true, empty: true });
});

test("a sort is a property of the list, with or without a direction", () => {
  const rangeBy = (...sort: string[]) => rangeOf({ page: 7, size: 13, sort }, PROPERTIES);
  expect(rangeBy("name,desc", "id")).toEqual({
    sort: [
      { property: "name", descending: true },
      { property: "id", descending: false },
    ],
    offset: 91,
    limit: 13,
  });
  const wrong = ["", ",", "nam", "Name", "name,", "name,up", "name,asc,", "name asc", "__proto__"];
  for (const text of wrong) {
    const message = expect.stringContaining("id, name, note, draft") as string;
    const error = { field: "sort", code: "UNKNOWN", message, rejectedValue: text };
    expect(rangeBy("id", text)).toMatchObject({ errors: [error] });
  }
});

test("a page whose offset is not below 2^53 is refused", () => {
  const at = (page: number, size: number) => rangeOf({ page, size, sort: [] }, PROPERTIES);
  for (const size of [1, 3, 20, 100]) {
    const last = Math.floor(Number.MAX_SAFE_INTEGER / size);
    expect(at(last, size)).toMatchObject({ offset: last * size });
    if (last === Number.MAX_SAFE_INTEGER) continue;
    const error = { field: "page", code: "RANGE", rejectedValue: last + 1 };
    expect(at(last + 1, size)).toMatchObject({ errors: [error] });
  }
});
