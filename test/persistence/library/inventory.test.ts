/** Seats, areas and the audit trail, with a clock of the test's own and no thread for the trail. */
import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { type HistoryProgram, serveHistory } from "../../../persistence/history/thread.ts";
import type { FromWorker, ToWorker } from "../../../persistence/disk/worker.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import {
  Acting,
  areasAt,
  areasOf,
  auditOf,
  seatsAt,
  seatsOf,
} from "../../../persistence/library/inventory.ts";
import { type Result, valueOf } from "../../../persistence/library/library.ts";
import { Store } from "../../../persistence/store/open-engine.ts";
import { openStore } from "../../../persistence/store/open-store.ts";
import { type Platform, realPlatform } from "../../../persistence/store/platform.ts";
import { LAYOUT, newFolder } from "../../support/box-office.ts";
import { labelsOf } from "../../support/layout.ts";
import { LocalThread } from "../../support/store.ts";

/** Lead of the clock, in milliseconds. */
let aheadMs = 0;

const later = (task: () => void) => void setImmediate(task);

/** Expired holds end only when something reads or books. */
const platform: Platform = {
  ...realPlatform,
  time: {
    wallMs: () => realPlatform.time.wallMs() + aheadMs,
    runningMs: () => realPlatform.time.runningMs() + aheadMs,
  },
  scheduler: { ...realPlatform.scheduler, every: () => () => {} },
  startHistory: (data, events) =>
    new LocalThread<ToWorker<HistoryProgram>, FromWorker<HistoryProgram>>({
      serve: (port) =>
        serveHistory(port, { ...data, disk: realDisk, soon: later, nowMs: () => Date.now() }),
      events,
      later,
    }),
};

/** An organization with an event of three seats on sale, one of which is sold, and a pit. */
async function audited() {
  const folder = newFolder();
  const audit = { days: null, onReport: () => {} };
  const store = new Store(
    await openStore(platform, { folder, audit, onFailure: () => {} }),
    folder,
  );
  onTestFinished(() => store.close());
  const acting = new Acting(store, await store.callerFor("Odeon"));
  const venue = valueOf(await acting.run("createVenue", { body: { name: "Odeon" } }));
  const plan = { name: "Hall", venueId: venue.id };
  const { id: schemaId } = valueOf(await acting.run("createSchema", { body: plan }));
  const layout = { schemaId, body: LAYOUT, forceDelete: false };
  const labels = labelsOf(valueOf(await acting.run("putLayout", layout)));
  const eventId = randomUUID();
  const times = { start: "2030-05-01T20:00:00", endDate: "2030-05-01T23:00:00" };
  const body = { name: "Opening", schemaId, ...times };
  valueOf(await acting.run("createEvent", { eventId, body }));
  const full = { eventId, body: [{ name: "Full", eventId }] };
  const [price] = valueOf(await acting.run("createPrices", full));
  const groupOfSeats = ["Stalls", "Pit"].map((label) => {
    return { objectId: labels.idOf(label), assignmentId: price!.id };
  });
  valueOf(await acting.run("assignPrices", { eventId, body: { groupOfSeats } }));
  const { sequence } = store.engine;
  const first = { seats: [{ id: labels.idOf("A1") }] };
  valueOf(await acting.run("directsale", { eventId, body: first }));
  return { store, acting, eventId, labels, sequence };
}

test("a hold that has expired is not shown", async () => {
  const { acting, eventId, labels } = await audited();
  const held = { sessionId: "ann", seats: [{ id: labels.idOf("A2") }] };
  const groupOfSeats = [{ id: labels.idOf("Pit"), capacity: 2 }];
  valueOf(await acting.run("lock", { eventId, body: { ...held, groupOfSeats } }));
  expect(valueOf(await areasOf(acting, eventId)).areas).toMatchObject([{ locked: 2 }]);
  aheadMs += 15 * 60_000;
  expect(valueOf(await areasOf(acting, eventId)).areas).toMatchObject([{ locked: 0 }]);
  const { seats } = valueOf(await seatsOf(acting, eventId, {}));
  expect(seats.map(({ state }) => state)).toEqual(["SOLD", "ACTIVE", "ACTIVE"]);
});

