/**
 * The keys and events that the gateway and its engine name by number. The engine gives numbers to
 * keys, with the answer to the first request that has one, so no key and no hash of one ever leaves
 * it. The gateway gives numbers to events.
 */
import type { Credentials } from "../auth/access.ts";
import { LINK_LIMITS } from "./link-layout.ts";

export class KnownNumbers {
  /** Keys that came alone, as most do, and all others with what came beside them. */
  readonly #plain = new Map<string, number>();
  readonly #others = new Map<string, number>();
  readonly #texts = new Map<number, readonly [table: Map<string, number>, text: string]>();
  readonly #events = new Map<string, number>();
  #lastKey = 0;
  /** Changes when all numbers lose their meaning. */
  generation = 0;

  get keyCount(): number {
    return this.#texts.size;
  }

  /** Whether the engine gives out no more numbers. */
  get isFull(): boolean {
    return this.#lastKey === LINK_LIMITS.keys;
  }

  /** @returns 0 for a key that is not known. */
  keyOf(credentials: Credentials): number {
    const { apiKey, authorization, organizationId } = credentials;
    if (authorization === "" && organizationId === "") return this.#plain.get(apiKey) ?? 0;
    return this.#others.get(textOf(credentials)) ?? 0;
  }

  addKey(credentials: Credentials, number: number): void {
    const { apiKey, authorization, organizationId } = credentials;
    const isPlain = authorization === "" && organizationId === "";
    const table = isPlain ? this.#plain : this.#others;
    const text = isPlain ? apiKey : textOf(credentials);
    table.set(text, number);
    this.#texts.set(number, [table, text]);
    this.#lastKey = Math.max(this.#lastKey, number);
  }

  endKey(number: number): void {
    const [table, text] = this.#texts.get(number) ?? [null, ""];
    table?.delete(text);
    this.#texts.delete(number);
  }

  /** @returns 0 for an event that has no number. */
  eventOf(id: string): number {
    return this.#events.get(id) ?? 0;
  }

  /** @returns Its number; 0 when there is none left. */
  addEvent(id: string): number {
    if (this.#events.size === LINK_LIMITS.events) return 0;
    const number = this.#events.size + 1;
    this.#events.set(id, number);
    return number;
  }

  forget(): void {
    this.generation += 1;
    this.#lastKey = 0;
    this.#plain.clear();
    this.#others.clear();
    this.#texts.clear();
    this.#events.clear();
  }
}

function textOf({ apiKey, authorization, organizationId }: Credentials): string {
  return `${apiKey}\n${authorization}\n${organizationId}`;
}
