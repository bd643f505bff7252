/** The events of the organization: search, how full each is, the next opening. */
import { useEffect, useMemo } from "preact/hooks";
import type { Api } from "../../api/http.ts";
import { EventList } from "../../state/event-list.ts";
import { hashOf } from "../../state/place.ts";
import { TEXTS } from "../../texts.ts";
import { Icon } from "../icon.tsx";
import { TopBar } from "../top-bar.tsx";
import { EventRow } from "./event-row.tsx";
import { distanceTo } from "./moments.ts";

export function EventsView({ api }: { readonly api: Api }) {
  const list = useMemo(() => new EventList(api), [api]);
  useEffect(() => {
    list.start();
    return () => list.stop();
  }, [list]);
  const events = list.events.value;
  const none = list.search.value === "" ? TEXTS.events.none : TEXTS.events.noneFound;
  return (
    <div class="sheet">
      <TopBar>
        <h1>{TEXTS.bar.events}</h1>
      </TopBar>
      <main class="page">
        <NextOpening list={list} />
        <SearchLine list={list} />
        <p role="alert">{list.error}</p>
        {events === null && <p class="note">{TEXTS.events.loading}</p>}
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
      <span>{TEXTS.events.nextLabel}</span>
      <a href={hashOf({ kind: "event", id: next.id })}>
        {TEXTS.events.next(next.name, distanceTo(next.start, now))}
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
          aria-label={TEXTS.events.search}
          placeholder={TEXTS.events.search}
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
        {TEXTS.events.past}
      </label>
      <span class="note">{TEXTS.events.count(list.total.value)}</span>
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
        {TEXTS.events.previous}
      </button>
      <span>{TEXTS.events.page(page.value + 1, pageCount)}</span>
      <button
        type="button"
        disabled={page.value + 1 >= pageCount}
        onClick={() => turn(page.value + 1)}
      >
        {TEXTS.events.nextPage}
      </button>
    </nav>
  );
}
