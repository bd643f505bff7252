/** How full the event is: a large figure, a bar, and the legend, which filters the map. */
import { SeatState } from "../../map/live-seats.ts";
import type { Totals } from "../../state/live-event.ts";
import { TEXTS } from "../../texts.ts";
import { whole } from "./format.ts";
import { Mark } from "./mark.tsx";

const ORDER = [
  SeatState.SOLD,
  SeatState.HELD,
  SeatState.FREE,
  SeatState.BLOCKED,
  SeatState.UNPRICED,
];

interface SoldShareProps {
  readonly totals: Totals;
  /** States that the map fades. */
  readonly faded: ReadonlySet<number>;
  readonly onFade: (faded: ReadonlySet<number>) => void;
}

export function SoldShare({ totals, faded, onFade }: SoldShareProps) {
  const count = (state: number) => totals[state] ?? 0;
  const all = ORDER.reduce((sum, state) => sum + count(state), 0);
  const share = all === 0 ? 0 : (100 * count(SeatState.SOLD)) / all;
  // 100.0 only when everything is sold.
  const percent = (Math.floor(share * 10) / 10).toFixed(1);
  const toggle = (state: number) => {
    const next = new Set(faded);
    if (!next.delete(state)) next.add(state);
    onFade(next);
  };
  return (
    <section class="share" aria-label={TEXTS.watch.share(percent)}>
      <p class="share-figure">
        <b>
          {percent}
          <small>%</small>
        </b>
        <span>
          {TEXTS.sold}
          <strong>{TEXTS.of(whole(count(SeatState.SOLD)), whole(all))}</strong>
        </span>
      </p>
      <div class="share-bar" aria-hidden="true">
        {ORDER.map((state) => (
          <i key={state} class={`fill-${state}`} style={{ flexGrow: count(state) }} />
        ))}
      </div>
      <div class="share-legend" role="group" aria-label={TEXTS.watch.legend}>
        {ORDER.map((state) => (
          <button
            key={state}
            type="button"
            aria-pressed={!faded.has(state)}
            onClick={() => toggle(state)}
          >
            <Mark state={state} />
            <span>{TEXTS.states[state]}</span>
            <b>{whole(count(state))}</b>
          </button>
        ))}
      </div>
    </section>
  );
}
