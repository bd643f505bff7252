/** The seat map in the page: connects the map to the event, and shows what is at the pointer. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Hit, Point } from "../map/hits.ts";
import type { Colouring } from "../map/marks.ts";
import { readPalette } from "../map/palette.ts";
import { SeatMap } from "../map/seat-map.ts";
import type { LiveEvent } from "../state/live-event.ts";
import { TEXTS } from "../texts.ts";
import { Tip } from "./tip.tsx";

interface MapViewProps {
  readonly event: LiveEvent;
  readonly colorBy: Colouring;
  /** States that the map fades. */
  readonly faded: ReadonlySet<number>;
}

/** @returns The colours of the present theme. */
function presentPalette() {
  const style = getComputedStyle(document.documentElement);
  return readPalette((name) => style.getPropertyValue(name));
}

export function MapView({ event, colorBy, faded }: MapViewProps) {
  const element = useRef<HTMLDivElement>(null);
  const map = useRef<SeatMap | null>(null);
  const tip = useSignal<{ hit: Hit; at: Point } | null>(null);
  useEffect(() => {
    const made = new SeatMap(element.current!, {
      geometry: event.geometry,
      live: event.seats,
      palette: presentPalette(),
      hasMotion: !matchMedia("(prefers-reduced-motion: reduce)").matches,
      onHover: (hit, at) => (tip.value = hit === null ? null : { hit, at }),
    });
    map.current = made;
    const theme = matchMedia("(prefers-color-scheme: dark)");
    const repaint = () => (made.palette = presentPalette());
    theme.addEventListener("change", repaint);
    const stop = event.onFrame((seats, areas) => made.change(seats, areas));
    return () => {
      theme.removeEventListener("change", repaint);
      stop();
      made.destroy();
    };
  }, [event]);
  useEffect(() => {
    if (map.current !== null) map.current.colorBy = colorBy;
  }, [colorBy]);
  useEffect(() => {
    if (map.current !== null) map.current.faded = faded;
  }, [faded]);
  return (
    <div class="map">
      <div
        ref={element}
        class="map-surface"
        role="application"
        tabIndex={0}
        aria-label={TEXTS.map.label}
      />
      <div class="map-tools">
        <button type="button" aria-label={TEXTS.map.zoomIn} onClick={() => map.current?.zoomBy(1)}>
          +
        </button>
        <button
          type="button"
          aria-label={TEXTS.map.zoomOut}
          onClick={() => map.current?.zoomBy(-1)}
        >
          −
        </button>
        <button type="button" aria-label={TEXTS.map.fit} onClick={() => map.current?.fit()}>
          ⤢
        </button>
      </div>
      {tip.value !== null && <Tip event={event} hit={tip.value.hit} at={tip.value.at} />}
    </div>
  );
}
