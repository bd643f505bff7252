/** How sent drawing shapes are merged into the stored ones. */
import { expect, test } from "vitest";
import { mergeShapes } from "../../../../engine/layout/change.ts";
import type { Shape } from "../../../../engine/layout/document.ts";
import type { SentShape } from "../../../../engine/bodies.ts";

const [STAGE, BAR] = [
  { id: "stage", fill: "red" },
  { id: "bar", fill: "blue" },
];

/** Merges, with new ids `n1`, `n2` and so on. */
function merge(stored: readonly Shape[], ...sent: readonly SentShape[]) {
  let count = 0;
  const newId = () => `n${++count}`;
  const { shapes, errors } = mergeShapes(stored, sent, newId);
  return { shapes, errors: errors.map(({ field, code }) => `${field} ${code}`) };
}

test("a shape that is sent without an id gets one, and is the same when it is sent again", () => {
  const sent = [{ fill: "red" }, { fill: "red" }, { fill: "blue", id: null }];
  const [first, second, third] = ["n1", "n2", "n3"];
  const stored = [
    { id: first, fill: "red" },
    { id: second, fill: "red" },
    { id: third, fill: "blue" },
  ];
  expect(merge([], ...sent)).toEqual({ shapes: stored, errors: [] });
  const again = mergeShapes(stored, sent, () => "another");
  expect(again.shapes).toEqual(stored);
});

test("a shape is replaced by its id, toRemove removes it, and the others stay", () => {
  expect(merge([STAGE, BAR]).shapes).toEqual([STAGE, BAR]);
  const moved = { id: "stage", left: 3 };
  expect(merge([STAGE, BAR], { ...moved, toRemove: false }).shapes).toEqual([moved, BAR]);
  expect(merge([STAGE, BAR], { id: "stage", toRemove: true }).shapes).toEqual([BAR]);
  expect(merge([STAGE, BAR], { fill: "blue", toRemove: true }).shapes).toEqual([STAGE]);
  expect(merge([STAGE], { id: "unknown", toRemove: true }).shapes).toEqual([STAGE]);
});

test("two sent shapes with one id are refused", () => {
  expect(merge([], STAGE, BAR, STAGE).errors).toEqual(["shapes[2].id DUPLICATE"]);
});

test("stored shapes without an id of their own get one", () => {
  const { shapes } = merge([{ fill: "red" }, STAGE, { id: "stage", fill: "green" }], BAR);
  expect(shapes).toEqual([{ id: "n1", fill: "red" }, STAGE, { id: "n2", fill: "green" }, BAR]);
});
