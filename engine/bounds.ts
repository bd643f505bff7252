/**
 * Fairness and bounds, once each: a fair queue, a quota, a token bucket and a cache. None of them
 * reads a clock or waits. Every operation has constant cost.
 */

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
    this.#taken.set(key, taken);
    this.used += amount;
    return true;
  }

  giveBack(key: Key, amount = 1): void {
    const left = (this.#taken.get(key) ?? 0) - amount;
    if (left === 0) this.#taken.delete(key);
    else this.#taken.set(key, left);
    this.used -= amount;
  }
}

const MS_PER_SECOND = 1_000;

/** A rate limit with a burst of one second's refill. */
export class TokenBucket {
  #tokens = Infinity;
  #filledAtMs = 0;

  /**
   * Takes a token.
   *
   * @param perSecond - The refill. It may change between two calls.
   * @returns Seconds until there is a token; 0 when one was taken.
   */
  take(perSecond: number, nowMs: number): number {
    const filled = this.#tokens + ((nowMs - this.#filledAtMs) * perSecond) / MS_PER_SECOND;
    const available = Math.min(perSecond, filled);
    this.#filledAtMs = nowMs;
    this.#tokens = available >= 1 ? available - 1 : available;
    return available >= 1 ? 0 : (1 - available) / perSecond;
  }
}

/**
 * A cache with a maximum weight: the least recently used entries are dropped first, and the newest
 * one stays however heavy it is.
 */
export class LruCache<Key, Value> {
  weight = 0;
  readonly #weightMax: number;
  readonly #weightOf: (value: Value) => number;
  /** A map keeps the order of insertion, so the least recently used comes first. */
  readonly #entries = new Map<Key, Value>();

  /** @param weightOf - Must not change while the value is kept. By default entries are counted. */
  constructor(weightMax: number, weightOf: (value: Value) => number = () => 1) {
    this.#weightMax = weightMax;
    this.#weightOf = weightOf;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The least recently used first. */
  values(): Iterable<Value> {
    return this.#entries.values();
  }

  /** Reads without counting as a use: when only `set` is a use, the oldest entry is dropped. */
  peek(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.delete(key);
    this.#entries.set(key, value);
    this.weight += this.#weightOf(value);
    for (const oldest of this.#entries.keys()) {
      if (this.weight <= this.#weightMax || oldest === key) return;
      this.delete(oldest);
    }
  }

  delete(key: Key): void {
    const value = this.#entries.get(key);
    if (value === undefined) return;
    this.#entries.delete(key);
    this.weight -= this.#weightOf(value);
  }

  clear(): void {
    this.#entries.clear();
    this.weight = 0;
  }
}
