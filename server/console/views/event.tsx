/** The page of an event: the bar, the map, actions, the way back in time, the figures. */
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Api } from "../api/http.ts";
import type { Colouring } from "../map/paint.ts";
import { Acting, Selection } from "../state/acting.ts";
import type { LiveEvent } from "../state/live-event.ts";
import { hashOf } from "../state/page.ts";
import { Past } from "../state/past.ts";
import { TEXTS } from "../texts.ts";
import { ActBar, SeatList } from "./acting.tsx";
import { MapView } from "./map-view.tsx";
import { ConnectionMark, Switch, TopBar } from "./parts.tsx";
import { SeatHistory, TimeBar } from "./past.tsx";
import { WatchPanel } from "./watch.tsx";

export function EventView({ api, event }: { readonly api: Api; readonly event: LiveEvent }) {
  const colorBy = useSignal<Colouring>("state");
  const isListed = useSignal(false);
  const selection = useMemo(() => new Selection(event.geometry, event.seats), [event]);
  const acting = useMemo(() => new Acting(api, event, selection), [event]);
  const past = useMemo(() => new Past(api, event), [event]);
  const faded = useSignal<ReadonlySet<number>>(new Set());
  const parts = { event, selection, acting };
  return (
    <div class="event">
      <TopBar>
        <h1>{event.facts.name}</h1>
        <ConnectionMark event={event} />
        <a class="quiet" href={hashOf({ kind: "prices", id: event.facts.id })}>
          {TEXTS.bar.prices}
        </a>
        <Switch label={TEXTS.colorBy} names={TEXTS.colours} chosen={colorBy} />
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
          {past.isNow.value && <ActBar {...parts} />}
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
