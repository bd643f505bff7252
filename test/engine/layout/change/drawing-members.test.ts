/** What the engine stores of a layout without interpreting it has a limit for each object. */
import { expect, test } from "vitest";
import { DRAWING_BYTES_MAX } from "../../../../engine/constants.ts";
import { Result } from "../../../../engine/results.ts";
import type { LayoutBody } from "../../../../engine/bodies.ts";
import { World } from "../../../support/engine.ts";
import { area, guidOf, layoutOf, section } from "../../../support/layout.ts";

const HALL = [section("Stalls", { A: "1 2" }), area("Pit", 5)];
const SHAPE_ID = "00000000-0000-4000-8000-00000000000a";
/** `{"note":"…"}`. */
const NOTE_BYTES = 11;

const put = (world: World, body: LayoutBody) =>
  world.submit("putLayout", world.caller, { schemaId: world.schemaId, body, forceDelete: false });
/** A member whose JSON, in an object of its own, has this length. */
const note = (bytes: number) => ({ note: "x".repeat(bytes - NOTE_BYTES) });

const { sectors, rows, seats } = layoutOf(...HALL);
const LISTS: readonly (readonly [string, (drawing: object) => LayoutBody])[] = [
  ["sectors[1]", (drawing) => ({ sectors: [sectors![0]!, { ...sectors![1]!, ...drawing }] })],
  ["rows[0]", (drawing) => ({ rows: [{ ...rows![0]!, ...drawing }] })],
  ["seats[1]", (drawing) => ({ seats: [seats![0]!, { ...seats![1]!, ...drawing }] })],
  ["shapes[0]", (drawing) => ({ shapes: [{ id: SHAPE_ID, ...drawing }] })],
  ["clientViewBox", (drawing) => ({ clientViewBox: { ...drawing } })],
];

test.each(LISTS)("drawing members of %s are kept up to 2 KiB, and refused beyond", (field, of) => {
  const world = new World(HALL);
  expect(put(world, of(note(DRAWING_BYTES_MAX))).refused).toBe(Result.OK);
  const document = JSON.stringify(world.engine.state.catalog.layouts.get(world.schemaId));
  expect(document).toContain(JSON.stringify(note(DRAWING_BYTES_MAX)).slice(1, -1));
  const { sequence } = world.engine;
  expect(put(world, of(note(DRAWING_BYTES_MAX + 1)))).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field, code: "SIZE", rejectedValue: DRAWING_BYTES_MAX + 1 }],
  });
  expect(world.engine.sequence).toBe(sequence);
});

test("drawing members of all kinds count together, and those that the engine knows do not", () => {
  const world = new World(HALL);
  const parts = { ax: 1.5, tags: ["a", { b: "é".repeat(500) }], isMarked: true };
  const full = { ...parts, ...note(DRAWING_BYTES_MAX - 1_070) };
  const seat = (drawing: object) => ({ seats: [{ ...seats![0]!, ...drawing }] });
  expect(put(world, seat(full)).refused).toBe(Result.OK);
  expect(put(world, seat({ ...full, order: "x".repeat(200) })).refused).not.toBe(Result.OK);
  const long = { name: "9".repeat(255), id: world.labels.idOf("A1") };
  expect(put(world, seat({ ...full, ...long })).refused).toBe(Result.OK);
});

test("the points of a shape may be longer, and a refusal names at most a hundred objects", () => {
  const world = new World(HALL);
  const shape = { id: SHAPE_ID, points: Array.from({ length: 5_000 }, (_, i) => i) };
  expect(put(world, { shapes: [shape] }).refused).toBe(Result.OK);
  const many = Array.from({ length: 150 }, (_, i) => ({
    ...seats![0]!,
    guid: guidOf(`X${i}`),
    name: `X${i}`,
    ...note(DRAWING_BYTES_MAX + 1),
  }));
  const outcome = put(world, { seats: many });
  expect("errors" in outcome && outcome.errors.length).toBe(100);
});
