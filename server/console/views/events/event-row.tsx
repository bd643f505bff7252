/** One event of the list. */
import type { StateCounts } from "../../api/catalog.ts";
import type { EventFacts } from "../../api/events.ts";
import { hashOf } from "../../state/place.ts";
import { TEXTS } from "../../texts.ts";
import { Icon } from "../icon.tsx";
import { dateOf } from "./moments.ts";

interface EventRowProps {
  readonly event: EventFacts;
  readonly counts: StateCounts | undefined;
}

export function EventRow({ event, counts }: EventRowProps) {
  const { id, name, start, status, venueName } = event;
  return (
    <li>
      <a class="event-row" href={hashOf({ kind: "event", id })}>
        <span class="event-name">
          <strong>{name}</strong>
          <span class="note">{[venueName, dateOf(start)].filter(Boolean).join(" · ")}</span>
        </span>
        <span class={`status status-${status.toLowerCase()}`}>
          {TEXTS.events.status[status] ?? status}
        </span>
        {counts === undefined ? <span class="fullness" /> : <Fullness counts={counts} />}
        <Icon name="next" />
      </a>
    </li>
  );
}

function Fullness({ counts }: { readonly counts: StateCounts }) {
  const { active, locked, sold, blocked } = counts;
  const all = active + locked + sold + blocked;
  const text = (value: number) => value.toLocaleString("en");
  if (all === 0) return <span class="fullness note">{TEXTS.events.notOnSale}</span>;
  return (
    <span class="fullness">
      <span class="fullness-line">
        <strong>{TEXTS.events.soldShare(((100 * sold) / all).toFixed(1))}</strong>
        <span class="note">
          {TEXTS.events.held(text(locked))} · {TEXTS.events.free(text(active))}
        </span>
      </span>
      <FullnessBar shares={[sold / all, locked / all]} />
    </span>
  );
}

/** @param shares - Sold and held. */
function FullnessBar({ shares: [sold, held] }: { readonly shares: readonly [number, number] }) {
  return (
    <svg class="fullness-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect class="fill-free" width="100" height="6" />
      <rect class="fill-sold" width={100 * sold} height="6" />
      <rect class="fill-held" x={100 * sold} width={100 * held} height="6" />
    </svg>
  );
}
