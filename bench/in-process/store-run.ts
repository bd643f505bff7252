/**
 * The program that fills or opens a data folder once. `store-process.ts` starts it. The only
 * argument is a `StoreRun` as JSON; the answer is a `StoreReport` as one line of JSON.
 */
import { digest } from "../../engine/verify/digest.ts";
import { openEngine } from "../../persistence/store/open-engine.ts";
import { book, putOnSale } from "./bookings.ts";

export interface StoreRun {
  readonly folder: string;
  /** Absent to open the folder as it is. */
  readonly fill?: { readonly events: number; readonly seats: number; readonly records: number };
  /** Whether to close the store, which makes a snapshot; otherwise the process just ends. */
  readonly closes: boolean;
  /** Whether the store keeps an audit trail. */
  readonly hasTrail?: boolean;
}

export interface StoreReport {
  /** Of the state at the end. */
  readonly digest: string;
  /** The snapshot that recovery began with; null for none. */
  readonly snapshot: string | null;
  readonly recoverySeconds: number;
  /** How long the bookings took until the last was on disk; 0 without bookings. */
  readonly bookingSeconds: number;
}

const { folder, fill, closes, hasTrail } = JSON.parse(process.argv[2] ?? "") as StoreRun;
const audit = hasTrail === true ? { days: null, onReport: () => {} } : undefined;
const store = await openEngine({ folder, snapshotBytes: Infinity, audit });
let bookingSeconds = 0;
if (fill !== undefined) {
  const onSale = await putOnSale(store, fill.events, fill.seats);
  const startedMs = performance.now();
  await book(onSale, fill.records);
  bookingSeconds = (performance.now() - startedMs) / 1_000;
}
const { snapshot, seconds: recoverySeconds } = store.report;
const report = { digest: digest(store.engine.state), snapshot, recoverySeconds, bookingSeconds };
if (closes) await store.close();
process.stdout.write(`${JSON.stringify(report satisfies StoreReport)}\n`, () => process.exit(0));
