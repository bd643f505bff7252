/** Selecting seats and acting on them: the bar, the answer, the list for the keyboard. */
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { SeatState, type Totals } from "../map/seats.ts";
import type { Acting, Action, Refused, Selection, Step } from "../state/acting.ts";
import type { LiveEvent } from "../state/live-event.ts";
import { announce } from "../state/page.ts";
import { TEXTS, whole } from "../texts.ts";
import { IconButton } from "./parts.tsx";
import { describe, seatName } from "./words.ts";

const T = TEXTS.act;
const HOLD_TYPES = ["CART", "RESERVED"];
const SHOWN_MAX = 50;
/** The names and counts follow the event once a second. */
const REFRESH_MS = 1_000;

interface ActProps {
  readonly event: LiveEvent;
  readonly selection: Selection;
  readonly acting: Acting;
}

/** The counted states, in order. */
const LISTED_STATES = [
  SeatState.FREE,
  SeatState.HELD,
  SeatState.SOLD,
  SeatState.BLOCKED,
  SeatState.UNPRICED,
];

export function ActBar(props: ActProps) {
  return <Bar {...props} totals={props.event.totals.value} />;
}

/** Drawn again with the totals: the states of the selection change with them. */
function Bar(props: ActProps & { readonly totals: Totals }) {
  const { selection, acting } = props;
  const { size, seats, places } = selection;
  const counts = selection.counts();
  useEffect(() => {
    const isEmpty = size.value === 0;
    const text = isEmpty ? T.cleared : summary(seats.value.size, counts);
    if (!isEmpty || acting.step.peek().kind === "idle") announce(text);
  }, [seats.value, places.value]);
  if (size.value === 0) return <ActResult {...props} />;
  return (
    <section class="act-bar" aria-label={T.bar}>
      <ActResult {...props} />
      <AreaFields {...props} />
      <div class="act-line">
        <p class="act-count">
          <strong>{T.selected(countText(props))}</strong>
          <span class="note">{stateTexts(counts).join(" · ")}</span>
        </p>
        {seats.value.size > 0 && (
          <div class="act-more">
            <button type="button" onClick={() => selection.addRows()}>
              {T.rows}
            </button>
            <button type="button" onClick={() => selection.addSections()}>
              {T.sections}
            </button>
          </div>
        )}
        <Buttons {...props} counts={counts} />
        <IconButton
          name="close"
          label={T.clear}
          onClick={() => selection.clear()}
          class="act-clear"
        />
      </div>
      <HoldFields {...props} />
    </section>
  );
}

function countText({ selection }: ActProps): string {
  const { seats, places } = selection;
  const all = [...places.value.values()].reduce((sum, count) => sum + count, seats.value.size);
  return whole(all);
}

function stateTexts(counts: readonly number[]): string[] {
  return LISTED_STATES.filter((state) => counts[state]! > 0).map((state) =>
    T.state(whole(counts[state]!), TEXTS.states[state]),
  );
}

function summary(count: number, counts: readonly number[]): string {
  return [T.selected(String(count)), ...stateTexts(counts)].join(", ");
}

