/** The mark of a state, as on the map. */
import { SeatState } from "../../map/live-seats.ts";

export function Mark({ state }: { readonly state: number }) {
  return (
    <svg class={`mark mark-${state}`} viewBox="-8 -8 16 16" aria-hidden="true">
      {shapeOf(state)}
    </svg>
  );
}

function shapeOf(state: number) {
  if (state === SeatState.FREE) return <circle r="5.6" />;
  if (state === SeatState.SOLD) return <circle r="6.5" />;
  if (state === SeatState.UNPRICED) return <circle r="2.4" />;
  if (state === SeatState.BLOCKED)
    return (
      <>
        <rect x="-6" y="-6" width="12" height="12" rx="2.5" />
        <path d="M-3-3 3 3M3-3-3 3" />
      </>
    );
  return (
    <>
      <circle r="6.5" />
      <circle class="hole" r="2.4" />
    </>
  );
}
