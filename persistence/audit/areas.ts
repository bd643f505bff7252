/** Transitions of places in areas, and the places that each hold has in them, by hold slot. */
import { assert } from "../../engine/assert.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import type { SqlFile } from "../disk/sqlite.ts";
import { type Counts, type Held, NO_HOLD } from "./blocks/rows.ts";
import type { AuditPlaces, LiveEvent } from "./places.ts";

const { UNPRICED, WITHDRAWN, ACTIVE, LOCKED, SOLD, BLOCKED } = SeatState;

/** An area of an event. */
interface AreaAt {
  readonly event: LiveEvent;
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

type HoldsByKey = Map<string, AreaHold>;

export class AuditAreas {
  readonly #sql: SqlFile;
  readonly #places: AuditPlaces;
  /** By partition, those that are in use. */
  readonly #holds = new Map<number, HoldsByKey>();
  /** By partition, then by key: what the file does not have yet; null for what it must remove. */
  readonly #changes = new Map<number, Map<string, AreaHold | null>>();

  constructor(sql: SqlFile, places: AuditPlaces) {
    this.#sql = sql;
    this.#places = places;
  }

  /** @param move - Its `held` is that of the call; a release replaces it by that of the hold. */
  move(area: AreaAt & { slot: number }, move: AreaMove): void {
    const { event, id, slot } = area;
    const { from, to, places } = move;
    if (to === LOCKED) this.#put(event.partition, { areaId: id, slot, places, ...move.held });
    const held = from === LOCKED ? this.#release(area, places) : move.held;
    this.#write(area, { ...move, held });
  }

  /**
   * Like `Partition`: a priced area has the given capacity, an area without a price only its sold
   * places. There is always a row, because the price may have changed without the places.
   * @param capacity - Ignored without a price.
   */
  price(area: AreaAt, priceId: number, capacity: number): void {
    const write = (move: AreaMove) => this.#write(area, move, priceId);
    if (priceId === 0) this.#endHolds(area, write);
    const [active, locked, sold, blocked] = countsOf(area);
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
  add({ event, id }: AreaAt): void {
    const counts: Counts = [0, 0, 0, 0];
    const row = { from: null, state: UNPRICED, priceId: 0, ...NO_HOLD, places: 0, counts };
    this.#places.write(event, event.area(id), row);
  }

  /** The area was removed from the layout, together with its places in whatever state. */
  remove(area: AreaAt): void {
    const write = (move: AreaMove) => this.#write(area, { ...move, to: null }, 0);
    this.#endHolds(area, write);
    const counts = countsOf(area);
    for (const from of [ACTIVE, SOLD, BLOCKED] as const) {
      const places = counts[from - ACTIVE]!;
      if (places > 0) write({ from, to: WITHDRAWN, places, held: NO_HOLD });
    }
    // The last row of the area, whether it had places or not.
    write({ from: UNPRICED, to: WITHDRAWN, places: 0, held: NO_HOLD });
  }

  /** All places in areas of the event that are held. */
  holds(partition: number): AreaHold[] {
    return [...this.#holdsOf(partition).values()];
  }

  replaceHolds(partition: number, holds: readonly AreaHold[]): void {
    this.removeHolds(partition);
    for (const hold of holds) this.#put(partition, hold);
  }

  removeHolds(partition: number): void {
    for (const hold of this.holds(partition)) this.#remove(partition, hold);
  }

  /** Writes the holds to the file. */
  flush(): void {
    const put = "INSERT OR REPLACE INTO areaHolds VALUES (?, ?, ?, ?, ?, ?, ?)";
    const remove = "DELETE FROM areaHolds WHERE partition = ? AND areaId = ? AND slot = ?";
    for (const [partition, changes] of this.#changes) {
      for (const [key, hold] of changes) {
        if (hold === null) {
          this.#sql.run(remove, partition, ...key.split(" ").map(Number));
        } else {
          const { areaId, slot, session, holdType, places } = hold;
          this.#sql.run(put, partition, areaId, slot, hold.hold, session, holdType, places);
        }
      }
    }
    this.#changes.clear();
    this.#holds.clear();
  }

  #holdsOf(partition: number): HoldsByKey {
    let holds = this.#holds.get(partition);
    if (holds !== undefined) return holds;
    this.#holds.set(partition, (holds = new Map()));
    const rows = this.#sql.list("SELECT * FROM areaHolds WHERE partition = ?", partition);
    for (const row of rows as unknown as AreaHold[]) holds.set(keyOf(row), row);
    return holds;
  }

  #put(partition: number, hold: AreaHold): void {
    this.#holdsOf(partition).set(keyOf(hold), hold);
    this.#change(partition, keyOf(hold), hold);
  }

  #remove(partition: number, hold: AreaHold): void {
    this.#holdsOf(partition).delete(keyOf(hold));
    this.#change(partition, keyOf(hold), null);
  }

  #change(partition: number, key: string, hold: AreaHold | null): void {
    const changes = this.#changes.get(partition);
    if (changes === undefined) this.#changes.set(partition, new Map([[key, hold]]));
    else changes.set(key, hold);
  }

  /** Ends all holds in the area, the oldest first. */
  #endHolds(area: AreaAt, write: (move: AreaMove) => void): void {
    const { partition } = area.event;
    const holds = this.holds(partition).filter(({ areaId }) => areaId === area.id);
    for (const held of holds.sort((a, b) => a.hold - b.hold)) {
      const { slot, places } = held;
      this.#release({ ...area, slot }, places);
      write({ from: LOCKED, to: WITHDRAWN, places, held });
    }
  }

  #write(
    { event, id }: AreaAt,
    move: Omit<AreaMove, "to"> & { readonly to: SeatState | null },
    priceId?: number,
  ): void {
    const { from, to, places, held } = move;
    const slot = event.area(id);
    const counts = [...event.table.counts(slot)] as [number, number, number, number];
    if (from >= ACTIVE) counts[from - ACTIVE]! -= places;
    if (to !== null && to >= ACTIVE) counts[to - ACTIVE]! += places;
    assert(
      counts.every((count) => count >= 0),
      "a counter is never negative",
    );
    const { hold, session, holdType } = held;
    const row = { from, state: to, hold, session, holdType, places, counts };
    this.#places.write(event, slot, {
      ...row,
      priceId: priceId ?? event.table.priceId(slot),
    });
  }

  /** Takes places out of a hold. @returns The hold. */
  #release({ event, id, slot }: AreaAt & { slot: number }, places: number): Held {
    const { partition } = event;
    const held = this.#holdsOf(partition).get(keyOf({ areaId: id, slot }));
    assert(held !== undefined, "a named hold has places in the area");
    assert(held.places >= places, "a hold gives up no more places than it has");
    if (held.places === places) this.#remove(partition, held);
    else this.#put(partition, { ...held, places: held.places - places });
    return held;
  }
}

const keyOf = ({ areaId, slot }: Pick<AreaHold, "areaId" | "slot">) => `${areaId} ${slot}`;

const countsOf = ({ event, id }: AreaAt) => event.table.counts(event.area(id));
