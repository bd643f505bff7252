/** The parts of the map that need no browser: geometry, finding seats by place, camera. */
import { expect, test } from "vitest";
import { Camera } from "../../../server/console/map/camera.ts";
import { decodeGeometry, Grid } from "../../../server/console/map/geometry.ts";
import { geometryOf } from "../../../server/layouts/jobs.ts";
import { mergeLayout } from "../../../engine/layout/change.ts";
import { EMPTY_DOCUMENT } from "../../../engine/layout/layout.ts";
import { stadiumLayout } from "../../../bench/console/stage.ts";
import { demoLayout } from "../../../server/demo.ts";

const SCHEMA = { schemaId: 1, version: 1 };

function decoded(body: ReturnType<typeof stadiumLayout>) {
  const { document } = mergeLayout(EMPTY_DOCUMENT, body, { nextId: 100, timeMs: 0 });
  return { document, geometry: decodeGeometry(geometryOf(document, SCHEMA)) };
}

test("a geometry has the ids, labels and places of the layout", () => {
  const { document, geometry } = decoded(stadiumLayout(2));
  expect(geometry.seatCount).toBe(document.seats.length);
  const rows = new Map(document.rows.map((row) => [row.guid, row]));
  for (const seat of document.seats.filter((_, i) => i % 97 === 0)) {
    const index = geometry.ids.indexOf(seat.id);
    const row = geometry.rows[geometry.rowOfSeat[index]!]!;
    expect(row.id).toBe(rows.get(seat.rowGuid)!.id);
    expect(geometry.labels[geometry.labelOfSeat[index]!]).toBe(seat.name);
    expect(geometry.x[index]).toBeCloseTo(seat.x!, 0);
    expect(geometry.y[index]).toBeCloseTo(seat.y!, 0);
  }
});

test("rows know the distance of their seats and of the next row, along their curve", () => {
  const { geometry } = decoded(stadiumLayout(4));
  const [row] = geometry.rows;
  expect(row!.depth).toBeCloseTo(34, 0);
  expect(row!.pitch).toBeCloseTo((3_000 * (6 * Math.PI)) / 180 / 15, 0);
  const [seat] = row!.seats;
  const [x, y] = [geometry.x[seat!]!, geometry.y[seat!]!];
  // The direction of a row is that of its circle: nearly at a right angle to the radius.
  const along = (x * geometry.alongX[seat!]! + y * geometry.alongY[seat!]!) / Math.hypot(x, y);
  expect(Math.abs(along)).toBeLessThan(0.1);
});

test("seats and areas that a layout does not place have places of their own", () => {
  const { geometry } = decoded(demoLayout());
  const places = new Set(Array.from(geometry.x, (x, seat) => `${x} ${geometry.y[seat]}`));
  expect(places.size).toBe(geometry.seatCount);
  const [pit] = geometry.areas;
  expect(pit!.box.right - pit!.box.left).toBeGreaterThan(50);
});

test("each seat is found at its place, and none in the middle of the pitch", () => {
  const { geometry } = decoded(stadiumLayout(2));
  const grid = new Grid(geometry);
  for (let seat = 0; seat < geometry.seatCount; seat += 53) {
    expect(grid.at(geometry.x[seat]! + 2, geometry.y[seat]! - 2)).toBe(seat);
  }
  expect(grid.at(0, 0)).toBe(-1);
  expect(grid.within(geometry.box)).toHaveLength(geometry.seatCount);
});

test("a zoom keeps the point under the pointer, and the map stays in view", () => {
  const { geometry } = decoded(stadiumLayout(2));
  const camera = new Camera();
  camera.frame(geometry, { width: 800, height: 600 });
  camera.fit();
  const before = { x: camera.toLayoutX(500), y: camera.toLayoutY(200) };
  camera.zoomTo(3, 500, 200);
  expect(camera.toLayoutX(500)).toBeCloseTo(before.x, 3);
  expect(camera.toLayoutY(200)).toBeCloseTo(before.y, 3);
  expect(camera.isAtRest).toBe(true);
  camera.pan(1e6, 1e6);
  expect(camera.x).toBeGreaterThanOrEqual(geometry.box.left);
  expect(camera.y).toBeGreaterThanOrEqual(geometry.box.top);
  camera.zoomTo(1_000, 0, 0);
  expect(camera.zoom).toBe(camera.zoomMax);
});
