/** Transitions of places in areas, and whose held places are whose: by slot, as records say it. */
import { assert } from "../../engine/assert.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import type { SqlFile } from "../disk/sqlite.ts";
import {
  type At,
  type AuditPlaces,
  type Counts,
  type Held,
  NO_HOLD,
  type PlaceFacts,
} from "./places.ts";

const { UNPRICED, WITHDRAWN, ACTIVE, LOCKED, SOLD, BLOCKED } = SeatState;

/** An area of an event. */
interface AreaAt {
  readonly partition: number;
  readonly id: number;
}

/** Some places of an area, by whose they are. */
export interface AreaHold extends Held {
  readonly areaId: number;
  readonly slot: number;
  readonly places: number;
}

interface AreaMove {
  readonly from: SeatState;
  readonly to: SeatState;
  readonly places: number;
  /** What the call says, for a move that ends no hold. */
  readonly called: Held;
}

export class AuditAreas {
  readonly #sql: SqlFile;
  readonly #places: AuditPlaces;

  constructor(sql: SqlFile, places: AuditPlaces) {
    this.#sql = sql;
    this.#places = places;
  }

  move(at: At, area: AreaAt & { slot: number }, { from, to, places, called }: AreaMove): void {
    const { partition, id, slot } = area;
    if (to === LOCKED) this.#hold(partition, { areaId: id, slot, places, ...called });
    const held = from === LOCKED ? this.#unhold(area, places) : called;
    this.#write(at, area, { from, to, places, called: held });
  }

  /**
   * As `Partition` does: with a price the area gets a capacity, without one it keeps what is sold.
   * @param capacity - Of no meaning without a price.
   * Whatever it comes to, there is a row, for the price may be another.
   */
  price(at: At, area: AreaAt, priceId: number, capacity: number): void {
    const write = (move: AreaMove) => this.#write(at, area, move, priceId);
    if (priceId === 0) this.#endHolds(area, write);
    const { counts } = this.#places.area(area.partition, area.id);
    const [active, locked, sold, blocked] = counts;
    if (priceId === 0 && blocked > 0) {
      write({ from: BLOCKED, to: WITHDRAWN, places: blocked, called: NO_HOLD });
    }
    const onSale = priceId === 0 ? 0 : capacity - locked - sold - blocked;
    const more = onSale - active;
    const from = more > 0 ? UNPRICED : ACTIVE;
    const to = more < 0 || priceId === 0 ? WITHDRAWN : ACTIVE;
    write({ from, to, places: Math.abs(more), called: NO_HOLD });
  }

  /** The area came into the layout. */
  appear(at: At, { partition, id }: AreaAt): void {
    const counts: Counts = [0, 0, 0, 0];
    const row = { from: null, state: UNPRICED, priceId: 0, ...NO_HOLD, places: 0, counts };
    this.#places.write(partition, id, at, row);
  }

  /** The area left the layout: so do its places, whatever their state. */
  vanish(at: At, area: AreaAt): void {
    const write = (move: AreaMove) => this.#write(at, area, { ...move, to: null }, 0);
    this.#endHolds(area, write);
    const { counts } = this.#places.area(area.partition, area.id);
    for (const from of [ACTIVE, SOLD, BLOCKED] as const) {
      const places = counts[from - ACTIVE]!;
      if (places > 0) write({ from, to: WITHDRAWN, places, called: NO_HOLD });
    }
    // The last one, whether it had places or not.
    write({ from: UNPRICED, to: WITHDRAWN, places: 0, called: NO_HOLD });
  }

  /** Held places of the event, by slot. */
  holds(partition: number): AreaHold[] {
    const rows = this.#sql.rows("SELECT * FROM areaHolds WHERE partition = ?", partition);
    return [...rows] as unknown as AreaHold[];
  }

  /** Puts other slots in the place of those that were. */
  replaceHolds(partition: number, holds: readonly AreaHold[]): void {
    this.forget(partition);
    for (const hold of holds) this.#hold(partition, hold);
  }

  /** Of an event that is gone. */
  forget(partition: number): void {
    this.#sql.run("DELETE FROM areaHolds WHERE partition = ?", partition);
  }

  /** The holds in an area end; the oldest first. */
  #endHolds(area: AreaAt, write: (move: AreaMove) => void): void {
    const holds = this.holds(area.partition).filter(({ areaId }) => areaId === area.id);
    for (const called of holds.sort((a, b) => a.hold - b.hold)) {
      const { slot, places } = called;
      this.#unhold({ ...area, slot }, places);
      write({ from: LOCKED, to: WITHDRAWN, places, called });
    }
  }

  #write(
    at: At,
    { partition, id }: AreaAt,
    move: Omit<AreaMove, "to"> & { readonly to: SeatState | null },
    priceId?: number,
  ): void {
    const { from, to, places, called } = move;
    const last: PlaceFacts = this.#places.area(partition, id);
    const counts = [...last.counts!] as [number, number, number, number];
    if (from >= ACTIVE) counts[from - ACTIVE]! -= places;
    if (to !== null && to >= ACTIVE) counts[to - ACTIVE]! += places;
    assert(
      counts.every((count) => count >= 0),
      "a counter is never negative",
    );
    const { hold, session, holdType } = called;
    const row = { from, state: to, hold, session, holdType, places, counts };
    this.#places.write(partition, id, at, { ...row, priceId: priceId ?? last.priceId });
  }

  #hold(partition: number, { areaId, slot, hold, session, holdType, places }: AreaHold): void {
    const values = [partition, areaId, slot, hold, session, holdType, places] as const;
    this.#sql.run("INSERT INTO areaHolds VALUES (?, ?, ?, ?, ?, ?, ?)", ...values);
  }

  #unhold({ partition, id, slot }: AreaAt & { slot: number }, places: number): Held {
    const where = "WHERE partition = ? AND areaId = ? AND slot = ?";
    const row = this.#sql.row(`SELECT * FROM areaHolds ${where}`, partition, id, slot);
    assert(row !== undefined, "a named hold has places in the area");
    const held = row as unknown as AreaHold;
    assert(held.places >= places, "a hold gives no more places than it has");
    if (held.places === places) {
      this.#sql.run(`DELETE FROM areaHolds ${where}`, partition, id, slot);
    } else {
      const left = held.places - places;
      this.#sql.run(`UPDATE areaHolds SET places = ? ${where}`, left, partition, id, slot);
    }
    return held;
  }
}
