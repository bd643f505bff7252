/** `inspectFolder` shows records in the terms of the interface, and no secrets. */
import fs from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { apply } from "../../../engine/apply.ts";
import { Move } from "../../../engine/inventory/states.ts";
import { LogSpace } from "../../../engine/ports.ts";
import { ActorKind, type LogRecord, RecordType } from "../../../engine/records.ts";
import { State } from "../../../engine/state.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { LogCorrupt, SnapshotsDamaged } from "../../../persistence/disk/faults.ts";
import { open, valueOf } from "../../../persistence/library/library.ts";
import {
  inspectFolder,
  type RecordFilter,
  type RecordView,
  RecordViewer,
} from "../../../persistence/rescue/inspect.ts";
import { verifyFolder } from "../../../persistence/rescue/verify.ts";
import { BoxOffice } from "../../support/box-office.ts";
import { World } from "../../support/engine.ts";
import { area, section } from "../../support/layout.ts";
import { LogProcess, recordOf, settle, STORE_ID, timeOf } from "../log/log-fixture.ts";
import { folderOf } from "../store/store-fixture.ts";
import { flip, history, segmentsIn, snapshotsIn, storeOf, usedBytes } from "./folder-fixture.ts";

interface Range extends RecordFilter {
  readonly from?: number;
  readonly to?: number;
}

function recordsOf(folder: string, { from = 1, to = Infinity, ...wanted }: Range = {}) {
  const records: RecordView[] = [];
  const emit = (record: RecordView) => records.push(record) > 0;
  const inspected = inspectFolder({ disk: realDisk, folder, from, to, ...wanted, emit });
  return { ...inspected, records };
}

const numbersOf = (records: readonly RecordView[]) => records.map(({ sequence }) => sequence);

test("the records of one seat in a store in use show ids, names, states and sessions", async () => {
  const office = await BoxOffice.open();
  const { frontrow, folder, eventId, labels } = office;
  await frontrow.lock(eventId, office.selection("ann", ["A1", "A2"], 2));
  await frontrow.unlock(eventId, office.selection("ann", ["A2"]));
  await frontrow.lock(eventId, office.selection("ben", ["A3"], 2));
  await frontrow.sell(eventId, office.selection("ann", ["A1"], 2));
  const seatId = labels.idOf("A1");
  const { records } = recordsOf(folder, { seatId, eventId });
  expect(records.map(({ type, move }) => move ?? type)).toEqual(["price", "lock", "sale"]);
  const [priced, locked, sold] = records;
  const [organization] = valueOf(await frontrow.organizations.list());
  const actor = { kind: "organization", id: organization!.id };
  const seat = { id: seatId, section: "Stalls", row: "A", seat: "1" };
  const pit = { id: labels.idOf("Pit"), name: "Pit", places: 2 };
  expect(priced).toMatchObject({
    eventId,
    runs: [{ priceId: expect.any(Number), firstSeat: seat, seats: 3 }],
    areas: [{ id: pit.id, name: "Pit", capacity: 10 }],
  });
  expect(locked).toMatchObject({ actor, eventId, from: "ACTIVE", to: "LOCKED", session: "ann" });
  expect(locked).toMatchObject({ holdType: "CART", seats: [seat, {}], areas: [pit] });
  const heldMs = Date.parse(String(locked!["expiresAt"])) - Date.parse(String(locked!["time"]));
  expect(heldMs).toBe(15 * 60_000);
  expect(sold).toMatchObject({ from: "LOCKED", to: "SOLD", heldBy: ["ann"], seats: [seat] });
});

test("the records of one event are its rows, its prices and its bookings", async () => {
  const office = await BoxOffice.open();
  const { frontrow, folder, eventId } = office;
  const other = await office.putOnSale();
  await frontrow.lock(eventId, office.selection("ann", ["A1"], 2));
  const { records } = recordsOf(folder, { eventId });
  expect(records.map(({ type }) => type)).toEqual(["catalog", "catalog", "price", "move"]);
  expect(JSON.stringify(records)).not.toContain(other);
  expect(recordsOf(folder, { eventId: crypto.randomUUID() }).records).toEqual([]);
});

