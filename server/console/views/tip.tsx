/** What is at the pointer: for a seat also who changed it last, since when, and until when. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Transition } from "../api/events.ts";
import type { Hit, Point } from "../map/hits.ts";
import type { LiveEvent } from "../state/live-event.ts";
import type { Past } from "../state/past.ts";
import { timeMs } from "../state/watch/ending-holds.ts";
import { TEXTS } from "../texts.ts";
import { clockTime } from "./watch/format.ts";

interface TipProps {
  readonly event: LiveEvent;
  readonly past: Past | null;
  readonly hit: Hit;
  readonly at: Point;
}

export function Tip({ event, past, hit, at }: TipProps) {
  const { geometry } = event;
  const style = { transform: `translate(${at.x + 14}px, ${at.y + 14}px)` };
  if (hit.kind === "area") return <Box style={style} title={geometry.areas[hit.area]!.name} />;
  if (hit.kind === "section")
    return <Box style={style} title={geometry.sections[hit.section]!.name} />;
  return <SeatTip event={event} past={past} seat={hit.seat} style={style} />;
}

interface SeatTipProps {
  readonly event: LiveEvent;
  readonly past: Past | null;
  readonly seat: number;
  readonly style: BoxProps["style"];
}

/** A pointer that passes over many seats asks for none. */
const REST_MS = 160;

function SeatTip({ event, past, seat, style }: SeatTipProps) {
  const { geometry } = event;
  const { seats } = past ?? event;
  const isNow = (past?.atMs.value ?? null) === null;
  const last = useSignal<Transition | undefined>(undefined);
  const row = geometry.rows[geometry.rowOfSeat[seat]!]!;
  const state = seats.states[seat]!;
  useEffect(() => {
    last.value = undefined;
    // What is asked for is about now.
    if (!isNow) return undefined;
    let isOver = false;
    const timer = setTimeout(() => {
      const show = (transition: Transition | undefined) => {
        if (!isOver) last.value = transition;
      };
      // Without an answer the tip shows what the page knows.
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
    <Box style={style} title={geometry.sections[row.section]!.name}>
      <span>
        {TEXTS.row(row.name)} · {TEXTS.seat(geometry.labels[geometry.labelOfSeat[seat]!]!)}
      </span>
      <span class={`state-${state}`}>
        {TEXTS.states[state]}
        {price === undefined ? "" : ` · ${price}`}
      </span>
      {last.value?.sessionId !== undefined && <span>{TEXTS.bySession(last.value.sessionId)}</span>}
      {last.value !== undefined && <span>{TEXTS.since(clock(last.value.time))}</span>}
      {end !== undefined && <span>{TEXTS.until(clock(end))}</span>}
    </Box>
  );
}

function clock(moment: string): string {
  return clockTime(timeMs(moment));
}

interface BoxProps {
  readonly style: { readonly transform: string };
  readonly title: string;
  readonly children?: preact.ComponentChildren;
}

function Box({ style, title, children }: BoxProps) {
  return (
    <div class="tip" style={style}>
      <strong>{title}</strong>
      {children}
    </div>
  );
}
