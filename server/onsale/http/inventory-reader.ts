/** Reads the state of the event from the server: everything, or the recent changes. */
import { type AreaCounters, type ListedSeat, type Page, PAGE_SIZE_MAX } from "../contract.ts";
import type { ApiClient } from "./api-client.ts";

/** Enough for a fast read, few enough to leave connections to the buyers. */
const PAGES_AT_ONCE = 16;

/** The complete state of one event. */
export interface Inventory {
  readonly seats: readonly ListedSeat[];
  readonly areas: readonly AreaCounters[];
}

export class InventoryReader {
  readonly #client: ApiClient;
  readonly #eventPath: string;
  /** `updatedAt` of the newest change that has been read. */
  #newestUpdate = "";

  constructor(client: ApiClient, eventId: string) {
    this.#client = client;
    this.#eventPath = `/events/${eventId}`;
  }

  readAreas(): Promise<readonly AreaCounters[]> {
    return this.#client.read(`${this.#eventPath}/areas/`);
  }

  async readAll(): Promise<Inventory> {
    return { seats: await this.readSeats(), areas: await this.readAreas() };
  }

  /**
   * Reads the seats that changed since the last read, or all seats the first time. A seat may
   * appear more than once.
   *
   * Ordering: newest first. A seat that changes during the read moves to the front and pushes other
   * seats to later pages, never to earlier ones, so the read misses nothing.
   */
  async readChanges(): Promise<readonly ListedSeat[]> {
    const since = this.#newestUpdate === "" ? "" : `&lastUpdated=${this.#newestUpdate}`;
    const seats: ListedSeat[] = [];
    for (let number = 0; ; number++) {
      const page = await this.#readPage(number, `updatedAt,desc${since}`);
      seats.push(...page.content);
      if (number === 0) this.#noteNewest(page);
      if (page.last) return seats;
    }
  }

  /**
   * Reads every seat of the event, ordered by id. The newest change is read first, so the next
   * `readChanges` begins where this read began.
   */
  async readSeats(): Promise<readonly ListedSeat[]> {
    this.#noteNewest(await this.#readPage(0, "updatedAt,desc", 1));
    const first = await this.#readPage(0, "seatId");
    const seats = [...first.content];
    for (let start = 1; start < first.totalPages; start += PAGES_AT_ONCE) {
      const count = Math.min(PAGES_AT_ONCE, first.totalPages - start);
      const numbers = Array.from({ length: count }, (_, offset) => start + offset);
      const pages = await Promise.all(numbers.map((number) => this.#readPage(number, "seatId")));
      for (const page of pages) seats.push(...page.content);
    }
    return seats;
  }

  #noteNewest(newestFirst: Page<ListedSeat>): void {
    this.#newestUpdate = newestFirst.content[0]?.updatedAt ?? this.#newestUpdate;
  }

  #readPage(number: number, order: string, size = PAGE_SIZE_MAX): Promise<Page<ListedSeat>> {
    const query = `size=${size}&page=${number}&sort=${order}`;
    return this.#client.read(`${this.#eventPath}/seats/?${query}`);
  }
}
