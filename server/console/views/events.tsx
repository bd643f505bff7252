/**
 * The page of all events: search, how full each is, the next opening. The figures are polled, one
 * request at a time, each about a millisecond of the server for 100,000 seats. Five seconds after
 * a round the next one begins, while the page is visible. A stream for each event would need a
 * connection for each row, and a browser opens only six to a server.
 */
import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { type EventFacts, listEvents, readSummary } from "../api/calls.ts";
import type { Api } from "../api/http.ts";
import { placesOf, type StateCounts } from "../map/seats.ts";
import { hashOf } from "../state/page.ts";
import { TEXTS, whole } from "../texts.ts";
import { Icon, TopBar } from "./parts.tsx";

const T = TEXTS.events;
const PAGE_SIZE = 20;
const ROUND_MS = 5_000;
const DAY_MS = 24 * 3_600_000;

const DATE = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
});
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const MINUTE_MS = 60_000;
const UNITS = [
  ["day", 24 * 60 * MINUTE_MS],
  ["hour", 60 * MINUTE_MS],
] as const;

class EventList {
  /** Null before the first answer. */
  readonly events = signal<readonly EventFacts[] | null>(null);
  readonly total = signal(0);
  /** By event id. */
  readonly counts = signal<ReadonlyMap<string, StateCounts>>(new Map());
  readonly error = signal("");
  readonly page = signal(0);
  readonly search = signal("");
  /** True to list past events, too. */
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

export function EventsView({ api }: { readonly api: Api }) {
  const list = useMemo(() => new EventList(api), [api]);
  useEffect(() => {
    list.start();
    return () => list.stop();
  }, [list]);
  const events = list.events.value;
  const none = list.search.value === "" ? T.none : T.noneFound;
  return (
    <div class="sheet">
      <TopBar>
        <h1>{TEXTS.bar.events}</h1>
      </TopBar>
      <main class="page">
        <NextOpening list={list} />
        <SearchLine list={list} />
        <p role="alert">{list.error}</p>
        {events === null && <p class="note">{T.loading}</p>}
        {events?.length === 0 && <p class="empty">{none}</p>}
        <ul class="events">
          {events?.map((event) => (
            <EventRow key={event.id} event={event} counts={list.counts.value.get(event.id)} />
          ))}
        </ul>
        <Pages list={list} />
      </main>
    </div>
  );
}

function NextOpening({ list }: { readonly list: EventList }) {
  const now = Date.now();
  const upcoming = (list.events.value ?? []).filter(
    ({ start, status }) => status === "PUBLISHED" && new Date(start).getTime() > now,
  );
  const next = upcoming.sort((a, b) => (a.start < b.start ? -1 : 1))[0];
  if (next === undefined) return null;
  return (
    <p class="next-opening">
      <span>{T.nextLabel}</span>
      <a href={hashOf({ kind: "event", id: next.id })}>
        {T.next(next.name, distanceTo(next.start, now))}
      </a>
    </p>
  );
}

function SearchLine({ list }: { readonly list: EventList }) {
  const change = (set: () => void) => {
    set();
    list.page.value = 0;
    list.start();
  };
  return (
    <div class="search-line">
      <label class="search">
        <Icon name="search" />
        <input
          type="search"
          aria-label={T.search}
          placeholder={T.search}
          onInput={({ currentTarget: { value } }) =>
            change(() => (list.search.value = value.trim()))
          }
        />
      </label>
      <label class="check">
        <input
          type="checkbox"
          onChange={({ currentTarget: { checked } }) =>
            change(() => (list.hasPast.value = checked))
          }
        />
        {T.past}
      </label>
      <span class="note">{T.count(list.total.value)}</span>
      <a class="primary" href={hashOf({ kind: "setup" })}>
        {TEXTS.bar.newEvent}
      </a>
    </div>
  );
}

function Pages({ list }: { readonly list: EventList }) {
  const { page, pageCount } = list;
  if (pageCount === 1) return null;
  const turn = (to: number) => {
    page.value = to;
    list.start();
  };
  return (
    <nav class="pages">
      <button type="button" disabled={page.value === 0} onClick={() => turn(page.value - 1)}>
        {T.previous}
      </button>
      <span>{T.page(page.value + 1, pageCount)}</span>
      <button
        type="button"
        disabled={page.value + 1 >= pageCount}
        onClick={() => turn(page.value + 1)}
      >
        {T.nextPage}
      </button>
    </nav>
  );
}

interface EventRowProps {
  readonly event: EventFacts;
  readonly counts: StateCounts | undefined;
}

function EventRow({ event, counts }: EventRowProps) {
  const { id, name, start, status, venueName } = event;
  return (
    <li>
      <a class="event-row" href={hashOf({ kind: "event", id })}>
        <span class="event-name">
          <strong>{name}</strong>
          <span class="note">{[venueName, dateOf(start)].filter(Boolean).join(" · ")}</span>
        </span>
        <span class={`status status-${status.toLowerCase()}`}>{T.status[status] ?? status}</span>
        {counts === undefined ? <span class="fullness" /> : <Fullness counts={counts} />}
        <Icon name="next" />
      </a>
    </li>
  );
}

function Fullness({ counts }: { readonly counts: StateCounts }) {
  const { active, locked, sold } = counts;
  const all = placesOf(counts);
  if (all === 0) return <span class="fullness note">{T.notOnSale}</span>;
  const soldPercent = (100 * sold) / all;
  return (
    <span class="fullness">
      <span class="fullness-line">
        <strong>{T.soldShare(soldPercent.toFixed(1))}</strong>
        <span class="note">
          {T.held(whole(locked))} · {T.free(whole(active))}
        </span>
      </span>
      <svg class="fullness-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect class="state-2" width="100" height="6" />
        <rect class="state-4" width={soldPercent} height="6" />
        <rect class="state-3" x={soldPercent} width={(100 * locked) / all} height="6" />
      </svg>
    </span>
  );
}

function dateOf(moment: string): string {
  return DATE.format(new Date(moment));
}

/** As "in 20 days". */
function distanceTo(moment: string, now: number): string {
  const ms = new Date(moment).getTime() - now;
  const [unit, size] = UNITS.find(([, one]) => Math.abs(ms) >= one) ?? ["minute", MINUTE_MS];
  return RELATIVE.format(Math.round(ms / size), unit);
}
