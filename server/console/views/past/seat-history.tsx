/** Everything that happened to the seat that is selected. A row leads to its moment. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Transition } from "../../api/events.ts";
import type { LiveEvent } from "../../state/live-event.ts";
import type { Past } from "../../state/past.ts";
import type { Selection } from "../../state/selection.ts";
import { timeMs } from "../../state/watch/ending-holds.ts";
import { TEXTS } from "../../texts.ts";
import { nameOf } from "../act/seat-names.ts";
import { momentOf } from "./moment.ts";

/** A page of the trail. */
const ROWS_MAX = 100;

interface SeatHistoryProps {
  readonly event: LiveEvent;
  readonly past: Past;
  readonly selection: Selection;
}

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
    <section class="seat-history" aria-label={TEXTS.past.seatHistory}>
      <h2>
        {TEXTS.past.seatHistory}
        <span>{nameOf(event, seat)}</span>
      </h2>
      {hasFailed.value && <p class="note">{TEXTS.past.unread}</p>}
      {rows.value?.length === 0 && <p class="note">{TEXTS.past.neverSold}</p>}
      <ol tabIndex={0} aria-label={TEXTS.past.seatHistory}>
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
  return toState === null ? TEXTS.past.noState : TEXTS.past.stateNames[toState];
}
