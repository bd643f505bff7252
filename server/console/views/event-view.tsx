/** One event: the bar, the map, the figures. */
import { useSignal } from "@preact/signals";
import type { Colouring } from "../map/marks.ts";
import type { LiveEvent } from "../state/live-event.ts";
import { TEXTS } from "../texts.ts";
import { api } from "../state/session.ts";
import { MapView } from "./map-view.tsx";
import { WatchPanel } from "./watch/watch-panel.tsx";

export function EventView({ event }: { readonly event: LiveEvent }) {
  const colorBy = useSignal<Colouring>("state");
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
  return (
    <div class="event">
      <header class="bar">
        <strong class="brand">{TEXTS.product}</strong>
        <h1>{event.facts.name}</h1>
        <span class={`connection ${event.connection.value}`}>
          {TEXTS.connection[event.connection.value]}
        </span>
        <div class="switch" role="group" aria-label={TEXTS.colorBy.label}>
          {choice("state")}
          {choice("price")}
        </div>
      </header>
      <MapView event={event} colorBy={colorBy.value} faded={faded.value} />
      <aside class="panel" aria-label={TEXTS.watch.label}>
        <WatchPanel
          api={api.value!}
          event={event}
          faded={faded.value}
          onFade={(states) => (faded.value = states)}
        />
      </aside>
    </div>
  );
}
