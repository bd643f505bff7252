/** A snapshot is used only if each part of it is valid. */
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { copyPartition, packImage, restorePartition } from "../../../engine/inventory/image.ts";
import { NONE } from "../../../engine/constants.ts";
import { Move } from "../../../engine/inventory/states.ts";
import type { MoveRecord } from "../../../engine/records.ts";
import { State } from "../../../engine/state.ts";
import { checkPartition, digestPartition } from "../../../engine/verify.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { Malformed } from "../../../persistence/disk/faults.ts";
import { OtherFormat } from "../../../persistence/disk/formats.ts";
import { openSqlReader, SqlFault, type SqlFile } from "../../../persistence/disk/sqlite.ts";
import { buildSnapshot } from "../../../persistence/snapshot/build.ts";
import {
  checkSnapshot,
  copyCatalog,
  decodeImage,
  digestOfSnapshot,
  encodeImage,
} from "../../../persistence/snapshot/file.ts";
import { loadNewest, loadSnapshot, tryLoad } from "../../../persistence/snapshot/load.ts";
import { Workload } from "../../sim/workload/workload.ts";
import { World } from "../../support/engine.ts";
import { area, section } from "../../support/layout.ts";
import { STORE_ID } from "../log/log-fixture.ts";
import { history, snapshotsIn, start, storeOf } from "../rescue/folder-fixture.ts";
import { folderOf } from "../store/store-fixture.ts";

function change(file: string, sql: string): void {
  const database = new Database(file);
  database.exec(sql);
  database.close();
}

function reading<T>(file: string, read: (sql: SqlFile) => T): T {
  const sql = openSqlReader(file);
  try {
    return read(sql);
  } finally {
    sql.close();
  }
}

/** Updates the digest of the file, as after a deliberate change. */
function seal(file: string): void {
  const digest = reading(file, (sql) =>
    digestOfSnapshot(sql, sql.row("SELECT * FROM snapshot") as never),
  );
  change(file, `UPDATE snapshot SET digest = '${digest}'`);
}

const NEW_PARTITION = "SELECT max(number) + 1, sequence, 0, 0, 0, 0, digest, image FROM partitions";

/** Events after so many records; each has a partition. */
const eventsAt = (sequence: number) => history.stateAt(sequence).catalog.events.size;

/** Faults hidden from every digest, because the file was written with them. */
const SEALED: readonly (readonly [string, string, string])[] = [
  [
    "a partition newer than its mark",
    "UPDATE partitions SET sequence = 900000",
    "expected a durable partition, found a newer one",
  ],
  [
    "a partition of no event",
    `INSERT INTO partitions ${NEW_PARTITION} GROUP BY 2, 7 LIMIT 1`,
    "expected a partition of an event, found",
  ],
  [
    "an event without its partition",
    "DELETE FROM partitions WHERE number = (SELECT min(number) FROM partitions)",
    `expected ${eventsAt(300)} partitions, found ${eventsAt(300) - 1}`,
  ],
  [
    "an image of another partition",
    `UPDATE partitions SET (digest, image) = (SELECT digest, image FROM partitions
      ORDER BY length(image) DESC LIMIT 1)`,
    "an image has the seats of its layout",
  ],
];

test("a snapshot of another format is not skipped as if it were damaged", async () => {
  const folder = await storeOf({ snapshots: 2, batches: 1 });
  const [, newest] = snapshotsIn(folder);
  change(newest!, "UPDATE snapshot SET format = 2");
  expect(() => loadSnapshot(newest!, STORE_ID)).toThrow("expected digest");
  seal(newest!);
  const load = () => loadNewest({ disk: realDisk, folder, storeId: STORE_ID });
  expect(load).toThrow(OtherFormat);
  expect(load).toThrow(/the snapshot format .* is version 2, and this Frontrow reads version 1/);
});

test.each(SEALED)("a snapshot with %s is skipped", async (_, sql, message) => {
  const folder = await storeOf({ snapshots: 2, batches: 1 });
  const [older, newest] = snapshotsIn(folder);
  change(newest!, sql);
  seal(newest!);
  expect(() => loadSnapshot(newest!, STORE_ID)).toThrow(message);
  const { loaded, passedOver } = loadNewest({ disk: realDisk, folder, storeId: STORE_ID });
  expect(passedOver).toEqual([expect.stringContaining(newest!)]);
  expect(older).toContain(loaded!.name);
});

