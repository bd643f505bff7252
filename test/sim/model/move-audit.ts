/** Checks every move with its own table of allowed transitions. */
import { NONE } from "../../../engine/constants.ts";
import { Move } from "../../../engine/inventory/states.ts";
import { type CartRecord, type MoveRecord, RecordType } from "../../../engine/records.ts";
import type { State } from "../../../engine/state.ts";
import type { Tally } from "./invariants.ts";

const [ACTIVE, LOCKED, SOLD, BLOCKED] = [2, 3, 4, 5] as const;
/** By move: the state before it. */
const LEAVES: Readonly<Record<Move, readonly (number | undefined)[]>> = {
  [Move.LOCK]: [ACTIVE],
  [Move.UNLOCK]: [LOCKED],
  [Move.SALE]: [LOCKED],
  [Move.REVERT_SALE]: [SOLD],
  [Move.DIRECT_SALE]: [ACTIVE],
  [Move.BLOCK]: [ACTIVE],
  [Move.UNBLOCK]: [BLOCKED],
  [Move.EXPIRE]: [LOCKED],
  [Move.LOCK_WITH_BLOCKED]: [ACTIVE, BLOCKED],
  [Move.DIRECT_SALE_WITH_BLOCKED]: [ACTIVE, BLOCKED],
  [Move.UNLOCK_TO_BLOCKED]: [LOCKED, ACTIVE],
  [Move.REVERT_SALE_TO_BLOCKED]: [SOLD],
};
/** By move: the state after it. */
const ENTERS: Readonly<Record<Move, number>> = {
  [Move.LOCK]: LOCKED,
  [Move.UNLOCK]: ACTIVE,
  [Move.SALE]: SOLD,
  [Move.REVERT_SALE]: ACTIVE,
  [Move.DIRECT_SALE]: SOLD,
  [Move.BLOCK]: BLOCKED,
  [Move.UNBLOCK]: ACTIVE,
  [Move.EXPIRE]: ACTIVE,
  [Move.LOCK_WITH_BLOCKED]: LOCKED,
  [Move.DIRECT_SALE_WITH_BLOCKED]: SOLD,
  [Move.UNLOCK_TO_BLOCKED]: BLOCKED,
  [Move.REVERT_SALE_TO_BLOCKED]: BLOCKED,
};
const SELLS = new Set<Move>([Move.SALE, Move.DIRECT_SALE, Move.DIRECT_SALE_WITH_BLOCKED]);
const REVERTS = new Set<Move>([Move.REVERT_SALE, Move.REVERT_SALE_TO_BLOCKED]);
const PARTITION = 2 ** 26;

export class MoveAudit {
  readonly #tally: Tally;
  /** Partitions and ids of sold seats. */
  #sold = new Set<number>();
  /** By partition and id: states that earlier moves of the cart have left. */
  readonly #during = new Map<number, number>();
  /** A layout may have changed: removed seats no longer count as sold. */
  isStale = false;

  constructor(tally: Tally) {
    this.#tally = tally;
  }

  /** Continues from a state built from records only. */
  restart(state: State): void {
    this.#sold = new Set();
    this.isStale = false;
    for (const [number, { layout, state: states }] of state.partitions) {
      states.forEach((current, seat) => {
        if (current === SOLD) this.#sold.add(number * PARTITION + layout.seatIds[seat]!);
      });
    }
  }

  /** Each move on what those before it leave. @param state - Before the record is applied. */
  cart(state: State, { parts }: CartRecord, timeMs: number): void {
    this.#during.clear();
    for (const part of parts) if (part.type === RecordType.MOVE) this.#move(state, part, timeMs);
    this.#during.clear();
  }

  /** @param state - Before the record is applied. */
  move(state: State, record: MoveRecord, timeMs: number): void {
    this.#move(state, record, timeMs);
    this.#during.clear();
  }

  #move(state: State, record: MoveRecord, timeMs: number): void {
    if (this.isStale) this.#forgetGone(state);
    const tally = this.#tally;
    const { move, partition: number } = record;
    const partition = state.partitions.get(number)!;
    for (const seat of record.seats) {
      const id = partition.layout.seatIds[seat]!;
      const key = number * PARTITION + id;
      const earlier = this.#during.get(key);
      const current = earlier ?? partition.state[seat];
      this.#during.set(key, ENTERS[move]);
      tally.holds(
        "I9",
        LEAVES[move].includes(current),
        () => `move ${move} of ${id} in ${current}`,
      );
      const isSold = this.#sold.has(key);
      if (SELLS.has(move)) {
        tally.holds("I1", !isSold, () => `seat ${id}`);
        this.#sold.add(key);
      } else if (REVERTS.has(move)) {
        tally.holds("I1", this.#sold.delete(key), () => `seat ${id} was not sold`);
      } else tally.holds("I1", !isSold, () => `move ${move} of seat ${id}, which is sold`);
      tally.holds("I10", partition.price[seat] !== 0, () => `seat ${id}`);
      if (current === LOCKED && earlier === undefined) {
        this.#release(state, record, { seat, timeMs });
      }
    }
  }

  #release(state: State, record: MoveRecord, at: { seat: number; timeMs: number }): void {
    const partition = state.partitions.get(record.partition)!;
    const slot = partition.holdOf(at.seat);
    this.#tally.holds("I11", slot !== NONE, () => "a LOCKED seat without a hold");
    const { session, expiresAtMs } = partition.holds.get(slot);
    const isOver = expiresAtMs !== 0 && expiresAtMs <= at.timeMs;
    if (record.move === Move.EXPIRE) {
      this.#tally.holds("I11", isOver, () => `a hold ended before ${expiresAtMs}`);
      return;
    }
    this.#tally.holds("I11", !isOver, () => `a hold was used after ${expiresAtMs}`);
    const isOwn = record.session === "" || record.session === session;
    this.#tally.holds("I11", isOwn, () => `"${record.session}" used the hold of "${session}"`);
  }

  #forgetGone({ partitions }: State): void {
    this.isStale = false;
    for (const key of this.#sold) {
      const layout = partitions.get(Math.floor(key / PARTITION))?.layout;
      if (layout?.seatIndexes.has(key % PARTITION) !== true) this.#sold.delete(key);
    }
  }
}
