/** The bar of actions on what is selected. */
import { useEffect } from "preact/hooks";
import { SeatState } from "../../map/live-seats.ts";
import type { Action } from "../../state/acting.ts";
import { announce } from "../../state/announce.ts";
import { TEXTS } from "../../texts.ts";
import { Icon } from "../icon.tsx";
import { ActResult } from "./act-result.tsx";
import { AreaFields } from "./area-fields.tsx";
import { type ActProps, LISTED_STATES, type LiveProps } from "./seat-names.ts";

const { actions } = TEXTS.act;
const HOLD_TYPES = ["CART", "RESERVED"];

export function ActBar(props: ActProps) {
  return <Bar {...props} totals={props.event.totals.value} />;
}

function Bar(props: LiveProps) {
  const { selection, acting } = props;
  const { size, seats, places } = selection;
  const counts = selection.counts();
  useEffect(() => {
    const isEmpty = size.value === 0;
    const text = isEmpty ? TEXTS.act.cleared : summary(seats.value.size, counts);
    if (!isEmpty || acting.step.peek().kind === "idle") announce(text);
  }, [seats.value, places.value]);
  if (size.value === 0) return <ActResult {...props} />;
  return (
    <section class="act-bar" aria-label={TEXTS.act.bar}>
      <ActResult {...props} />
      <AreaFields {...props} />
      <div class="act-line">
        <p class="act-count">
          <strong>{TEXTS.act.selected(countText(props))}</strong>
          <span class="note">{stateTexts(counts).join(" · ")}</span>
        </p>
        {seats.value.size > 0 && (
          <div class="act-more">
            <button type="button" onClick={() => selection.addRows()}>
              {TEXTS.act.rows}
            </button>
            <button type="button" onClick={() => selection.addSections()}>
              {TEXTS.act.sections}
            </button>
          </div>
        )}
        <Buttons {...props} counts={counts} />
        <button
          type="button"
          class="icon-button act-clear"
          aria-label={TEXTS.act.clear}
          onClick={() => selection.clear()}
        >
          <Icon name="close" />
        </button>
      </div>
      <HoldFields {...props} />
    </section>
  );
}

function countText({ selection }: ActProps): string {
  const { seats, places } = selection;
  const all = [...places.value.values()].reduce((sum, count) => sum + count, seats.value.size);
  return all.toLocaleString("en");
}

function stateTexts(counts: readonly number[]): string[] {
  return LISTED_STATES.filter((state) => counts[state]! > 0).map((state) =>
    TEXTS.act.state(counts[state]!.toLocaleString("en"), TEXTS.states[state]),
  );
}

function summary(count: number, counts: readonly number[]): string {
  return [TEXTS.act.selected(String(count)), ...stateTexts(counts)].join(", ");
}

/** A button is off when nothing of the selection is in a state that it takes. */
function Buttons({ event, selection, acting, counts }: LiveProps & { counts: readonly number[] }) {
  const areas = [...selection.places.value.keys()].map((area) => event.seats.areas[area]!);
  const has = (state: SeatState, ofArea: (area: (typeof areas)[number]) => number) =>
    counts[state]! > 0 || areas.some((area) => ofArea(area) > 0);
  const isFree = has(SeatState.FREE, ({ active }) => active);
  const isHeld = has(SeatState.HELD, ({ locked }) => locked);
  const isBlocked = has(SeatState.BLOCKED, ({ blocked }) => blocked);
  const isBusy = acting.step.value.kind === "busy";
  const button = (action: Action, isPossible: boolean) => (
    <button
      type="button"
      class={action === "sell" ? "primary" : ""}
      disabled={isBusy || !isPossible}
      onClick={() => void acting.act(action)}
    >
      {actions[action]}
    </button>
  );
  return (
    <div class="act-buttons">
      {button("hold", isFree)}
      {button("sell", isFree || isHeld)}
      {button("block", isFree)}
      {button("release", isHeld)}
      {button("unblock", isBlocked)}
    </div>
  );
}

/** The session that a hold is recorded for, and its type. */
function HoldFields({ acting }: ActProps) {
  return (
    <div class="act-fields">
      <label>
        {TEXTS.act.session}
        <input
          value={acting.sessionId.value}
          maxLength={100}
          onInput={({ currentTarget: { value } }) => (acting.sessionId.value = value)}
        />
      </label>
      <label>
        {TEXTS.act.holdType}
        <input
          value={acting.holdType.value}
          list="hold-types"
          maxLength={64}
          onInput={({ currentTarget: { value } }) => (acting.holdType.value = value)}
        />
      </label>
      <datalist id="hold-types">
        {HOLD_TYPES.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </div>
  );
}
