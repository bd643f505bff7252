/** One event: the bar, the map, the figures. */
import { useSignal } from "@preact/signals";
import type { Colouring } from "../map/marks.ts";
import type { LiveEvent } from "../state/live-event.ts";
import { TEXTS } from "../texts.ts";
import { Figures } from "./figures.tsx";
import { MapView } from "./map-view.tsx";

export function EventView({ event }: { readonly event: LiveEvent }) {
  const colorBy = useSignal<Colouring>("state");
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
      <MapView event={event} colorBy={colorBy.value} />
      <aside class="panel">
        <Figures event={event} />
      </aside>
    </div>
  );
}