test("seats and areas are shown as they were at a moment", async () => {
  const { acting, eventId, labels, sequence } = await audited();
  const statesAt = async (at: number) =>
    valueOf(await seatsAt(acting, eventId, { sequence: at }, {})).seats.map(({ state }) => state);
  expect(await statesAt(sequence)).toEqual(["ACTIVE", "ACTIVE", "ACTIVE"]);
  expect(await statesAt(sequence + 1)).toEqual(["SOLD", "ACTIVE", "ACTIVE"]);
  expect(await statesAt(sequence - 1)).toEqual([null, null, null]);
  const page = await seatsAt(acting, eventId, { sequence }, { offset: 1, limit: 1 });
  expect(page).toMatchObject({ value: { seats: [{ id: labels.idOf("A2") }], total: 3 } });
  expect(valueOf(await areasAt(acting, eventId, { sequence }))).toMatchObject([
    { name: "Pit", capacity: 10, active: 10 },
  ]);
});

test("the trail of an event lists its transitions, also after its deletion", async () => {
  const { acting, eventId, labels } = await audited();
  valueOf(await acting.run("deleteEvent", { eventId }));
  const ofSeat = { seatId: labels.idOf("A1") };
  const { entries, total } = valueOf(await auditOf(acting, eventId, ofSeat));
  expect(entries.map(({ call, from, to }) => [call, from, to])).toEqual([
    ["prices", null, "ACTIVE"],
    ["directsale", "ACTIVE", "SOLD"],
  ]);
  expect(total).toBe(2);
});

test("a question about the past with arguments of another form is refused", async () => {
  const { acting, eventId } = await audited();
  const questions: readonly (readonly [Promise<Result<unknown>>, string])[] = [
    [seatsAt(acting, eventId, undefined as never, {}), "moment NOT_NULL"],
    [areasAt(acting, eventId, {} as never), "moment NOT_NULL"],
    [areasAt(acting, eventId, { sequence: -1 }), "moment.sequence RANGE"],
    [seatsAt(acting, eventId, { timeMs: "now" as never }, {}), "moment.timeMs TYPE"],
    [seatsAt(acting, eventId, { sequence: 1 }, { rowId: 0 }), "seatFilter.rowId RANGE"],
    [auditOf(acting, "opening", {}), "eventId FORMAT"],
    [auditOf(acting, eventId, { limit: 0.5 }), "auditFilter.limit TYPE"],
  ];
  for (const [question, error] of questions) {
    const result = await question;
    expect(result).toMatchObject({ ok: false, code: "VALIDATION_FAILED" });
    expect(result.ok ? "" : `${result.errors[0]!.field} ${result.errors[0]!.code}`).toBe(error);
  }
});

test("a question without an answer is refused", async () => {
  const { acting, store, eventId, sequence } = await audited();
  const tooLate = { sequence: sequence + 100 };
  expect(await areasAt(acting, eventId, tooLate)).toMatchObject({ code: "VALIDATION_FAILED" });
  expect(await seatsAt(acting, eventId, tooLate, {})).toMatchObject({ code: "VALIDATION_FAILED" });
  const before = { sequence: 1 };
  expect(await areasAt(acting, eventId, before)).toMatchObject({ code: "ENTITY_NOT_FOUND" });
  expect(await auditOf(acting, randomUUID(), {})).toMatchObject({ code: "ENTITY_NOT_FOUND" });
  const stranger = new Acting(store, await store.callerFor("Roxy"));
  expect(await auditOf(stranger, eventId, {})).toMatchObject({ code: "ACCESS_DENIED" });
});
