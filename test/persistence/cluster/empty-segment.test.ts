/** A newest segment without a frame, begun by a leader before it lost its lease. */
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { setAsideEmpty } from "../../../persistence/store/open-store.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { encodeSegmentHeader, segmentName } from "../../../persistence/log/frame.ts";
import { openEngine } from "../../../persistence/store/open-engine.ts";
import { readFolder, storeIdOf } from "../../faults/support/folder-state.ts";
import { folderOf } from "../store/store-fixture.ts";

async function storeWithFrames(): Promise<string> {
  const folder = folderOf();
  await (await openEngine({ folder })).close();
  return folder;
}

test("a segment that has frames stays", async () => {
  const folder = await storeWithFrames();
  expect(setAsideEmpty(realDisk, folder)).toBe(false);
});

test.each([
  ["zeros", Buffer.alloc(4_096)],
  ["part of a frame", Buffer.from("FRWF and not more")],
])("a newest segment with %s after its header is set aside", async (_, rest) => {
  const folder = await storeWithFrames();
  const { scan } = readFolder(folder).log;
  const { epoch, chain, sequence } = scan;
  const place = { number: scan.number + 1, firstSequence: sequence + 1 };
  const header = { ...place, storeId: storeIdOf(folder), epoch, chain, createdAtMs: 0 };
  const file = path.join(folder, "wal", segmentName(place));
  fs.writeFileSync(file, Buffer.concat([encodeSegmentHeader(header), rest]));
  expect(setAsideEmpty(realDisk, folder)).toBe(true);
  expect([fs.existsSync(file), fs.existsSync(`${file}.broken`)]).toEqual([false, true]);
  expect(readFolder(folder).sequence).toBe(sequence);
});