const UNSEALED: readonly (readonly [string, string, string])[] = [
  ["no row of its own", "DELETE FROM snapshot", "expected the row of a snapshot, found none"],
  ["half a sequence number", "UPDATE snapshot SET sequence = 0.5", "expected the row of a snap"],
  ["a chain that is no text", "UPDATE snapshot SET markChain = x'00'", "expected the row of a"],
  ["a row that is no text", "UPDATE venues SET row = x'00'", "expected a row of venues"],
  ["an id that is no number", "UPDATE venues SET id = id + 0.5", "expected a row of venues"],
  ["an id that is no text", "UPDATE events SET id = CAST(id AS BLOB)", "expected a row of events"],
  ["a digest that is no text", "UPDATE partitions SET digest = x'00'", "the row of a partition"],
  ["half a record", "UPDATE partitions SET sequence = 0.5", "the row of a partition"],
  ["a partition below all", "UPDATE partitions SET number = -number", "the row of a partition"],
  ["an image that is a text", "UPDATE partitions SET image = 'none'", "an image of partition"],
  ["an image that was changed", "UPDATE partitions SET image = x'00'", "expected digest"],
  ["a name that was changed", "UPDATE venues SET row = replace(row, 'a', 'b')", "expected digest"],
];

test.each(UNSEALED)("a snapshot with %s is refused", async (_, sql, message) => {
  const [file] = snapshotsIn(await storeOf({ snapshots: 1, batches: 1 }));
  change(file!, sql);
  expect(() => reading(file!, (open) => checkSnapshot(open, STORE_ID))).toThrow(message);
});

test("a row that violates its own table's constraints is damage", async () => {
  const [file] = snapshotsIn(await storeOf({ snapshots: 1, batches: 1 }));
  const demand = (from: string, to: string) => {
    const database = new Database(file);
    database.unsafeMode();
    database.pragma("writable_schema = ON");
    database.exec(`UPDATE sqlite_schema SET sql = replace(sql, '${from}', '${to}')`);
    database.close();
  };
  demand("row TEXT NOT NULL", "row TEXT NULL");
  change(file!, "UPDATE venues SET row = NULL");
  demand("row TEXT NULL", "row TEXT NOT NULL");
  const check = () => reading(file!, (open) => checkSnapshot(open, STORE_ID));
  expect(check).toThrow("expected a sound SQLite file, found NULL value in venues.row");
});

test("a programming error is not reported as damage of a snapshot", () => {
  const mistake = new TypeError("a mistake");
  const load = () => {
    throw mistake;
  };
  expect(() => tryLoad("a.sqlite", load)).toThrow(mistake);
});

test("a wrong SQL statement is not reported as damage", async () => {
  const [file] = snapshotsIn(await storeOf({ snapshots: 1, batches: 1 }));
  const wrong = () => reading(file!, (sql) => sql.row("SELECT ? FROM venues"));
  expect(wrong).toThrow(RangeError);
  expect(() => reading(file!, (sql) => sql.row("SELECT nothing"))).toThrow(SqlFault);
});

test("a partition newer than the mark is found without reading the log", async () => {
  const [file] = snapshotsIn(await storeOf({ snapshots: 1, batches: 1 }));
  change(file!, "UPDATE partitions SET sequence = 900000");
  seal(file!);
  const check = () => reading(file!, (open) => checkSnapshot(open, STORE_ID));
  expect(check).toThrow(/expected partition \d+ up to 150, found 900000/);
});

const NO_SEQUENCES = new Float64Array();

test("a snapshot of an incomplete log, or without its partitions, is refused", async () => {
  const folder = folderOf();
  const process = await start(folder);
  await process.commit(20);
  const mark = process.journal.mark!;
  const place = { disk: realDisk, folder, storeId: STORE_ID, audited: () => null };
  const build = (sequence: number) => () => {
    const rest = { mark: { ...mark, sequence }, sequences: NO_SEQUENCES, createdAtMs: 0 };
    const end = { sequence, catalogSequence: sequence, ...rest };
    buildSnapshot(place, { base: null, catalog: null, images: [], end });
  };
  expect(build(101)).toThrow("none after record 100");
  // Its events have partitions, and none was given.
  expect(build(100)).toThrow(new Malformed(`${eventsAt(100)} partitions`, "0"));
  expect(snapshotsIn(folder)).toEqual([]);
});

test("a snapshot reads the log in short pieces, whatever its segments have", async () => {
  const folder = folderOf();
  const process = await start(folder);
  await process.commit(20);
  const mark = process.journal.mark!;
  let bytesMax = 0;
  const disk: typeof realDisk = {
    ...realDisk,
    openNow: (name) => {
      const file = realDisk.openNow(name);
      const readNow = file.readNow.bind(file);
      file.readNow = (target, position) => {
        bytesMax = Math.max(bytesMax, target.length);
        return readNow(target, position);
      };
      return file;
    },
  };
  const { sequence } = mark;
  const end = {
    sequence,
    catalogSequence: sequence,
    mark,
    sequences: NO_SEQUENCES,
    createdAtMs: 0,
  };
  const build = () =>
    buildSnapshot(
      { disk, folder, storeId: STORE_ID },
      { base: null, catalog: null, images: [], end },
    );
  // Its events have partitions, and none was given: but the log was read.
  expect(build).toThrow(`expected ${eventsAt(100)} partitions, found 0`);
  expect(bytesMax).toBeGreaterThan(0);
  expect(bytesMax).toBeLessThanOrEqual(1_024 * 1_024);
});

