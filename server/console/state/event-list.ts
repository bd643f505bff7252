/**
 * The events of an organization, with how full each is. The figures come by polling: one request
 * at a time, each about a millisecond of the server for 100,000 seats; the next round begins five
 * seconds after the last has ended, and only while the page is visible.
 */
import { signal } from "@preact/signals";
import { listEvents, readSummary, type StateCounts } from "../api/catalog.ts";
import type { EventFacts } from "../api/events.ts";
import type { Api } from "../api/http.ts";

const PAGE_SIZE = 20;
const ROUND_MS = 5_000;
const DAY_MS = 24 * 3_600_000;

export class EventList {
  /** Null before the first answer. */
  readonly events = signal<readonly EventFacts[] | null>(null);
  readonly total = signal(0);
  /** By event id. */
  readonly counts = signal<ReadonlyMap<string, StateCounts>>(new Map());
  readonly error = signal("");
  readonly page = signal(0);
  readonly search = signal("");
  /** Whether events that are over are listed, too. */
  readonly hasPast = signal(false);
  readonly #api: Api;
  #round = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(api: Api) {
    this.#api = api;
  }

  get pageCount(): number {
    return Math.max(1, Math.ceil(this.total.value / PAGE_SIZE));
  }

  /** Reads at once, and then in rounds. Earlier rounds end. */
  start(): void {
    this.stop();
    void this.#run(this.#round);
  }

  stop(): void {
    this.#round += 1;
    clearTimeout(this.#timer);
  }

  async #run(round: number): Promise<void> {
    if (!document.hidden) await this.#read(round);
    if (round === this.#round) this.#timer = setTimeout(() => void this.#run(round), ROUND_MS);
  }

  async #read(round: number): Promise<void> {
    try {
      const { content, totalElements } = await listEvents(this.#api, this.#query());
      if (round !== this.#round) return;
      this.events.value = content;
      this.total.value = totalElements;
      for (const { id } of content) {
        // oxlint-disable-next-line no-await-in-loop -- the server does one after the other
        const { total } = await readSummary(this.#api, id);
        if (round !== this.#round) return;
        this.counts.value = new Map(this.counts.value).set(id, total);
      }
      this.error.value = "";
    } catch (error) {
      if (round === this.#round) this.error.value = (error as Error).message;
    }
  }

  #query() {
    const isPast = this.hasPast.value;
    // An event of yesterday evening may still be on.
    const since = new Date(Date.now() - DAY_MS).toISOString().slice(0, 19);
    return {
      name: this.search.value === "" ? undefined : this.search.value,
      startDate: isPast ? undefined : since,
      sort: isPast ? "start,desc" : "start,asc",
      page: this.page.value,
      size: PAGE_SIZE,
    };
  }
}