/** A button is off when nothing selected is in a state for it. */
function Buttons({ event, selection, acting, counts }: ActProps & { counts: readonly number[] }) {
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
      {T.actions[action]}
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

/** Session and type of a hold. */
function HoldFields({ acting }: ActProps) {
  return (
    <div class="act-fields">
      <label>
        {T.session}
        <input
          value={acting.sessionId.value}
          maxLength={100}
          onInput={({ currentTarget: { value } }) => (acting.sessionId.value = value)}
        />
      </label>
      <label>
        {T.holdType}
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

export function AreaFields({ event, selection }: ActProps) {
  return (
    <>
      {[...selection.places.value].map(([area, count]) => {
        const { active, locked, capacity } = event.seats.areas[area]!;
        const name = event.geometry.areas[area]!.name;
        return (
          <div class="area-line" key={area}>
            <label>
              <strong>{T.area(name)}</strong>
              <input
                type="number"
                min="1"
                max={capacity}
                value={count}
                onInput={({ currentTarget: { valueAsNumber } }) =>
                  selection.setPlaces(area, Math.max(1, Math.floor(valueAsNumber) || 1))
                }
              />
            </label>
            <span class="note">{T.areaCounts(whole(active), whole(locked))}</span>
            <IconButton
              name="close"
              label={`${T.leaveOut(1)}: ${name}`}
              onClick={() => selection.setPlaces(area, 0)}
            />
          </div>
        );
      })}
    </>
  );
}

export function ActResult({ event, acting }: ActProps) {
  const step = acting.step.value;
  if (step.kind === "idle") return null;
  return (
    <div class="act-result">
      <Text step={step} />
      {step.kind === "refused" && <RefusedList event={event} refused={step.refused} />}
      <div class="act-answers">
        <Answers step={step} acting={acting} />
      </div>
    </div>
  );
}

function Text({ step }: { readonly step: Step }) {
  if (step.kind === "busy") return <p>{T.busy}</p>;
  if (step.kind === "checked") return <p>{T.checked(T.places(step.count))}</p>;
  if (step.kind === "undone") return <p>{T.undone[step.action](T.places(step.count))}</p>;
  if (step.kind === "done") {
    return (
      <p>
        <strong>{T.done[step.action](T.places(step.count))}</strong>{" "}
        {step.undo === null && <span class="note">{T.final[step.action]}</span>}
      </p>
    );
  }
  if (step.kind !== "refused") return null;
  const { refused, count, message, isDry } = step;
  return (
    <p>
      <strong>
        {refused.length === 0 ? message : T.refusedOf(String(refused.length), String(count))}
      </strong>{" "}
      <span class="note">{isDry ? T.dry : T.nothing}</span>
    </p>
  );
}

function RefusedList({
  event,
  refused,
}: {
  readonly event: LiveEvent;
  readonly refused: readonly Refused[];
}) {
  if (refused.length === 0) return null;
  return (
    <ul class="refused" tabIndex={0} aria-label={T.refusedOf(String(refused.length), "")}>
      {refused.slice(0, SHOWN_MAX).map((one, i) => (
        <li key={i}>
          <span>{nameOfRefused(event, one)}</span>
          <span class="reason">{one.reason}</span>
        </li>
      ))}
      {refused.length > SHOWN_MAX && <li class="note">{T.more(refused.length - SHOWN_MAX)}</li>}
    </ul>
  );
}

function Answers({ step, acting }: { readonly step: Step; readonly acting: Acting }) {
  const cancel = (label: string) => (
    <button type="button" onClick={() => acting.dismiss()}>
      {label}
    </button>
  );
  if (step.kind === "busy" || step.kind === "idle") return null;
  if (step.kind === "checked") {
    const { action, count } = step;
    return (
      <>
        {cancel(T.cancel)}
        <button type="button" class="primary" onClick={() => void acting.confirm(action)}>
          {T.confirm(T.actions[action], T.places(count))}
        </button>
      </>
    );
  }
  if (step.kind === "refused") {
    const { action, refused, count } = step;
    const isSome = refused.length > 0 && refused.length < count;
    return (
      <>
        {cancel(T.close)}
        {isSome && <LeaveOut acting={acting} action={action} refused={refused} />}
      </>
    );
  }
  return (
    <>
      {cancel(T.close)}
      {step.kind === "done" && step.undo !== null && (
        <button type="button" onClick={() => void acting.undo(step.action, step.undo!)}>
          {T.undo}
        </button>
      )}
    </>
  );
}

interface LeaveOutProps {
  readonly acting: Acting;
  readonly action: Action;
  readonly refused: readonly Refused[];
}

function LeaveOut({ acting, action, refused }: LeaveOutProps) {
  return (
    <button type="button" class="primary" onClick={() => void acting.leaveOut(action, refused)}>
      {T.leaveOut(refused.length)}
    </button>
  );
}

function nameOfRefused(event: LiveEvent, { seat, area }: Refused): string {
  if (seat !== undefined) return seatName(event, seat);
  return event.geometry.areas[area!]?.name ?? "";
}

export function SeatList(props: ActProps & { readonly onClose: () => void }) {
  const { onClose } = props;
  const closing = useRef<HTMLButtonElement>(null);
  const beat = useSignal(0);
  // Not later: it would take the focus from somebody who is faster.
  useLayoutEffect(() => closing.current!.focus(), []);
  useEffect(() => {
    const timer = setInterval(() => (beat.value += 1), REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <section
      class="seat-list"
      aria-label={TEXTS.list.title}
      onKeyDown={({ key }) => key === "Escape" && onClose()}
    >
      <header>
        <h2>{TEXTS.list.title}</h2>
        <IconButton name="close" label={TEXTS.list.close} onClick={onClose} buttonRef={closing} />
      </header>
      <p class="note">{TEXTS.list.hint}</p>
      <Groups {...props} beat={beat.value} />
    </section>
  );
}

interface BeatProps extends ActProps {
  /** Makes the list follow the event. */
  readonly beat: number;
}

function Groups(props: BeatProps) {
  const { event, selection } = props;
  const { sections, areas } = event.geometry;
  const open = useSignal(-1);
  return (
    <ul>
      {areas.map(({ id, name }, area) => {
        const { active, capacity } = event.seats.areas[area]!;
        return (
          <li key={id}>
            <button
              type="button"
              class="list-section"
              aria-pressed={selection.places.value.has(area)}
              onClick={() => selection.setPlaces(area, 1)}
            >
              <span>{name}</span>
              <span class="note">{seatsText(active, capacity)}</span>
            </button>
          </li>
        );
      })}
      {sections.map(({ id, name }, section) => (
        <li key={id}>
          <button
            type="button"
            class="list-section"
            aria-expanded={open.value === section}
            onClick={() => (open.value = open.value === section ? -1 : section)}
          >
            <span>{name}</span>
            <span class="note">{freeText(props, section)}</span>
          </button>
          {open.value === section && <Rows {...props} section={section} />}
        </li>
      ))}
    </ul>
  );
}

function freeText({ event, selection }: ActProps, section: number): string {
  const { states } = event.seats;
  const seats = selection.seatsOfSection(section);
  return seatsText(seats.filter((seat) => states[seat] === SeatState.FREE).length, seats.length);
}

function seatsText(free: number, all: number): string {
  return TEXTS.list.seats(whole(free), whole(all));
}

interface RowsProps extends BeatProps {
  readonly section: number;
}

function Rows({ event, selection, section }: RowsProps) {
  const { rows, sections, labels, labelOfSeat } = event.geometry;
  const { name, rows: indexes } = sections[section]!;
  return (
    <div class="list-rows">
      <button type="button" onClick={() => selection.take(selection.seatsOfSection(section), true)}>
        {TEXTS.list.selectSection(name)}
      </button>
      {indexes.map((row) => (
        <div class="list-row" key={row} role="group" aria-label={TEXTS.row(rows[row]!.name)}>
          <span class="list-row-name">{rows[row]!.name}</span>
          <span class="list-seats">
            {[...rows[row]!.seats].map((seat, i) => (
              <button
                key={seat}
                type="button"
                class={`list-seat state-${event.seats.states[seat]}`}
                tabIndex={i === 0 ? 0 : -1}
                aria-pressed={selection.seats.value.has(seat)}
                aria-label={describe(event, seat)}
                onClick={() => selection.toggle(seat)}
                onKeyDown={moveFocus}
              >
                {labels[labelOfSeat[seat]!]}
              </button>
            ))}
          </span>
        </div>
      ))}
    </div>
  );
}

/** Left and right within a row; up and down to the other rows. */
function moveFocus(event: KeyboardEvent): void {
  const button = event.currentTarget as HTMLElement;
  const seats = [...button.parentElement!.children] as HTMLElement[];
  const at = seats.indexOf(button);
  const row = button.closest(".list-row")!;
  const seatIn = (other: Element | null) =>
    [...(other?.querySelectorAll<HTMLElement>(".list-seat") ?? [])].slice(0, at + 1).at(-1);
  const next = {
    ArrowLeft: seats[at - 1],
    ArrowRight: seats[at + 1],
    ArrowUp: seatIn(row.previousElementSibling),
    ArrowDown: seatIn(row.nextElementSibling),
  }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
