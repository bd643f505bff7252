/** Back in time: the bar below the map, and the history of a seat. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { timeMs, type Transition } from "../api/calls.ts";
import type { Selection } from "../state/acting.ts";
import type { LiveEvent } from "../state/live-event.ts";
import type { Bucket } from "../state/history.ts";
import { type Past, SPEEDS } from "../state/past.ts";
import { TEXTS, whole } from "../texts.ts";
import { IconButton } from "./parts.tsx";
import { momentOf, seatName } from "./words.ts";

const T = TEXTS.past;
/** Positions of the slider. */
const STEPS = 2_000;
const HEIGHT = 100;
/** A page of the trail. */
const ROWS_MAX = 100;

interface TimeBarProps {
  readonly past: Past;
}

/** Below the map: a slider over a histogram of activity, playing, and differences from now. */
export function TimeBar({ past }: TimeBarProps) {
  useEffect(() => past.start(), [past]);
  const buckets = past.buckets.value;
  if (buckets.length === 0) return null;
  const isNow = past.isNow.value;
  return (
    <section class="time-bar" aria-label={T.label}>
      <PlayButton past={past} />
      <div class="time-track">
        <Histogram buckets={buckets} />
        <Slider past={past} />
      </div>
      <span class="time-at">{isNow ? T.now : momentOf(past.atMs.value!)}</span>
      {!isNow && <PastControls past={past} />}
      <Comparison past={past} />
    </section>
  );
}

/** They change nothing while it is now, and a phone has no room for them. */
function PastControls({ past }: TimeBarProps) {
  return (
    <>
      <select
        aria-label={T.speed}
        value={past.speed.value}
        onChange={({ currentTarget }) => (past.speed.value = Number(currentTarget.value))}
      >
        {SPEEDS.map((speed) => (
          <option key={speed} value={speed}>
            {T.times(whole(speed))}
          </option>
        ))}
      </select>
      <button
        type="button"
        aria-pressed={past.isCompared.value}
        onClick={() => past.compare(!past.isCompared.value)}
      >
        {T.compare}
      </button>
      <button type="button" onClick={() => past.go(null)}>
        {T.live}
      </button>
    </>
  );
}

function PlayButton({ past }: TimeBarProps) {
  const isPlaying = past.isPlaying.value;
  return (
    <IconButton
      name={isPlaying ? "pause" : "play"}
      label={isPlaying ? T.pause : T.play}
      onClick={() => (isPlaying ? past.pause() : past.play())}
    />
  );
}

/** At its right end, it is now. */
function Slider({ past }: TimeBarProps) {
  const [first, last] = [past.buckets.value[0]!.timeMs, past.lastMs];
  const span = Math.max(1, last - first);
  const atMs = past.atMs.value;
  const value = atMs === null ? STEPS : Math.round((STEPS * (atMs - first)) / span);
  const go = (step: number) => {
    past.pause();
    past.go(step >= STEPS ? null : first + Math.round((span * step) / STEPS));
  };
  return (
    <input
      type="range"
      min={0}
      max={STEPS}
      value={value}
      aria-label={T.moment}
      aria-valuetext={atMs === null ? T.now : momentOf(atMs)}
      onInput={({ currentTarget }) => go(Number(currentTarget.value))}
    />
  );
}

function Histogram({ buckets }: { readonly buckets: readonly Bucket[] }) {
  const most = Math.max(1, ...buckets.map(({ changes }) => changes));
  // A quiet hour is to be seen beside a rush, so the heights are logarithms.
  const bars = buckets.map(({ changes }, i) => {
    const top = (HEIGHT * (1 - Math.log1p(changes) / Math.log1p(most))).toFixed(1);
    return `M${i} ${HEIGHT}V${top}h0.8V${HEIGHT}z`;
  });
  return (
    <svg viewBox={`0 0 ${buckets.length} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path d={bars.join("")} />
    </svg>
  );
}

function Comparison({ past }: TimeBarProps) {
  const difference = past.difference.value;
  if (difference === null) return null;
  const { seats, totals } = difference;
  const parts = totals.flatMap((count, state) =>
    count === 0 ? [] : [T.isNow(whole(count), TEXTS.states[state]!)],
  );
  const text = [T.differ(seats.length, whole(seats.length)), ...parts].join(" · ");
  return (
    <p class="time-difference" role="status">
      {text}
    </p>
  );
}

interface SeatHistoryProps {
  readonly event: LiveEvent;
  readonly past: Past;
  readonly selection: Selection;
}

/** All transitions of the selected seat. A row leads to its moment. */
export function SeatHistory({ event, past, selection }: SeatHistoryProps) {
  const [seat, ...others] = selection.seats.value;
  if (seat === undefined || others.length > 0 || selection.places.value.size > 0) return null;
  return <OfSeat key={seat} event={event} past={past} seat={seat} />;
}

interface OfSeatProps {
  readonly event: LiveEvent;
  readonly past: Past;
  readonly seat: number;
}

function OfSeat({ event, past, seat }: OfSeatProps) {
  const rows = useSignal<readonly Transition[] | null>(null);
  const hasFailed = useSignal(false);
  // The totals change with every change of the event, so also with those of this seat.
  const state = event.totals.value.length > 0 ? event.seats.states[seat]! : 0;
  useEffect(() => {
    let isOver = false;
    const show = (transitions: readonly Transition[]) => {
      if (!isOver) rows.value = transitions;
    };
    event.transitionsOf(seat, ROWS_MAX).then(show, () => (hasFailed.value = true));
    return () => (isOver = true);
  }, [event, seat, state]);
  return (
    <section class="seat-history" aria-label={T.seatHistory}>
      <h2>
        {T.seatHistory}
        <span>{seatName(event, seat)}</span>
      </h2>
      {hasFailed.value && <p class="note">{T.unread}</p>}
      {rows.value?.length === 0 && <p class="note">{T.neverSold}</p>}
      <ol tabIndex={0} aria-label={T.seatHistory}>
        {(rows.value ?? []).map((row) => (
          <li key={row.sequence}>
            <button type="button" onClick={() => past.go(timeMs(row.time))}>
              <time>{momentOf(timeMs(row.time))}</time>
              <span>{TEXTS.calls[row.call] ?? row.call}</span>
              <span>{stateText(row)}</span>
              <code>{row.sessionId ?? ""}</code>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

function stateText({ toState }: Transition): string {
  return toState === null ? T.noState : T.stateNames[toState];
}
