/** Below the map: a slider over a histogram of activity, playing, and what differs from now. */
import { useEffect } from "preact/hooks";
import type { Bucket } from "../../state/history.ts";
import { type Past, SPEEDS } from "../../state/past.ts";
import { TEXTS } from "../../texts.ts";
import { Icon } from "../icon.tsx";
import { whole } from "../watch/format.ts";
import { momentOf } from "./moment.ts";

/** Positions of the slider. */
const STEPS = 2_000;
const HEIGHT = 100;

interface TimeBarProps {
  readonly past: Past;
}

export function TimeBar({ past }: TimeBarProps) {
  useEffect(() => past.start(), [past]);
  const buckets = past.buckets.value;
  if (buckets.length === 0) return null;
  const isNow = past.atMs.value === null;
  return (
    <section class="time-bar" aria-label={TEXTS.past.label}>
      <PlayButton past={past} />
      <div class="time-track">
        <Histogram buckets={buckets} />
        <Slider past={past} />
      </div>
      <output class="time-at">{isNow ? TEXTS.past.now : momentOf(past.atMs.value!)}</output>
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
        aria-label={TEXTS.past.speed}
        value={past.speed.value}
        onChange={({ currentTarget }) => (past.speed.value = Number(currentTarget.value))}
      >
        {SPEEDS.map((speed) => (
          <option key={speed} value={speed}>
            {TEXTS.past.times(whole(speed))}
          </option>
        ))}
      </select>
      <button
        type="button"
        aria-pressed={past.isCompared.value}
        onClick={() => past.compare(!past.isCompared.value)}
      >
        {TEXTS.past.compare}
      </button>
      <button type="button" onClick={() => past.go(null)}>
        {TEXTS.past.live}
      </button>
    </>
  );
}

function PlayButton({ past }: TimeBarProps) {
  const isPlaying = past.isPlaying.value;
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={isPlaying ? TEXTS.past.pause : TEXTS.past.play}
      onClick={() => (isPlaying ? past.pause() : past.play())}
    >
      <Icon name={isPlaying ? "pause" : "play"} />
    </button>
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
      aria-label={TEXTS.past.moment}
      aria-valuetext={atMs === null ? TEXTS.past.now : momentOf(atMs)}
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
    count === 0 ? [] : [TEXTS.past.isNow(whole(count), TEXTS.states[state]!)],
  );
  const text = [TEXTS.past.differ(seats.length, whole(seats.length)), ...parts].join(" · ");
  return (
    <p class="time-difference" role="status">
      {text}
    </p>
  );
}
