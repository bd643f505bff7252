/** Records as people read them: to which event they belong, and how invalid ones are shown. */
import fs from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { apply } from "../../../engine/apply.ts";
import { Move } from "../../../engine/inventory/states.ts";
import { LogSpace } from "../../../engine/ports.ts";
import { ActorKind, type LogRecord, RecordType } from "../../../engine/records.ts";
import { State } from "../../../engine/state.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { LogCorrupt } from "../../../persistence/disk/faults.ts";
import {
  inspectFolder,
  type RecordFilter,
  type RecordView,
  RecordViewer,
} from "../../../persistence/rescue/inspect.ts";
import { verifyFolder } from "../../../persistence/rescue/verify.ts";
import { World } from "../../support/engine.ts";
import { area, section } from "../../support/layout.ts";
import { LogProcess, recordOf, settle, STORE_ID, timeOf } from "../log/log-fixture.ts";
import { folderOf } from "../store/store-fixture.ts";

const HALL = [section("Stalls", { A: "1 2 3" }), area("Pit", 10)];

/** The views of a world's records after `from`. */
function shown(world: World, from: number, wanted: RecordFilter): RecordView[] {
  const state = new State();
  const viewer = new RecordViewer(state);
  const views: RecordView[] = [];
  for (const { sequence, timeMs, record } of world.journal.kept) {
    const view = viewer.view({ state, sequence, timeMs, record, isExact: true }, wanted);
    if (view !== null && sequence > from) views.push(view);
    apply(state, record, timeMs, sequence);
  }
  return views;
}

test("the records that delete a price and an event belong to the event", () => {
  const world = new World(HALL);
  const { eventId, priceId, caller, engine } = world;
  const other = world.createEvent();
  const from = engine.sequence;
  world.must("deletePrice", caller, { eventId, priceId });
  world.must("deleteEvent", caller, { eventId });
  world.must("createVenue", caller, { body: { name: "Elsewhere" } });
  const types = (wanted: RecordFilter) => shown(world, from, wanted).map(({ type }) => type);
  const all = types({});
  expect(types({ eventId })).toEqual(all.slice(0, -1));
  expect(JSON.stringify(shown(world, from, { eventId }))).toContain(`"key":"${eventId}"`);
  expect(types({ eventId: other })).toEqual([]);
});

test("the records of one seat are its moves and its prices", () => {
  const world = new World(HALL);
  const [first, second] = ["A1", "A3"].map((label) => world.labels.idOf(label));
  world.book("lock", world.selection("ann", "A1", "A2"));
  const types = (seatId: number) => shown(world, 0, { seatId }).map(({ type }) => type);
  expect(types(first!)).toEqual(["price", "move"]);
  expect(types(second!)).toEqual(["price"]);
  expect(types(world.labels.idOf("Pit"))).toEqual([]);
});

describe("a record of a partition that does not exist", () => {
  const actor = { kind: ActorKind.SYSTEM, id: 0 } as const;
  const head = { sequence: 1, actor: { kind: "system" }, eventId: null };
  const seats = [7, 9];
  const move = { ...recordOf(1), actor, seats: Uint32Array.from(seats) };
  const RECORDS: readonly (readonly [string, LogRecord, object])[] = [
    [
      "a lock",
      move,
      { type: "move", seats: seats.map((seatIndex) => ({ seatIndex })), areas: [{ areaIndex: 1 }] },
    ],
    ["a sale", { ...move, move: Move.SALE, expiresAtMs: 0 }, { type: "move", heldBy: [] }],
    [
      "a price",
      {
        type: RecordType.PRICE,
        actor,
        partition: 1,
        runs: Uint32Array.from([1, 7, 3]),
        areas: Uint32Array.from([2, 1, 50]),
      },
      {
        type: "price",
        runs: [{ priceId: null, firstSeat: { seatIndex: 7 }, lastSeat: { seatIndex: 9 } }],
        areas: [{ areaIndex: 2, priceId: null, capacity: 50 }],
      },
    ],
  ];

  async function logOf(record: LogRecord): Promise<string> {
    const folder = folderOf();
    const identity = { version: 1, storeId: STORE_ID, createdAt: "2026-01-01", hasLog: true };
    fs.writeFileSync(path.join(folder, "store.json"), JSON.stringify(identity));
    const log = await LogProcess.start({ disk: realDisk, folder });
    log.journal.append(1, timeOf(1), record, LogSpace.GENERAL);
    await log.close();
    await settle();
    return folder;
  }

  test.each(RECORDS)(
    "%s is shown by its indexes, and reported as the damage that stops the log",
    async (...given) => {
      const [, record, view] = given;
      const folder = await logOf(record);
      const records: RecordView[] = [];
      const emit = (one: RecordView) => records.push(one) > 0;
      const inspect = (wanted: RecordFilter) => () =>
        inspectFolder({ disk: realDisk, folder, from: 1, to: 9, emit, ...wanted });
      expect(inspect({})).toThrow(LogCorrupt);
      expect(records).toMatchObject([{ ...head, ...view }]);
      expect(inspect({ seatId: 7 })).toThrow(LogCorrupt);
      expect(inspect({ eventId: crypto.randomUUID() })).toThrow(LogCorrupt);
      expect(records.length).toBe(1);
      const { findings } = verifyFolder({ disk: realDisk, folder });
      expect(findings).toMatchObject([{ path: `${folder}/wal`, expected: "a sound state" }]);
    },
  );
});
