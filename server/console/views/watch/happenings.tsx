/** What happens: a rolling list of changes, which stands still while somebody is in it. */
import { useSignal } from "@preact/signals";
import { SeatState } from "../../map/live-seats.ts";
import type { LiveEvent } from "../../state/live-event.ts";
import type { Past } from "../../state/past.ts";
import { timeMs } from "../../state/watch/ending-holds.ts";
import type { Happening } from "../../state/watch/happenings.ts";
import type { Watch } from "../../state/watch/watch.ts";
import { TEXTS } from "../../texts.ts";
import { clockTime, nameOf } from "./format.ts";
import { Mark } from "./mark.tsx";

/** The state in which a call leaves its seats. */
const STATE_AFTER: Readonly<Record<string, number>> = {
  lock: SeatState.HELD,
  best: SeatState.HELD,
  extend: SeatState.HELD,
  sale: SeatState.SOLD,
  directsale: SeatState.SOLD,
  unlock: SeatState.FREE,
  expire: SeatState.FREE,
  revertsale: SeatState.FREE,
  unblock: SeatState.FREE,
  block: SeatState.BLOCKED,
};
const FILTERED_CALLS = [
  "lock",
  "sale",
  "directsale",
  "unlock",
  "expire",
  "revertsale",
  "block",
  "unblock",
];

interface HappeningsProps {
  readonly event: LiveEvent;
  readonly watch: Watch;
  readonly past: Past;
}

export function HappeningList({ event, watch, past }: HappeningsProps) {
  const filter = useSignal({ call: "", session: "" });
  const still = useSignal<readonly Happening[] | null>(null);
  const change = (part: Partial<typeof filter.value>) => {
    filter.value = { ...filter.value, ...part };
    watch.filter = filter.value;
  };
  const isNow = past.atMs.value === null;
  const present = still.value ?? watch.happenings.value;
  const rows = isNow ? present : past.happenings.value;
  const isFiltered = filter.value.call !== "" || filter.value.session !== "";
  const hold = () => (still.value ??= watch.happenings.value);
  const release = () => (still.value = null);
  return (
    <section class="happenings">
      <h2>
        {TEXTS.watch.happenings}
        {still.value !== null && <span>{TEXTS.watch.paused}</span>}
      </h2>
      {isNow && (
        <div class="filters">
          <select
            aria-label={TEXTS.watch.call}
            onChange={({ currentTarget }) => change({ call: currentTarget.value })}
          >
            <option value="">{TEXTS.watch.everyCall}</option>
            {FILTERED_CALLS.map((call) => (
              <option key={call} value={call}>
                {TEXTS.calls[call]}
              </option>
            ))}
          </select>
          <input
            type="search"
            placeholder={TEXTS.watch.session}
            aria-label={TEXTS.watch.session}
            onInput={({ currentTarget }) => change({ session: currentTarget.value.trim() })}
          />
        </div>
      )}
      {rows.length === 0 && (
        <p class="note">{isFiltered ? TEXTS.watch.nothingPasses : TEXTS.watch.nothingHappened}</p>
      )}
      <ol
        tabIndex={0}
        aria-label={TEXTS.watch.happenings}
        onPointerEnter={hold}
        onPointerLeave={release}
        onFocus={hold}
        onBlur={release}
      >
        {rows.map((row) => (
          <li key={row.sequence}>
            <time>{clockTime(timeMs(row.time))}</time>
            <Mark state={STATE_AFTER[row.call] ?? SeatState.UNPRICED} />
            <span class="name">{nameOf(event, row)}</span>
            <span class="call">{TEXTS.calls[row.call] ?? row.call}</span>
            <code>{row.sessionId}</code>
          </li>
        ))}
      </ol>
    </section>
  );
}
