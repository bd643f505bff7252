/** The seat map in the page, connected to event and past; its tools, and the tip at the pointer. */
import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { timeMs, type Transition } from "../api/calls.ts";
import type { Geometry } from "../map/geometry.ts";
import type { Hit, Modifiers, Point } from "../map/gestures.ts";
import { type Colouring, readPalette } from "../map/paint.ts";
import { SeatMap } from "../map/seat-map.ts";
import type { LiveEvent } from "../state/live-event.ts";
import { theme } from "../state/page.ts";
import type { Past } from "../state/past.ts";
import { TEXTS } from "../texts.ts";
import { IconButton } from "./parts.tsx";
import { clockTime } from "./words.ts";

/** With the space around it, in CSS pixels. */
const TIME_BAR_HEIGHT = 92;
/** Of a phone: its tools are a row above the map, and its bar of time has two rows. */
const PHONE = { media: "(max-width: 760px)", bottom: 104, top: 48 };
/** Rings are drawn in every frame. */
const RINGS_MAX = 1_500;
/** A moving pointer asks for no seat. */
const REST_MS = 160;
const NO_MODIFIERS = { shift: false, ctrl: false };

interface MapViewProps {
  readonly event: LiveEvent;
  readonly colorBy: Colouring;
  /** Missing on a page without a way back in time. */
  readonly past?: Past;
  readonly selected?: ReadonlySet<number>;
  readonly onPick?: (hit: Hit | null, modifiers: Modifiers) => void;
  readonly onBox?: (seats: readonly number[], modifiers: Modifiers) => void;
  /** Opens the list of seats. */
  readonly onList?: () => void;
  /** Above the map. */
  readonly children?: ComponentChildren;
  /** States faded on the map. */
  readonly faded?: ReadonlySet<number>;
}

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
      {tip.value !== null && <Tip event={event} past={past} {...tip.value} />}
      {children}
    </main>
  );
}

/** @returns A map in its element, bound to the event, the past and the theme. */
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
      onPick: (hit, modifiers) => latest.current.onPick?.(hit, modifiers),
      onBox: (seats, modifiers) => latest.current.onBox?.(seats, modifiers),
    });
    map.current = made;
    const stopClearing = past === undefined ? null : keepClear(made);
    const stopNow = event.onFrame((seats, areas) => {
      if (past?.isNow.peek() ?? true) made.change(seats, areas);
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

interface MapToolsProps extends Pick<MapViewProps, "onBox" | "onList"> {
  readonly map: RefObject<SeatMap | null>;
  readonly isBoxMode: Signal<boolean>;
}

function MapTools({ map, isBoxMode, onBox, onList }: MapToolsProps) {
  const { zoomIn, zoomOut, fit, box } = TEXTS.map;
  return (
    <div class="map-tools">
      <IconButton name="plus" label={zoomIn} onClick={() => map.current?.zoomBy(1)} />
      <IconButton name="minus" label={zoomOut} onClick={() => map.current?.zoomBy(-1)} />
      <IconButton name="fit" label={fit} onClick={() => map.current?.fit()} />
      {onBox !== undefined && (
        <IconButton
          name="box"
          label={box}
          isPressed={isBoxMode.value}
          onClick={() => (isBoxMode.value = !isBoxMode.value)}
        />
      )}
      {onList !== undefined && <IconButton name="list" label={TEXTS.list.open} onClick={onList} />}
    </div>
  );
}

interface TipProps {
  readonly event: LiveEvent;
  readonly past: Past | undefined;
  readonly hit: Hit;
  readonly at: Point;
}

/** Names the hit at the pointer; for a seat also its last change, and the end of its hold. */
function Tip({ event, past, hit, at }: TipProps) {
  return (
    <div class="tip" style={{ transform: `translate(${at.x + 14}px, ${at.y + 14}px)` }}>
      <strong>{titleOf(event.geometry, hit)}</strong>
      {hit.kind === "seat" && <SeatFacts event={event} past={past} seat={hit.seat} />}
    </div>
  );
}

function titleOf({ areas, sections, rows, rowOfSeat }: Geometry, hit: Hit): string {
  if (hit.kind === "area") return areas[hit.area]!.name;
  const section = hit.kind === "section" ? hit.section : rows[rowOfSeat[hit.seat]!]!.section;
  return sections[section]!.name;
}

interface SeatFactsProps extends Pick<TipProps, "event" | "past"> {
  readonly seat: number;
}

function SeatFacts({ event, past, seat }: SeatFactsProps) {
  const { geometry } = event;
  const { seats } = past ?? event;
  // Follows each moment: the state of the seat may be another one.
  const isNow = (past?.atMs.value ?? null) === null;
  const last = useSignal<Transition | undefined>(undefined);
  const row = geometry.rows[geometry.rowOfSeat[seat]!]!;
  const state = seats.states[seat]!;
  useEffect(() => {
    last.value = undefined;
    // The answer is about now.
    if (!isNow) return undefined;
    let isOver = false;
    const timer = setTimeout(() => {
      const show = (transition: Transition | undefined) => {
        if (!isOver) last.value = transition;
      };
      // Without an answer the tip shows the state alone.
      event.transitionsOf(seat, 1).then(
        ([newest]) => show(newest),
        () => {},
      );
    }, REST_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [event, seat, state, isNow]);
  const end = isNow ? event.endOf(seat) : undefined;
  const price = event.priceAt(seats.prices[seat]!)?.name;
  return (
    <>
      <span>
        {TEXTS.row(row.name)} · {TEXTS.seat(geometry.labels[geometry.labelOfSeat[seat]!]!)}
      </span>
      <span>
        {TEXTS.states[state]}
        {price === undefined ? "" : ` · ${price}`}
      </span>
      {last.value?.sessionId !== undefined && <span>{TEXTS.bySession(last.value.sessionId)}</span>}
      {last.value !== undefined && <span>{TEXTS.since(clockTime(timeMs(last.value.time)))}</span>}
      {end !== undefined && <span>{TEXTS.until(clockTime(timeMs(end)))}</span>}
    </>
  );
}
