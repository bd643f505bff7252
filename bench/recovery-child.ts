/**
 * One life of a store in a process of its own, for `recovery.ts`: `fill` makes it, `open` recovers
 * it. What is asked comes as JSON in the only argument; the answer is a line of JSON.
 */
import { digest } from "../engine/verify/digest.ts";
import { openEngine, type Store } from "../persistence/store/open-engine.ts";
import { book, putOnSale } from "./full-store.ts";

export interface Life {
  readonly folder: string;
  /** Absent to open what is there. */
  readonly fill?: { readonly events: number; readonly seats: number; readonly records: number };
  /** Whether the process closes the store, with a snapshot, or just ends. */
  readonly closes: boolean;
}

export interface LifeReport {
  /** Of the state at the end. */
  readonly digest: string;
  readonly records: number;
  readonly snapshot: string | null;
  /** What recovery took. */
  readonly seconds: number;
  /** What the bookings of a life that fills took, until the last was on disk; 0 without. */
  readonly bookingSeconds: number;
}

const life = JSON.parse(process.argv[2] ?? "") as Life;
const store = await openEngine({ folder: life.folder, snapshotBytes: Infinity });
const bookingSeconds = life.fill === undefined ? 0 : await fill(store, life.fill);
const { records, snapshot, seconds } = store.report;
const report = { digest: digest(store.engine.state), records, snapshot, seconds, bookingSeconds };
if (life.closes) await store.close();
process.stdout.write(`${JSON.stringify(report satisfies LifeReport)}\n`, () => process.exit(0));

async function fill(empty: Store, house: NonNullable<Life["fill"]>): Promise<number> {
  const onSale = await putOnSale(empty, house.events, house.seats);
  const startedMs = performance.now();
  await book(empty, onSale, house.records);
  return (performance.now() - startedMs) / 1_000;
}
