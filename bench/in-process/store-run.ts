/**
 * The program that fills or opens a data folder once. The only argument is a `StoreRun` as JSON;
 * the answer is a `StoreReport` as one line of JSON.
 */
import { digest } from "../../engine/verify.ts";
import { openEngine, type Store } from "../../persistence/store/open-engine.ts";
import { layoutOf } from "../harness/event-data.ts";
import { EngineVenue } from "./engine-venue.ts";

export interface StoreRun {
  readonly folder: string;
  /** Absent to open the folder as it is. */
  readonly fill?: { readonly events: number; readonly seats: number; readonly records: number };
  /** Closes the store with a snapshot; otherwise the process just ends. */
  readonly closes: boolean;
}

export interface StoreReport {
  /** Of the state at the end. */
  readonly digest: string;
  /** The snapshot that recovery began with; null for none. */
  readonly snapshot: string | null;
  readonly recoverySeconds: number;
}

/** Bookings that wait for the disk together. */
const PAIRS_PER_BATCH = 500;

const { folder, fill, closes } = JSON.parse(process.argv[2] ?? "") as StoreRun;
const store = await openEngine({ folder, snapshotBytes: Infinity });
if (fill !== undefined) await fillLog(fill);
const { snapshot, seconds: recoverySeconds } = store.report;
const report = { digest: digest(store.engine.state), snapshot, recoverySeconds };
if (closes) await store.close();
process.stdout.write(`${JSON.stringify(report satisfies StoreReport)}\n`, () => process.exit(0));

/**
 * Puts every seat of the events on sale, then locks and unlocks pairs of seats until the log has
 * `records` more records, all on disk.
 */
async function fillLog({ events, seats, records }: NonNullable<StoreRun["fill"]>): Promise<void> {
  const venue = new EngineVenue(store.engine, await store.callerFor("Bench"), layoutOf(seats));
  const eventIds: string[] = [];
  for (let i = 0; i < events; i++) {
    eventIds.push(venue.openEvent());
    await durable(store);
  }
  const pairs = venue.seatIds.length >> 1;
  for (let turn = 0; turn < records / 2; turn++) {
    const eventId = eventIds[turn % eventIds.length]!;
    const first = (Math.floor(turn / eventIds.length) % pairs) * 2;
    venue.submit(venue.booking("lock", eventId, first));
    venue.submit(venue.booking("unlock", eventId, first));
    if (turn % PAIRS_PER_BATCH === 0) await durable(store);
  }
  await durable(store);
}

function durable({ engine }: Store): Promise<void> {
  return new Promise((resolve) => {
    engine.afterDurable(resolve);
  });
}
