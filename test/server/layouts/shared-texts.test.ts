/** A stored layout and a sent one are in memory together, and share their texts. */
import v8 from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { LayoutBody } from "../../../engine/bodies.ts";
import { sharingTexts } from "../../../server/layouts/jobs.ts";
import { guidOf } from "../../support/layout.ts";

const SEATS = 1_000;
const TEXT_BYTES = 10_000;

/** As it is parsed: with texts that nothing else has. */
function layoutNamed(name: string): LayoutBody {
  const seats = Array.from({ length: SEATS }, (_, i) => {
    const drawing = { text: `${i} `.padEnd(TEXT_BYTES, "x"), points: [[i, null], `${i}`] };
    return { guid: guidOf(`seat ${i}`), rowGuid: guidOf("row"), name: `${name} ${i}`, drawing };
  });
  const shapes = seats.map(({ drawing }, i) => ({ id: guidOf(`shape ${i}`), drawing }));
  return JSON.parse(JSON.stringify({ sectors: [], rows: [], seats, shapes })) as LayoutBody;
}

test("two layouts with the same drawing take little more memory than one", () => {
  v8.setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const memory = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const sent = layoutNamed("new");
  const [before, stored] = [memory(), layoutNamed("old")];
  const whole = memory() - before;
  const items = [...stored.seats!, ...stored.shapes!].map(sharingTexts(sent));
  expect(memory() - before).toBeLessThan(whole / 4);
  const old = layoutNamed("old");
  expect(items).toEqual([...old.seats!, ...old.shapes!]);
  expect(sent).toEqual(layoutNamed("new"));
});

test("whatever else a list of a stored layout has stays as it is", () => {
  const itemOf = sharingTexts({ ...layoutNamed("new"), rows: null });
  for (const item of [null, 5, "text", [1, null], {}, { guid: 5 }, { guid: guidOf("other") }]) {
    expect(itemOf(structuredClone(item))).toEqual(item);
  }
  const { guid } = layoutNamed("new").seats![0]!;
  for (const drawing of [null, 5, "text", [], {}, { text: { text: "x" }, toString: "x" }]) {
    expect(itemOf({ guid, drawing: structuredClone(drawing) })).toEqual({ guid, drawing });
  }
});
