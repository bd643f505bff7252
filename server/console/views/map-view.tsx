/** The seat map in the page: connects the map to the event, and shows what is at the pointer. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Hit, Modifiers, Point } from "../map/hits.ts";
import type { Colouring } from "../map/marks.ts";
import { readPalette } from "../map/palette.ts";
import { SeatMap } from "../map/seat-map.ts";
import type { LiveEvent } from "../state/live-event.ts";
import { theme } from "../state/theme.ts";
import { TEXTS } from "../texts.ts";
import { MapTools } from "./map-tools.tsx";
import { Tip } from "./tip.tsx";

interface MapViewProps {
  readonly event: LiveEvent;
  readonly colorBy: Colouring;
  readonly selected?: ReadonlySet<number>;
  readonly onPick?: (hit: Hit | null, modifiers: Modifiers) => void;
  readonly onBox?: (seats: readonly number[], modifiers: Modifiers) => void;
  /** Opens the list of seats. */
  readonly onList?: () => void;
  /** What is above the map. */
  readonly children?: ComponentChildren;
  /** States that the map fades. */
  readonly faded?: ReadonlySet<number>;
}

/** @returns The colours of the present theme. */
function presentPalette() {
  const style = getComputedStyle(document.documentElement);
  return readPalette((name) => style.getPropertyValue(name));
}

export function MapView(props: MapViewProps) {
  const { event, colorBy, faded, selected, children } = props;
  const element = useRef<HTMLDivElement>(null);
  const map = useRef<SeatMap | null>(null);
  const latest = useRef(props);
  const tip = useSignal<{ hit: Hit; at: Point } | null>(null);
  const isBoxMode = useSignal(false);
  latest.current = props;
  useEffect(() => {
    const made = new SeatMap(element.current!, {
      geometry: event.geometry,
      live: event.seats,
      palette: presentPalette(),
      hasMotion: !matchMedia("(prefers-reduced-motion: reduce)").matches,
      onHover: (hit, at) => (tip.value = hit === null ? null : { hit, at }),
      onPick: (hit, _at, modifiers) => latest.current.onPick?.(hit, modifiers),
      onBox: (seats, modifiers) => latest.current.onBox?.(seats, modifiers),
    });
    map.current = made;
    const stop = event.onFrame((seats, areas) => made.change(seats, areas));
    return () => {
      stop();
      made.destroy();
    };
  }, [event]);
  useEffect(() => {
    if (map.current !== null) map.current.colorBy = colorBy;
  }, [colorBy]);
  useEffect(() => {
    if (map.current !== null) map.current.palette = presentPalette();
  }, [theme.value]);
  useEffect(() => {
    if (map.current !== null) map.current.dragMode = isBoxMode.value ? "box" : "pan";
  }, [isBoxMode.value]);
  useEffect(() => map.current?.select(selected ?? new Set()), [selected]);
  useEffect(() => {
    if (map.current !== null) map.current.faded = faded ?? new Set();
  }, [faded]);
  return (
    <main class="map">
      <div
        ref={element}
        class="map-surface"
        role="application"
        tabIndex={0}
        aria-label={TEXTS.map.label}
        aria-description={TEXTS.map.help}
        onKeyDown={({ key }) => key === "Escape" && props.onPick?.(null, NO_MODIFIERS)}
      />
      <MapTools map={map} isBoxMode={isBoxMode} {...props} />
      {tip.value !== null && <Tip event={event} hit={tip.value.hit} at={tip.value.at} />}
      {children}
    </main>
  );
}

const NO_MODIFIERS = { shift: false, ctrl: false };
