/** What is at the pointer. */
import type { Hit, Point } from "../map/hits.ts";
import type { LiveEvent } from "../state/live-event.ts";
import { TEXTS } from "../texts.ts";

interface TipProps {
  readonly event: LiveEvent;
  readonly hit: Hit;
  readonly at: Point;
}

export function Tip({ event, hit, at }: TipProps) {
  const { geometry, seats } = event;
  const style = { transform: `translate(${at.x + 14}px, ${at.y + 14}px)` };
  if (hit.kind === "area") return <Box style={style} title={geometry.areas[hit.area]!.name} />;
  if (hit.kind === "section")
    return <Box style={style} title={geometry.sections[hit.section]!.name} />;
  const { seat } = hit;
  const row = geometry.rows[geometry.rowOfSeat[seat]!]!;
  const state = seats.states[seat]!;
  const price = event.priceAt(seats.prices[seat]!)?.name;
  return (
    <Box style={style} title={geometry.sections[row.section]!.name}>
      <span>
        {TEXTS.row(row.name)} · {TEXTS.seat(geometry.labels[geometry.labelOfSeat[seat]!]!)}
      </span>
      <span class={`state-${state}`}>
        {TEXTS.states[state]}
        {price === undefined ? "" : ` · ${price}`}
      </span>
    </Box>
  );
}

interface BoxProps {
  readonly style: { readonly transform: string };
  readonly title: string;
  readonly children?: preact.ComponentChildren;
}

function Box({ style, title, children }: BoxProps) {
  return (
    <div class="tip" style={style}>
      <strong>{title}</strong>
      {children}
    </div>
  );
}