test("a snapshot of a log with many changes of the catalog rests while it reads them", async () => {
  const restsAfter = async (batches: number) => {
    const folder = folderOf();
    const process = await start(folder);
    await process.commit(batches);
    const mark = process.journal.mark!;
    const { sequence } = mark;
    const rest = { mark, sequences: NO_SEQUENCES, createdAtMs: 0 };
    const end = { sequence, catalogSequence: sequence, ...rest };
    let rests = 0;
    const place = { disk: realDisk, folder, storeId: STORE_ID, rest: () => void (rests += 1) };
    const build = () => buildSnapshot(place, { base: null, catalog: null, images: [], end });
    expect(build).toThrow(/partitions, found 0/);
    return rests;
  };
  const few = await restsAfter(20);
  expect(await restsAfter(200)).toBeGreaterThan(few);
});

// Decoded images equal the encoded ones, and malformed bytes are refused.

function heldWorld(): World {
  const world = new World([section("Stalls", { A: "1 2 3 4 5" }), area("Pit", 9)]);
  world.book("lock", world.selection("Åsa 🎭", "A1", "A2", "Pit:2"));
  world.book("lock", world.selection(null, "A4"));
  world.book("unlock", world.selection("Åsa 🎭", "A1"));
  return world;
}

test("every image of a random workload is decoded as it was encoded", () => {
  const workload = new Workload(5);
  for (let step = 1; step <= 3_000; step++) {
    workload.step();
    if (step % 500 !== 0) continue;
    for (const partition of workload.bench.engine.state.partitions.values()) {
      const bytes = encodeImage(packImage(copyPartition(partition)));
      const image = decodeImage(bytes);
      expect(encodeImage(image)).toEqual(bytes);
      const copy = restorePartition(image, partition.layout);
      expect(digestPartition(copy)).toBe(digestPartition(partition));
    }
  }
});

test("an image of a build before fences: its sold and blocked seats have none, the rest is as it was", () => {
  const world = heldWorld();
  world.book("sale", world.selection(null, "A2"));
  world.book("block", world.selection(null, "A3"));
  const { partition } = world;
  const bytes = encodeImage(packImage(copyPartition(partition)));
  const earlier: Buffer[] = [Buffer.from(bytes.subarray(0, 32))];
  earlier[0]!.writeUInt32LE(1, 0);
  earlier[0]!.writeUInt32LE(19, 4);
  let at = 32;
  for (let column = 0; at < bytes.length; column++) {
    const end = at + 4 + bytes.readUInt32LE(at);
    const kept = Buffer.from(bytes.subarray(at, end));
    // The third column had NONE for seats in no hold, the fourth one was not there.
    for (const seat of column === 2 ? [1, 2] : []) kept.writeUInt32LE(NONE, 4 + 4 * seat);
    if (column !== 3) earlier.push(kept);
    at = end;
  }
  const copy = restorePartition(decodeImage(Buffer.concat(earlier)), partition.layout);
  checkPartition(copy);
  expect([...copy.state]).toEqual([...partition.state]);
  const fences = (of: typeof copy) => [0, 1, 2, 3].map((seat) => of.fenceOf(seat) > 0);
  expect(fences(partition)).toEqual([false, true, true, true]);
  expect(fences(copy)).toEqual([false, false, false, true]);
  expect(copy.fenceOf(3)).toBe(partition.fenceOf(3));
  earlier[0]!.writeUInt32LE(2, 0);
  expect(() => decodeImage(Buffer.concat(earlier))).toThrow("20 columns");
});

test("an image of version 1 with fences → it is read as one of version 2", () => {
  const { partition } = heldWorld();
  const bytes = encodeImage(packImage(copyPartition(partition)));
  const earlier = Buffer.from(bytes);
  earlier.writeUInt32LE(1, 0);
  expect(encodeImage(decodeImage(earlier))).toEqual(bytes);
});

