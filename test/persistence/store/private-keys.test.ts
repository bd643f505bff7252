/** Private keys that an earlier version stored in clear leave the store, and go on working. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type LogRecord, RecordType } from "../../../engine/records.ts";
import { openEngine } from "../../../persistence/store/open-engine.ts";
import { openStore } from "../../../persistence/store/open-store.ts";
import { realPlatform } from "../../../persistence/store/platform.ts";
import { Keys } from "../../../server/auth/keys.ts";
import { Bench } from "../../support/engine.ts";
import { RecordFeed } from "../../support/store/record-feed.ts";
import { folderOf, snapshotPaths } from "./store-fixture.ts";

const STORED = "0f0e0d0c-0b0a-4908-8706-050403020100";

/** As an earlier version wrote it. */
function withPrivateKey(record: LogRecord): LogRecord {
  if (record.type !== RecordType.CATALOG) return record;
  const puts = record.puts.map((put) =>
    put.table === "organizations" ? { ...put, row: { ...put.row, privateKey: STORED } } : put,
  );
  return { ...record, puts };
}

test("a stored private key is replaced by its hash at the next start, and works", async () => {
  const bench = new Bench();
  bench.createOrganization(bench.createTenant());
  const records = bench.journal.kept.map(({ record, ...facts }) => {
    return { ...facts, record: withPrivateKey(record) };
  });
  const folder = folderOf();
  const onFailure = (fault: Error) => {
    throw fault;
  };
  const before = await openStore(realPlatform, { folder, onFailure });
  const feed = new RecordFeed(before, records, () => {});
  for (let i = 0; i < records.length; i++) feed.append();
  await before.close();
  expect(readFileSync(snapshotPaths(folder)[0]!).toString("latin1")).toContain(STORED);

  await (await openEngine({ folder })).close();
  const newest = readFileSync(snapshotPaths(folder)[0]!).toString("latin1");
  expect(newest).not.toContain(STORED);
  const store = await openEngine({ folder });
  const { catalog } = store.engine.state;
  const [organization] = catalog.organizations.values();
  expect(organization).not.toHaveProperty("privateKey");
  const keys = new Keys(store.secret, catalog);
  for (const key of [STORED, keys.privateKey(organization!)]) {
    expect(keys.privateKeyOwner(key)).toEqual({ kind: "organization", organization });
  }
  // Nothing is left to replace, so nothing more is written.
  expect(store.engine.sequence).toBe(records.length + 1);
  await store.close();
});
