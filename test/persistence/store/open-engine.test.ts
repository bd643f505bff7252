/** A store on the real disk: failures lose nothing, and a closed store can be opened again. */
import path from "node:path";
import { expect, test } from "vitest";
import { Broken } from "../../../engine/assert.ts";
import { AuditGap } from "../../../engine/queries/history.ts";
import { Result } from "../../../engine/results.ts";
import { digest } from "../../../engine/verify.ts";
import type { AuditReport } from "../../../persistence/audit/keeper.ts";
import { hasStore, openEngine } from "../../../persistence/store/open-engine.ts";
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