test("a fence above 2^32 is the same in the image, and on another layout", () => {
  const world = heldWorld();
  const { partition } = world;
  world.book("block", world.selection(null, "A3"));
  const record = world.journal.kept.at(-1)!.record as MoveRecord;
  const back = { ...record, move: Move.UNBLOCK };
  partition.move(back, world.clock.timeMs, 1_000);
  const fence = 5 * 2 ** 32 + 7;
  partition.move(record, world.clock.timeMs, fence);
  expect(partition.fenceOf(2)).toBe(fence);
  const image = decodeImage(encodeImage(packImage(copyPartition(partition))));
  const copy = restorePartition(image, partition.layout);
  expect(copy.fenceOf(2)).toBe(fence);
  expect(digestPartition(copy)).toBe(digestPartition(partition));
  const [seat] = world.engine.state.catalog.layouts.get(world.schemaId)!.document.seats;
  world.putLayout({ seats: [{ ...seat!, toRemove: true }] }, true);
  expect(world.partition.fenceOf(1)).toBe(fence);
  copy.move(back, world.clock.timeMs, fence + 1);
  // Both columns are written anew; a lower number is none, because fences only grow.
  const later = 6 * 2 ** 32 + 1;
  copy.move(record, world.clock.timeMs, later);
  expect(copy.fenceOf(2)).toBe(later);
  copy.move(back, world.clock.timeMs, later + 1);
  copy.move(record, world.clock.timeMs, 9);
  expect(copy.fenceOf(2)).toBe(later + 1);
});

test("an image can be decoded at any offset of its buffer", () => {
  const { partition } = heldWorld();
  const bytes = encodeImage(packImage(copyPartition(partition)));
  for (let shift = 0; shift < 8; shift++) {
    const moved = Buffer.concat([Buffer.alloc(shift), bytes]).subarray(shift);
    const copy = restorePartition(decodeImage(moved), partition.layout);
    expect(digestPartition(copy)).toBe(digestPartition(partition));
    expect(copy.holds.get(0).session).toBe("Åsa 🎭");
  }
});

test("an image that is truncated anywhere is refused", () => {
  const bytes = encodeImage(packImage(copyPartition(heldWorld().partition)));
  for (let end = 0; end < bytes.length; end++) {
    expect(() => decodeImage(bytes.subarray(0, end))).toThrow(Malformed);
  }
  expect(() => decodeImage(Buffer.concat([bytes, Buffer.alloc(1)]))).toThrow("further bytes");
});

test("another version, other columns and columns of unequal length are refused", () => {
  const image = packImage(copyPartition(heldWorld().partition));
  const bytes = encodeImage(image);
  const changed = (at: number, value: number) => {
    const copy = Buffer.from(bytes);
    copy.writeUInt32LE(value, at);
    return copy;
  };
  expect(() => decodeImage(changed(0, 3))).toThrow(OtherFormat);
  expect(() => decodeImage(changed(4, 22))).toThrow("20 columns");
  const { seats, areas, holds } = image;
  const half = { ...image, seats: { ...seats, changedAtMs: Buffer.alloc(9) as never } };
  expect(() => decodeImage(encodeImage(half))).toThrow("expected whole entries, found 9 bytes");
  const unequal = [
    { ...image, seats: { ...seats, price: seats.price.slice(1) } },
    { ...image, areas: { ...areas, counts: areas.counts.slice(1) } },
    { ...image, areas: { ...areas, held: areas.held.slice(1) } },
    { ...image, holds: { ...holds, sizes: holds.sizes.slice(1) } },
    { ...image, holds: { ...holds, textUnits: holds.textUnits.slice(1) } },
  ];
  for (const broken of unequal) expect(() => decodeImage(encodeImage(broken))).toThrow(Malformed);
});

// A copy of the catalog is handed over in parts, and has the rows of one moment.

test("the parts are all rows in order, whatever changes meanwhile", () => {
  const workload = new Workload(5);
  for (let step = 0; step < 500; step++) workload.step();
  const { catalog } = workload.bench.engine.state;
  const [venue] = catalog.venues.values();
  for (let id = 1_000_000; id < 1_001_200; id++) {
    catalog.put({ table: "venues", row: { ...venue!, id } });
  }
  const copy = copyCatalog(catalog);
  const wanted = { venues: [...catalog.venues.values()], events: [...catalog.events.values()] };
  expect(wanted.events.length).toBeGreaterThan(0);
  const parts = [copy.parts.next().value!];
  catalog.put({ table: "venues", row: { ...venue!, id: 2_000_000 } });
  catalog.events.clear();
  parts.push(...copy.parts);
  const twin = new State().catalog;
  for (const part of parts) for (const put of part) twin.put(put);
  expect([...twin.venues.values()]).toEqual(wanted.venues);
  expect([...twin.events.values()]).toEqual(wanted.events);
  expect(Math.max(...parts.map((part) => part.length))).toBe(500);
});
