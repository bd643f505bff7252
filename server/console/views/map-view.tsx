/** The seat map in the page: connects the map to the event, and shows what is at the pointer. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Hit, Modifiers, Point } from "../map/hits.ts";
import type { Colouring } from "../map/marks.ts";
import { readPalette } from "../map/palette.ts";
import { SeatMap } from "../map/seat-map.ts";
import type { LiveEvent } from "../state/live-event.ts";
import type { Past } from "../state/past.ts";
import { theme } from "../state/theme.ts";
import { TEXTS } from "../texts.ts";
import { MapTools } from "./map-tools.tsx";
import { Tip } from "./tip.tsx";

interface MapViewProps {
  readonly event: LiveEvent;
  readonly colorBy: Colouring;
  /** Missing where there is no way back in time, and no bar for it below the map. */
  readonly past?: Past;
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

/** With the space around it, in CSS pixels. */
const TIME_BAR_HEIGHT = 92;
/** Of a phone, whose tools are a row above the map, and whose bar of time has two rows. */
const PHONE = { media: "(max-width: 760px)", bottom: 104, top: 48 };
/** Rings are drawn in every frame. */
const RINGS_MAX = 1_500;

/** @returns The colours of the present theme. */
function presentPalette() {
  const style = getComputedStyle(document.documentElement);
  return readPalette((name) => style.getPropertyValue(name));
}

export function MapView(props: MapViewProps) {
  const { event, past, children } = props;
  const tip = useSignal<{ hit: Hit; at: Point } | null>(null);
  const isBoxMode = useSignal(false);
  const { element, map } = useSeatMap(props, (hit, at) => {
    tip.value = hit === null ? null : { hit, at };
  });
  useEffect(() => {
    if (map.current !== null) map.current.dragMode = isBoxMode.value ? "box" : "pan";
  }, [isBoxMode.value]);
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
      {tip.value !== null && (
        <Tip event={event} past={past ?? null} hit={tip.value.hit} at={tip.value.at} />
      )}
      {children}
    </main>
  );
}

/** @returns A map in its element, which follows the event, the past and the theme. */
function useSeatMap(props: MapViewProps, onHover: (hit: Hit | null, at: Point) => void) {
  const { event, colorBy, past, faded, selected } = props;
  const element = useRef<HTMLDivElement>(null);
  const map = useRef<SeatMap | null>(null);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const made = new SeatMap(element.current!, {
      geometry: event.geometry,
      live: event.seats,
      palette: presentPalette(),
      hasMotion: !matchMedia("(prefers-reduced-motion: reduce)").matches,
      onHover,
      onPick: (hit, _at, modifiers) => latest.current.onPick?.(hit, modifiers),
      onBox: (seats, modifiers) => latest.current.onBox?.(seats, modifiers),
    });
    map.current = made;
    const stopClearing = past === undefined ? null : keepClear(made);
    const stopNow = event.onFrame((seats, areas) => {
      if (isNow(latest.current.past)) made.change(seats, areas);
    });
    const stopPast = past?.onStep((step) => {
      if (step === null) made.draw(past.seats);
      else made.change(step.seats, step.areas);
    });
    return () => {
      stopNow();
      stopPast?.();
      stopClearing?.();
      made.destroy();
    };
  }, [event, past]);
  useEffect(() => {
    if (map.current !== null) map.current.colorBy = colorBy;
  }, [colorBy]);
  useEffect(() => {
    if (map.current !== null) map.current.palette = presentPalette();
  }, [theme.value]);
  useEffect(() => map.current?.select(selected ?? new Set()), [selected]);
  const difference = past?.difference.value ?? null;
  useEffect(
    () => map.current?.highlight((difference?.seats ?? []).slice(0, RINGS_MAX)),
    [difference],
  );
  useEffect(() => {
    if (map.current !== null) map.current.faded = faded ?? new Set();
  }, [faded]);
  return { element, map };
}

/** Keeps the whole map clear of the bar of time and of the tools. @returns Ends it. */
function keepClear(map: SeatMap): () => void {
  const phone = matchMedia(PHONE.media);
  const clear = () => {
    map.covered = phone.matches ? PHONE : { bottom: TIME_BAR_HEIGHT };
    map.fit();
  };
  clear();
  phone.addEventListener("change", clear);
  return () => phone.removeEventListener("change", clear);
}

function isNow(past: Past | undefined): boolean {
  return (past?.atMs.peek() ?? null) === null;
}

const NO_MODIFIERS = { shift: false, ctrl: false };
