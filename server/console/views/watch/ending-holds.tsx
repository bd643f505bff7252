/** Holds that end soon, each with the time that is left. */
import type { Hold } from "../../api/watch.ts";
import type { LiveEvent } from "../../state/live-event.ts";
import { endingHolds } from "../../state/watch/ending-holds.ts";
import { TEXTS } from "../../texts.ts";
import { countdown, nameOf, whole } from "./format.ts";

const SHOWN = 5;
const SOON_SECONDS = 15;

interface EndingHoldsProps {
  readonly event: LiveEvent;
  readonly holds: readonly Hold[];
  readonly holdCount: number;
  readonly nowMs: number;
}

export function EndingHolds({ event, holds, holdCount, nowMs }: EndingHoldsProps) {
  const ending = endingHolds(holds, nowMs, SHOWN);
  return (
    <section class="ending-holds">
      <h2>
        {TEXTS.watch.endingHolds}
        {holdCount > 0 && <span>{TEXTS.watch.holdCount(whole(holdCount))}</span>}
      </h2>
      {ending.length === 0 && <p class="note">{TEXTS.watch.noHolds}</p>}
      <ul>
        {ending.map(({ hold, secondsLeft, shareLeft }) => (
          <li key={hold.fence} class={secondsLeft <= SOON_SECONDS ? "soon" : ""}>
            <span class="name">{nameOf(event, seatsOf(event, hold))}</span>
            <code>{hold.sessionId}</code>
            <b>{countdown(secondsLeft)}</b>
            <i class="rest" style={{ transform: `scaleX(${shareLeft})` }} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function seatsOf(event: LiveEvent, { seats, areas }: Hold) {
  const places = areas.flatMap(({ groupOfSeatsId, capacity }) => {
    const area = event.areaOf(groupOfSeatsId);
    return area === undefined ? [] : [{ area, places: capacity }];
  });
  return { seats, seatCount: seats.length, areas: places };
}
