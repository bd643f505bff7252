/** A store on the real disk: failures lose nothing, and a closed store can be opened again. */
import path from "node:path";
import { expect, test } from "vitest";
import { Broken } from "../../../engine/assert.ts";
import type { Outcome } from "../../../engine/engine.ts";
import { AuditGap } from "../../../engine/queries/history.ts";
import { Result } from "../../../engine/results.ts";
import { digest } from "../../../engine/verify.ts";
import type { AuditReport } from "../../../persistence/history/keeper.ts";
import { hasStore, openEngine, Store } from "../../../persistence/store/open-engine.ts";
import { openStore } from "../../../persistence/store/open-store.ts";
import { realPlatform } from "../../../persistence/store/platform.ts";
import { folderOf } from "./store-fixture.ts";

test("answered commands survive a reopening; a second close does nothing", async () => {
  const folder = folderOf();
  const store = await openEngine({ folder });
  const caller = await store.callerFor("Box office");
  await store.execute({ kind: "createVenue", caller, body: { name: "Odeon" } });
  const before = digest(store.engine.state);
  await Promise.all([store.close(), store.close()]);
  const again = await openEngine({ folder });
  expect(await again.read(digest)).toBe(before);
  expect(again.report).toMatchObject({ cleanShutdown: true, sequence: 3 });
  await again.close();
});

test("a record that cannot be encoded halts the engine, and loses nothing", async () => {
  const folder = folderOf();
  const store = await openEngine({ folder });
  const caller = await store.callerFor("Box office");
  await store.execute({ kind: "createVenue", caller, body: { name: "Odeon" } });
  const [venueId] = store.engine.state.catalog.venues.keys();
  let thumbnail: unknown = "deep";
  for (let depth = 0; depth < 20_000; depth++) thumbnail = [thumbnail];
  const body = { name: "Plan", venueId: venueId!, thumbnail };
  await expect(store.execute({ kind: "createSchema", caller, body })).rejects.toThrow(Broken);
  await store.close();
  const again = await openEngine({ folder });
  expect(again.report.sequence).toBe(3);
  await again.close();
});

test("without its program the audit trail is unavailable, and the store works", async () => {
  const folder = folderOf();
  const reports: AuditReport[] = [];
  const audit = { days: null, onReport: (report: AuditReport) => void reports.push(report) };
  const store = await openEngine({ folder, audit });
  const caller = await store.callerFor("Box office");
  const venue = await store.execute({ kind: "createVenue", caller, body: { name: "Odeon" } });
  expect(venue).toMatchObject({ refused: Result.OK });
  const question = { about: "owner", eventId: "none" } as const;
  // The thread's program is compiled; beside the source there is none.
  expect(await store.audit!.ask(question, "1")).toMatchObject({ gap: AuditGap.UNAVAILABLE });
  expect(reports).toMatchObject([
    { kind: "failed", failure: expect.stringMatching(/Cannot find module/) },
  ]);
  await store.close();
});

test("a folder has a store after it was opened once", async () => {
  const folder = folderOf();
  expect([hasStore(folder), hasStore(path.join(folder, "none"))]).toEqual([false, false]);
  await (await openEngine({ folder })).close();
  expect(hasStore(folder)).toBe(true);
});

// A change too large for the log is refused before it is written, and the store goes on.

const RECORD_BYTES_MAX = 16 * 1024;
const CLONE = "00000000-0000-4000-8000-0000000000c1";

async function open(folder: string, recordBytesMax?: number): Promise<Store> {
  const onFailure = (fault: Error) => {
    throw fault;
  };
  return new Store(await openStore(realPlatform, { folder, recordBytesMax, onFailure }), folder);
}

test("a layout, a schema and a clone that are too long are refused; others are taken", async () => {
  const folder = folderOf();
  const before = await open(folder);
  const caller = await before.callerFor("Box office");
  await before.execute({ kind: "createVenue", caller, body: { name: "Odeon" } });
  const [venueId = 0] = before.engine.state.catalog.venues.keys();
  const plan = (thumbnail: string) => ({ name: "Plan", venueId, thumbnail });
  await before.execute({ kind: "createSchema", caller, body: plan("x".repeat(20_000)) });
  await before.close();

  const store = await open(folder, RECORD_BYTES_MAX);
  const { state } = store.engine;
  const [schemaId = 0] = state.catalog.schemas.keys();
  const unchanged = { digest: digest(state), sequence: store.engine.sequence };
  const points = "x".repeat(RECORD_BYTES_MAX);
  const outcomes: readonly Outcome<unknown>[] = [
    await store.execute({ kind: "createSchema", caller, body: plan(points) }),
    await store.execute({
      kind: "putLayout",
      caller,
      schemaId,
      body: { shapes: [{ points }] },
      forceDelete: false,
    }),
    await store.execute({ kind: "cloneSchema", caller, schemaId, cloneId: CLONE }),
  ];
  const detail = expect.stringMatching(/takes \d{5} bytes .* at most 16384 /) as string;
  const refusal = { refused: Result.PAYLOAD_TOO_LARGE, detail, errors: [] };
  expect(outcomes).toEqual([refusal, refusal, refusal]);
  expect({ digest: digest(state), sequence: store.engine.sequence }).toEqual(unchanged);
  const venue = await store.execute({ kind: "createVenue", caller, body: { name: "Arena" } });
  expect(venue.refused).toBe(Result.OK);
  const after = digest(state);
  await store.close();
  const again = await open(folder);
  expect(await again.read(digest)).toBe(after);
  await again.close();
});
