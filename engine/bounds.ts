/** Fairness and bounds: a fair queue, a quota, and a cache. Every operation has constant cost. */

/** The work of one key: the piece under way, then the others, the oldest first. */
interface Line<Item> {
  current: Item | null;
  readonly waiting: Set<Item>;
}

/**
 * Round robin between keys, first come first served within a key: a key with a thousand items
 * delays another key by one turn. As deficit round robin with equal quanta (Shreedhar and Varghese,
 * 1995).
 */
export class FairQueue<Key, Item> {
  /** The key whose turn is next comes first; none is empty. */
  readonly #lines = new Map<Key, Line<Item>>();

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  /** Cost: O(keys). */
  get size(): number {
    let size = 0;
    for (const key of this.#lines.keys()) size += this.sizeOf(key);
    return size;
  }

  sizeOf(key: Key): number {
    const line = this.#lines.get(key);
    return line === undefined ? 0 : line.waiting.size + (line.current === null ? 0 : 1);
  }

  /** The item that `shift` removes. */
  get first(): Item | undefined {
    const [line] = this.#lines.values();
    return line?.current ?? line?.waiting.values().next().value;
  }

  /** The key with most items; undefined without any. Cost: O(keys). */
  get longest(): Key | undefined {
    let longest: Key | undefined;
    let size = 0;
    for (const key of this.#lines.keys()) {
      if (this.sizeOf(key) <= size) continue;
      longest = key;
      size = this.sizeOf(key);
    }
    return longest;
  }

  /** An item that waits already keeps its place. */
  push(key: Key, item: Item): void {
    const line = this.#lines.get(key);
    if (line === undefined) this.#lines.set(key, { current: null, waiting: new Set([item]) });
    else line.waiting.add(item);
  }

  /** Removes the oldest item of the key, by default of the key whose turn it is. */
  shift(key?: Key): Item | undefined {
    let shifted: Item | undefined;
    const take = (item: Item) => {
      shifted = item;
      return false;
    };
    if (key === undefined) this.turn(take);
    else this.#run(key, take);
    return shifted;
  }

  /**
   * Gives the next key its turn.
   *
   * @param run - Gets the oldest item of the key. It returns whether more of the item is left, which
   *   then comes before the other items of the key.
   */
  turn(run: (item: Item) => boolean): void {
    const [first] = this.#lines;
    if (first === undefined) return;
    const [key, line] = first;
    this.#lines.delete(key);
    this.#lines.set(key, line);
    this.#run(key, run);
  }

  #run(key: Key, run: (item: Item) => boolean): void {
    const line = this.#lines.get(key);
    if (line === undefined) return;
    const item = (line.current ??= line.waiting.values().next().value!);
    line.waiting.delete(item);
    // An item that is pushed while it runs waits again.
    if (run(item)) return;
    line.current = null;
    if (line.waiting.size === 0) this.#lines.delete(key);
  }

  /** Removes the newest item of the key that waits. Cost: O(items of the key). */
  pop(key: Key): Item | undefined {
    const item = [...(this.#lines.get(key)?.waiting ?? [])].at(-1);
    if (item !== undefined) this.delete(key, item);
    return item;
  }

  delete(key: Key, item: Item): void {
    const line = this.#lines.get(key);
    if (line === undefined) return;
    line.waiting.delete(item);
    if (line.current === item) line.current = null;
    if (line.current === null && line.waiting.size === 0) this.#lines.delete(key);
  }
}

/** Amounts of something that keys share: each has its maximum, and all together have one. */
export class TenantQuota<Key> {
  /** The amount that all keys have taken. */
  used = 0;
  /** Refusals since the start. */
  refused = 0;
  readonly #perKey: number;
  readonly #total: number;
  /** Keys with nothing taken are absent. */
  readonly #taken = new Map<Key, number>();

  constructor(perKey: number, total = Infinity) {
    this.#perKey = perKey;
    this.#total = total;
  }

  /** @returns False, and counts a refusal, when a maximum would be exceeded. */
  take(key: Key, amount = 1): boolean {
    const taken = (this.#taken.get(key) ?? 0) + amount;
    if (taken > this.#perKey || this.used + amount > this.#total) {
      this.refused += 1;
      return false;
    }
    this.add(key, amount);
    return true;
  }

  /** Takes an amount beyond any maximum. */
  add(key: Key, amount = 1): void {
    this.#taken.set(key, (this.#taken.get(key) ?? 0) + amount);
    this.used += amount;
  }

  giveBack(key: Key, amount = 1): void {
    const left = (this.#taken.get(key) ?? 0) - amount;
    if (left === 0) this.#taken.delete(key);
    else this.#taken.set(key, left);
    this.used -= amount;
  }
}

/**
 * Keeps a value as the last one used, and drops the one of longest ago when there are more than `max`.
 * @returns The value.
 */
export function keepRecent<Key, Value>(
  kept: Map<Key, Value>,
  key: Key,
  value: Value,
  max: number,
): Value {
  kept.delete(key);
  kept.set(key, value);
  if (kept.size > max) kept.delete(kept.keys().next().value!);
  return value;
}
