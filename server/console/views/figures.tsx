/** How full the event is, in figures. */
import { SeatState } from "../map/live-seats.ts";
import type { LiveEvent } from "../state/live-event.ts";
import { TEXTS } from "../texts.ts";

const ORDER = [
  SeatState.SOLD,
  SeatState.HELD,
  SeatState.FREE,
  SeatState.BLOCKED,
  SeatState.UNPRICED,
];

export function Figures({ event }: { readonly event: LiveEvent }) {
  const totals = event.totals.value;
  const count = (state: number) => totals[state] ?? 0;
  const all = ORDER.reduce((sum, state) => sum + count(state), 0);
  const share = all === 0 ? 0 : (100 * count(SeatState.SOLD)) / all;
  const number = (value: number) => value.toLocaleString("en");
  return (
    <section class="figures">
      <p class="share">
        <b>{share.toFixed(1)}</b>%
        <span>
          {TEXTS.sold}
          <strong>{TEXTS.of(number(count(SeatState.SOLD)), number(all))}</strong>
        </span>
      </p>
      <dl class="legend">
        {ORDER.map((state) => (
          <div key={state}>
            <dt class={`state-${state}`}>{TEXTS.states[state]}</dt>
            <dd>{number(count(state))}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
