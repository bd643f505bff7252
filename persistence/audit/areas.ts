/** Transitions of places in areas, and the places that each hold has in them, by hold slot. */
import { assert } from "../../engine/assert.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import type { SqlFile } from "../disk/sqlite.ts";
import { type At, type AuditPlaces, type Counts, type Held, NO_HOLD } from "./places.ts";

const { UNPRICED, WITHDRAWN, ACTIVE, LOCKED, SOLD, BLOCKED } = SeatState;

/** An area of an event. */
interface AreaAt {
  readonly partition: number;
  readonly id: number;
}

/** The places that a hold has in an area. */
export interface AreaHold extends Held {
  readonly areaId: number;
  readonly slot: number;
  readonly places: number;
}

interface AreaMove {
  readonly from: SeatState;
  readonly to: SeatState;
  readonly places: number;
  /** Of the hold that the places leave or join; otherwise as in the call. */
  readonly held: Held;
}

export class AuditAreas {
  readonly #sql: SqlFile;
  readonly #places: AuditPlaces;

  constructor(sql: SqlFile, places: AuditPlaces) {
    this.#sql = sql;
    this.#places = places;
  }

  /** @param move - Its `held` is that of the call; a release replaces it by that of the hold. */
  move(at: At, area: AreaAt & { slot: number }, move: AreaMove): void {
    const { partition, id, slot } = area;
    const { from, to, places } = move;
    if (to === LOCKED) this.#addHold(partition, { areaId: id, slot, places, ...move.held });
    const held = from === LOCKED ? this.#release(area, places) : move.held;
    this.#write(at, area, { ...move, held });
  }

  /**
   * Like `Partition`: a priced area has the given capacity, an area without a price only its sold
   * places. There is always a row, because the price may have changed without the places.
   * @param capacity - Ignored without a price.
   */
  price(at: At, area: AreaAt, priceId: number, capacity: number): void {
    const write = (move: AreaMove) => this.#write(at, area, move, priceId);
    if (priceId === 0) this.#endHolds(area, write);
    const { counts } = this.#places.area(area.partition, area.id);
    const [active, locked, sold, blocked] = counts;
    if (priceId === 0 && blocked > 0) {
      write({ from: BLOCKED, to: WITHDRAWN, places: blocked, held: NO_HOLD });
    }
    const onSale = priceId === 0 ? 0 : capacity - locked - sold - blocked;
    const more = onSale - active;
    const from = more > 0 ? UNPRICED : ACTIVE;
    const to = more < 0 || priceId === 0 ? WITHDRAWN : ACTIVE;
    write({ from, to, places: Math.abs(more), held: NO_HOLD });
  }

  /** The area was added to the layout. */
  add(at: At, { partition, id }: AreaAt): void {
    const counts: Counts = [0, 0, 0, 0];
    const row = { from: null, state: UNPRICED, priceId: 0, ...NO_HOLD, places: 0, counts };
    this.#places.write(partition, id, at, row);
  }

  /** The area was removed from the layout, together with its places in whatever state. */
  remove(at: At, area: AreaAt): void {
    const write = (move: AreaMove) => this.#write(at, area, { ...move, to: null }, 0);
    this.#endHolds(area, write);
    const { counts } = this.#places.area(area.partition, area.id);
    for (const from of [ACTIVE, SOLD, BLOCKED] as const) {
      const places = counts[from - ACTIVE]!;
      if (places > 0) write({ from, to: WITHDRAWN, places, held: NO_HOLD });
    }
    // The last row of the area, whether it had places or not.
    write({ from: UNPRICED, to: WITHDRAWN, places: 0, held: NO_HOLD });
  }

  /** All places in areas of the event that are held. */
  holds(partition: number): AreaHold[] {
    const rows = this.#sql.list("SELECT * FROM areaHolds WHERE partition = ?", partition);
    return rows as unknown as AreaHold[];
  }

  replaceHolds(partition: number, holds: readonly AreaHold[]): void {
    this.removeHolds(partition);
    for (const hold of holds) this.#addHold(partition, hold);
  }

  removeHolds(partition: number): void {
    this.#sql.run("DELETE FROM areaHolds WHERE partition = ?", partition);
  }

  /** Ends all holds in the area, the oldest first. */
  #endHolds(area: AreaAt, write: (move: AreaMove) => void): void {
    const holds = this.holds(area.partition).filter(({ areaId }) => areaId === area.id);
    for (const held of holds.sort((a, b) => a.hold - b.hold)) {
      const { slot, places } = held;
      this.#release({ ...area, slot }, places);
      write({ from: LOCKED, to: WITHDRAWN, places, held });
    }
  }

  #write(
    at: At,
    { partition, id }: AreaAt,
    move: Omit<AreaMove, "to"> & { readonly to: SeatState | null },
    priceId?: number,
  ): void {
    const { from, to, places, held } = move;
    const last = this.#places.area(partition, id);
    const counts = [...last.counts] as [number, number, number, number];
    if (from >= ACTIVE) counts[from - ACTIVE]! -= places;
    if (to !== null && to >= ACTIVE) counts[to - ACTIVE]! += places;
    assert(
      counts.every((count) => count >= 0),
      "a counter is never negative",
    );
    const { hold, session, holdType } = held;
    const row = { from, state: to, hold, session, holdType, places, counts };
    this.#places.write(partition, id, at, { ...row, priceId: priceId ?? last.priceId });
  }

  #addHold(partition: number, { areaId, slot, hold, session, holdType, places }: AreaHold): void {
    const values = [partition, areaId, slot, hold, session, holdType, places] as const;
    this.#sql.run("INSERT INTO areaHolds VALUES (?, ?, ?, ?, ?, ?, ?)", ...values);
  }

  /** Takes places out of a hold. @returns The hold. */
  #release({ partition, id, slot }: AreaAt & { slot: number }, places: number): Held {
    const where = "WHERE partition = ? AND areaId = ? AND slot = ?";
    const row = this.#sql.row(`SELECT * FROM areaHolds ${where}`, partition, id, slot);
    assert(row !== undefined, "a named hold has places in the area");
    const held = row as unknown as AreaHold;
    assert(held.places >= places, "a hold gives up no more places than it has");
    if (held.places === places) {
      this.#sql.run(`DELETE FROM areaHolds ${where}`, partition, id, slot);
    } else {
      const left = held.places - places;
      this.#sql.run(`UPDATE areaHolds SET places = ? ${where}`, left, partition, id, slot);
    }
    return held;
  }
}
