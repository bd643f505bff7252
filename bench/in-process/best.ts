/** The best places in a stadium: the time of single calls, at several shares of sold seats. */
import { stadiumLayout } from "../console/stage.ts";
import { quantileOf } from "../harness/measure.ts";
import { EngineVenue, shuffled } from "./engine-venue.ts";

const SHARES = [0, 0.5, 0.95, 0.995];
const QUANTITIES = [1, 2, 4, 8];
/** The first calls of a case compile it, and make its index. */
const FIRST_CALLS = 1_500;

export interface BestCase {
  readonly name: string;
  /** Microseconds; null where every call had the other outcome. */
  readonly granted: Percentiles | null;
  readonly refused: Percentiles | null;
}

interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

/**
 * Each call is followed by the end of its hold, and by a lock and an unlock of any free seat, so
 * the index is never up to date.
 *
 * @param rowCount - Of each block: 28 in the whole stadium. @param calls - Of each case.
 */
export function measureBest(rowCount: number, calls: number): BestCase[] {
  const venue = EngineVenue.inMemory(stadiumLayout(rowCount));
  return SHARES.flatMap((share) => {
    const eventId = venue.openEvent(["Near", "Middle", "Far"]);
    const order = shuffled(venue.seatIds.length);
    const sold = Math.floor(order.length * share);
    venue.sell(eventId, order.slice(0, sold));
    const [price] = venue.engine.state.catalog.pricesOf(eventId).values();
    return QUANTITIES.flatMap((quantity) =>
      [false, true].map((isPriced) => {
        const priceIds = isPriced ? [price!.id] : [];
        const name = `${quantity} of ${100 - share * 100} % free${isPriced ? ", at a price" : ""}`;
        return {
          name,
          ...timesOf(venue, { eventId, quantity, priceIds, free: order.slice(sold), calls }),
        };
      }),
    );
  });
}

interface Case {
  readonly eventId: string;
  readonly quantity: number;
  readonly priceIds: readonly number[];
  readonly free: readonly number[];
  readonly calls: number;
}

function timesOf(venue: EngineVenue, { eventId, quantity, priceIds, free, calls }: Case) {
  const granted: number[] = [];
  const refused: number[] = [];
  const best = venue.best(eventId, quantity, priceIds);
  for (let call = 0; call < FIRST_CALLS + calls; call++) {
    const start = process.hrtime.bigint();
    const outcome = venue.engine.submit(best);
    const micros = Number(process.hrtime.bigint() - start) / 1_000;
    const isGranted = outcome.refused === 0;
    if (call >= FIRST_CALLS) (isGranted ? granted : refused).push(micros);
    if (isGranted) venue.submit({ ...best, kind: "unlock", body: { seats: outcome.value.seats } });
    const other = free[call % free.length]!;
    venue.submit(venue.booking("lock", eventId, other, 1));
    venue.submit(venue.booking("unlock", eventId, other, 1));
  }
  return { granted: percentilesOf(granted), refused: percentilesOf(refused) };
}

function percentilesOf(times: readonly number[]): Percentiles | null {
  const [p50, p99] = [0.5, 0.99].map((share) => quantileOf(times, share));
  return p50 === undefined ? null : { p50, p99: p99! };
}
