/** One event: the bar, the map, the figures. */
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Api } from "../api/http.ts";
import type { Colouring } from "../map/marks.ts";
import { Acting } from "../state/acting.ts";
import type { LiveEvent } from "../state/live-event.ts";
import { Past } from "../state/past.ts";
import { hashOf } from "../state/place.ts";
import { Selection } from "../state/selection.ts";
import { TEXTS } from "../texts.ts";
import { ActBar } from "./act/act-bar.tsx";
import { SeatList } from "./act/seat-list.tsx";
import { MapView } from "./map-view.tsx";
import { SeatHistory } from "./past/seat-history.tsx";
import { TimeBar } from "./past/time-bar.tsx";
import { TopBar } from "./top-bar.tsx";
import { WatchPanel } from "./watch/watch-panel.tsx";

export function EventView({ api, event }: { readonly api: Api; readonly event: LiveEvent }) {
  const colorBy = useSignal<Colouring>("state");
  const isListed = useSignal(false);
  const selection = useMemo(() => new Selection(event.geometry, event.seats), [event]);
  const acting = useMemo(() => new Acting(api, event, selection), [event]);
  const past = useMemo(() => new Past(api, event), [event]);
  const isNow = past.atMs.value === null;
  const faded = useSignal<ReadonlySet<number>>(new Set());
  const choice = (value: Colouring) => (
    <button
      type="button"
      aria-pressed={colorBy.value === value}
      onClick={() => (colorBy.value = value)}
    >
      {TEXTS.colorBy[value]}
    </button>
  );
  const parts = { event, selection, acting };
  return (
    <div class="event">
      <TopBar>
        <h1>{event.facts.name}</h1>
        <span class={`connection ${event.connection.value}`}>
          {TEXTS.connection[event.connection.value]}
        </span>
        <a class="quiet" href={hashOf({ kind: "prices", id: event.facts.id })}>
          {TEXTS.bar.prices}
        </a>
        <div class="switch" role="group" aria-label={TEXTS.colorBy.label}>
          {choice("state")}
          {choice("price")}
        </div>
      </TopBar>
      <MapView
        event={event}
        colorBy={colorBy.value}
        past={past}
        faded={faded.value}
        selected={selection.seats.value}
        onPick={(hit, modifiers) => selection.pick(hit, modifiers)}
        onBox={(seats, modifiers) => selection.box(seats, modifiers)}
        onList={() => (isListed.value = !isListed.value)}
      >
        <div class="map-foot">
          {isNow && <ActBar {...parts} />}
          <TimeBar past={past} />
        </div>
        {isListed.value && <SeatList {...parts} onClose={() => (isListed.value = false)} />}
      </MapView>
      <aside class="panel" aria-label={TEXTS.watch.label}>
        <WatchPanel
          api={api}
          event={event}
          past={past}
          faded={faded.value}
          onFade={(states) => (faded.value = states)}
        >
          <SeatHistory event={event} past={past} selection={selection} />
        </WatchPanel>
      </aside>
    </div>
  );
}
