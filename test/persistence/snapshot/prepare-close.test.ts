/** The last snapshot is made while the store is in use, for a short close. */
import { expect, test } from "vitest";
import { history, recovered } from "../rescue/folder-fixture.ts";
import { folderOf, StoreProcess } from "../store/store-fixture.ts";

test("after a prepared close a start reads the snapshot and the records after it", async () => {
  const folder = folderOf();
  const process = await StoreProcess.start({ folder, history });
  await process.commit(30);
  await process.store.prepareClose();
  await process.commit(3);
  await process.close();
  expect(process.reports).toMatchObject([{ failure: null }]);
  const next = await recovered(folder);
  expect(next.report).toMatchObject({ sequence: 165, cleanShutdown: true, passedOver: [] });
  expect(next.report.snapshot).not.toBeNull();
  expect(next.report.records).toBe(15);
});

test("a store without new records is prepared without a snapshot", async () => {
  const folder = folderOf();
  const process = await StoreProcess.start({ folder, history });
  await process.store.prepareClose();
  await process.commit(3);
  await process.close();
  // The close itself makes the snapshot the preparation did not need.
  expect(process.reports).toMatchObject([{ failure: null }]);
  expect((await recovered(folder)).report.records).toBe(0);
});

test("a snapshot that takes too long is given up, and the log has everything", async () => {
  const folder = folderOf();
  let ended = 0;
  const process = await StoreProcess.start({
    folder,
    history,
    startSnapshotThread: () => ({
      post: () => {},
      keepAlive: () => {},
      terminate: async () => void (ended += 1),
    }),
  });
  await process.commit(30);
  const prepared = process.store.prepareClose();
  await process.commit(2);
  await process.time.pass(12_000);
  await prepared;
  await process.close();
  expect(ended).toBeGreaterThan(0);
  expect(process.reports).toMatchObject([{ failure: { message: /abandoned/ } }]);
  expect((await recovered(folder)).report).toMatchObject({ sequence: 160, snapshot: null });
});
