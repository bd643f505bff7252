/** Copies of a store as messages to another host. */
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { ArrivingCopy, messagesOf } from "../../../persistence/rescue/join.ts";
import { verifyFolder } from "../../../persistence/rescue/verify.ts";
import { sameFiles } from "../log/log-fixture.ts";
import { contentOf, folderOf } from "../store/store-fixture.ts";
import { flip, history, snapshotsIn, start, storeOf } from "./folder-fixture.ts";

/** A path where nothing exists yet. */
const placeOf = () => path.join(folderOf(), "copy");

test("a copy that has come is complete and private, and its source is unchanged", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 10 });
  const before = contentOf(folder);
  const to = placeOf();
  const seen: number[] = [];
  const onWork = (what: string, done: number, total: number) => {
    if (what === "receiving bytes") seen.push(done / total);
  };
  const copy = new ArrivingCopy({ disk: realDisk, to, onWork });
  for (const message of messagesOf(realDisk, folder)) copy.take(message);
  expect(copy.isWhole).toBe(true);
  expect(copy.finish()).toMatchObject({
    findings: [],
    leftOut: [],
    sequence: 500,
    snapshots: 2,
    digest: history.digestAt(500),
  });
  expect(seen.at(-1)).toBe(1);
  expect(sameFiles(contentOf(folder), before)).toBe(true);
  expect(fs.readdirSync(folder)).not.toContain("sending");
  for (const file of contentOf(to).keys()) expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  expect(fs.readdirSync(path.dirname(to))).toEqual(["copy"]);
});

test("a copy of a store in use has everything that was acknowledged before", async () => {
  const folder = await storeOf({ snapshots: 1, batches: 4 });
  const process = await start(folder);
  await process.commit(3);
  const { durable } = process;
  const to = placeOf();
  const copy = new ArrivingCopy({ disk: realDisk, to });
  for (const message of messagesOf(realDisk, folder)) {
    copy.take(message);
    await process.commit(1);
  }
  const copied = copy.finish();
  expect(copied.sequence).toBeGreaterThanOrEqual(durable);
  expect(copied.digest).toBe(history.digestAt(copied.sequence));
  await process.close();
  expect(verifyFolder({ disk: realDisk, folder: to }).findings).toEqual([]);
});

test("a damaged snapshot is left out of a copy", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 2 });
  const [newest] = snapshotsIn(folder);
  flip(newest!, 100);
  const copy = new ArrivingCopy({ disk: realDisk, to: placeOf() });
  for (const message of messagesOf(realDisk, folder)) copy.take(message);
  const { leftOut, snapshots } = copy.finish();
  expect(leftOut).toHaveLength(1);
  expect(snapshots).toBe(1);
});

test("a copy that was changed on its way, or names a file elsewhere, is refused", async () => {
  const folder = await storeOf({ snapshots: 1, batches: 2 });
  const sent = [...messagesOf(realDisk, folder)];
  const receive = (messages: readonly (string | Uint8Array)[]) => {
    const copy = new ArrivingCopy({ disk: realDisk, to: placeOf() });
    for (const message of messages) copy.take(message);
    return copy;
  };
  const changed = sent.map((message) =>
    typeof message === "string" ? message : message.map((byte, i) => (i === 7 ? byte ^ 1 : byte)),
  );
  expect(() => receive(changed)).toThrow("expected the files as they were sent, found other bytes");
  const file = (name: string) => JSON.stringify({ kind: "file", name, bytes: 1 });
  for (const name of ["../other", "/etc/other", "wal/../../other", "a/b"]) {
    expect(() => receive([file(name)])).toThrow("expected a file of a data folder");
  }
  expect(() => receive([file("store.json"), file("secret")])).toThrow(
    "expected the rest of a file",
  );
  expect(() => receive([file("store.json"), Buffer.from("ab")])).toThrow("more bytes");
  expect(() => receive(["<html>"])).toThrow("expected a note about the copy, found other text");
  expect(receive(sent.slice(0, -1)).isWhole).toBe(false);
});

test("an attempt that was interrupted leaves nothing, or what the next one removes", async () => {
  const folder = await storeOf({ snapshots: 1, batches: 2 });
  const sent = [...messagesOf(realDisk, folder)];
  const to = placeOf();
  const abandoned = new ArrivingCopy({ disk: realDisk, to });
  for (const message of sent.slice(0, 4)) abandoned.take(message);
  abandoned.abandon();
  expect(fs.readdirSync(path.dirname(to))).toEqual([]);
  const killed = new ArrivingCopy({ disk: realDisk, to });
  for (const message of sent.slice(0, -1)) killed.take(message);
  expect(fs.readdirSync(path.dirname(to))).toEqual(["copy.partial"]);
  const again = new ArrivingCopy({ disk: realDisk, to });
  for (const message of sent) again.take(message);
  expect(again.finish().findings).toEqual([]);
  expect(fs.readdirSync(path.dirname(to))).toEqual(["copy"]);
  expect(() => new ArrivingCopy({ disk: realDisk, to })).toThrow("it is not empty");
});