test("no hash of a password or token, no private key and no stored answer is shown", async () => {
  const folder = path.join(folderOf(), "data");
  const frontrow = await open({ folder });
  const administrator = {
    email: "ann@odeon.example",
    firstName: "Ann",
    lastName: "Lee",
    passwordHash: "$argon2id$secret",
  };
  const tokenSha256 = "ab".repeat(32);
  valueOf(await frontrow.tenants.create({ name: "Odeon", tokenSha256, administrator }));
  const text = JSON.stringify(recordsOf(folder).records);
  expect(text).toContain("ann@odeon.example");
  for (const secret of ["$argon2id$secret", tokenSha256]) {
    expect(text).not.toContain(secret);
  }
  await frontrow.close();
});

test("from and to are sequence numbers, and both are included", async () => {
  const folder = await storeOf({ snapshots: 0, batches: 20 });
  expect(numbersOf(recordsOf(folder).records)).toEqual(
    Array.from({ length: 100 }, (_, i) => i + 1),
  );
  expect(numbersOf(recordsOf(folder, { from: 7, to: 9 }).records)).toEqual([7, 8, 9]);
  expect(recordsOf(folder, { from: 101 })).toEqual({
    firstSequence: 1,
    sequence: 100,
    records: [],
  });
});

test("a callback that returns false gets no further records", async () => {
  const folder = await storeOf({ snapshots: 0, batches: 20 });
  let given = 0;
  inspectFolder({ disk: realDisk, folder, from: 1, to: Infinity, emit: () => ++given < 5 });
  expect(given).toBe(5);
});

test("with a snapshot, inspection begins at the first record after it", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 4 });
  const { firstSequence, sequence, records } = recordsOf(folder);
  expect([firstSequence, sequence]).toEqual([301, 470]);
  expect(numbersOf(records)).toEqual(Array.from({ length: 170 }, (_, i) => i + 301));
  const moves = records.filter(({ type }) => type === "move");
  expect(moves.length).toBeGreaterThan(10);
  for (const { eventId, seats } of moves) {
    expect(eventId).toMatch(/^[0-9a-f-]{36}$/);
    for (const seat of seats as RecordView[]) expect(seat).toHaveProperty("id");
  }
  const kept = history.records[(moves[0]!["sequence"] as number) - 1]!;
  expect(moves[0]!["time"]).toBe(new Date(kept.timeMs).toISOString());
});

test("records before damage are shown, and then the damage is named", async () => {
  const folder = await storeOf({ snapshots: 0, batches: 60 });
  const damaged = segmentsIn(folder)[1]!;
  flip(damaged, usedBytes(damaged) - 700);
  const shown: number[] = [];
  const emit = ({ sequence }: RecordView) => shown.push(Number(sequence)) > 0;
  const act = () => inspectFolder({ disk: realDisk, folder, from: 1, to: Infinity, emit });
  expect(act).toThrow(LogCorrupt);
  expect(shown.length).toBeGreaterThan(20);
});

test("without a good snapshot, a log without its beginning is refused", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 4 });
  const [older, newest] = snapshotsIn(folder);
  flip(newest!, 100);
  expect(recordsOf(folder).records.length).toBeGreaterThan(100);
  flip(older!, 100);
  expect(() => recordsOf(folder)).toThrow(SnapshotsDamaged);
  expect(() => recordsOf(folder)).toThrow(path.basename(older!));
});

test("an error of the callback that gets the records is passed on", async () => {
  const folder = await storeOf({ snapshots: 0, batches: 2 });
  const mistake = new TypeError("a pipe that is closed");
  const emit = () => {
    throw mistake;
  };
  const act = () => inspectFolder({ disk: realDisk, folder, from: 1, to: 9, emit });
  expect(act).toThrow(mistake);
});

// Records as people read them: with their event, and invalid ones too.

const HALL = [section("Stalls", { A: "1 2 3" }), area("Pit", 10)];

/** The views of a world's records after `from`. */
function viewsOf(world: World, from: number, wanted: RecordFilter): RecordView[] {
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
  const types = (wanted: RecordFilter) => viewsOf(world, from, wanted).map(({ type }) => type);
  const all = types({});
  expect(types({ eventId })).toEqual(all.slice(0, -1));
  expect(JSON.stringify(viewsOf(world, from, { eventId }))).toContain(`"key":"${eventId}"`);
  expect(types({ eventId: other })).toEqual([]);
});

test("the records of one seat are its moves and its prices", () => {
  const world = new World(HALL);
  const [first, second] = ["A1", "A3"].map((label) => world.labels.idOf(label));
  world.book("lock", world.selection("ann", "A1", "A2"));
  const types = (seatId: number) => viewsOf(world, 0, { seatId }).map(({ type }) => type);
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
