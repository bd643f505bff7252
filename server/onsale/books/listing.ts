/** Reads the state of the event from the server: everything, or what changed since. */

import { type AreaCounters, type ListedSeat, type Page, PAGE_SIZE_MAX } from "../contract.ts";
import type { Client } from "../http/client.ts";

/** Enough to be quick, few enough to leave connections to the buyers. */
const PAGES_AT_ONCE = 16;

/** Everything that the server says of one event. */
export interface Inventory {
  readonly seats: readonly ListedSeat[];
  readonly areas: readonly AreaCounters[];
}

export class Listing {
  readonly #client: Client;
  readonly #eventPath: string;
  /** Every change up to this point on the service clock has been read. */
  #readUpTo = "";

  constructor(client: Client, eventId: string) {
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
   * The seats that changed since the last read (all, when nothing was read yet), some of them more
   * than once.
   *
   * Ordering: newest first, so that a seat that changes during the read moves to the front and
   * pushes others to later pages, never to earlier ones: nothing is passed over.
   */
  async readChanges(): Promise<readonly ListedSeat[]> {
    const since = this.#readUpTo === "" ? "" : `&lastUpdated=${this.#readUpTo}`;
    const seats: ListedSeat[] = [];
    for (let number = 0; ; number++) {
      const page = await this.#readPage(number, `updatedAt,desc${since}`);
      seats.push(...page.content);
      if (number === 0) this.#noteReadUpTo(page);
      if (page.last) return seats;
    }
  }

  /**
   * Every seat of the event, ordered by id. The newest change is asked for first, so that the
   * next `readChanges` begins where this read began.
   */
  async readSeats(): Promise<readonly ListedSeat[]> {
    const newest = await this.#readPage(0, "updatedAt,desc", 1);
    this.#noteReadUpTo(newest);
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

  /** Takes the time of the first record, the newest change when the page was made. */
  #noteReadUpTo(newestFirst: Page<ListedSeat>): void {
    this.#readUpTo = newestFirst.content[0]?.updatedAt ?? this.#readUpTo;
  }

  #readPage(number: number, order: string, size = PAGE_SIZE_MAX): Promise<Page<ListedSeat>> {
    const query = `size=${size}&page=${number}&sort=${order}`;
    return this.#client.read(`${this.#eventPath}/seats/?${query}`);
  }
}
