/** The panel beside the map. */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { Api } from "../../api/http.ts";
import type { LiveEvent } from "../../state/live-event.ts";
import type { Past } from "../../state/past.ts";
import { Watch } from "../../state/watch/watch.ts";
import { ByPrice } from "./by-price.tsx";
import { EndingHolds } from "./ending-holds.tsx";
import { HappeningList } from "./happenings.tsx";
import { OverTime } from "./over-time.tsx";
import { SaleRates } from "./sale-rates.tsx";
import { ServerHealth } from "./server-health.tsx";
import { SoldShare } from "./sold-share.tsx";

interface WatchPanelProps {
  readonly api: Api;
  readonly event: LiveEvent;
  readonly past: Past;
  /** States that the map fades. */
  readonly faded: ReadonlySet<number>;
  readonly onFade: (faded: ReadonlySet<number>) => void;
  /** What comes first in the panel. */
  readonly children?: ComponentChildren;
}

/** Each part follows its own signals, so that a change draws no more than what shows it. */
export function WatchPanel({ api, event, past, faded, onFade, children }: WatchPanelProps) {
  const watch = useMemo(() => new Watch(api, event, past), [api, past]);
  useEffect(() => watch.start(), [watch]);
  const parts = useMemo(() => partsOf(event, watch, past), [watch]);
  return (
    <div class="watch">
      {children}
      <parts.Share faded={faded} onFade={onFade} />
      <parts.Time />
      <parts.Present />
      <HappeningList event={event} watch={watch} past={past} />
      <parts.Server />
    </div>
  );
}

/** In the past, only the share and the list of changes have figures of that moment. */
function partsOf(event: LiveEvent, watch: Watch, past: Past) {
  const present = presentParts(event, watch);
  const isNow = () => past.atMs.value === null;
  return {
    Share: (fading: Pick<WatchPanelProps, "faded" | "onFade">) => (
      <SoldShare totals={isNow() ? watch.totals.value : past.totals.value} {...fading} />
    ),
    Time: () => <OverTime columns={watch.overTime.value} />,
    Present: () =>
      isNow() && (
        <>
          <present.Rates />
          <present.Prices />
          <present.Holds />
        </>
      ),
    Server: () =>
      isNow() && <ServerHealth figures={watch.server.value} isShown={watch.hasMetrics.value} />,
  };
}

function presentParts(event: LiveEvent, watch: Watch) {
  return {
    Rates: () => <SaleRates rates={watch.rates.value} />,
    Prices: () => <ByPrice event={event} prices={watch.byPrice.value} />,
    Holds: () => (
      <EndingHolds
        event={event}
        holds={watch.holds.value}
        holdCount={watch.holdCount.value}
        nowMs={watch.nowMs.value}
      />
    ),
  };
}
