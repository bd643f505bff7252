/** The panel beside the map. */
import { useEffect, useMemo } from "preact/hooks";
import type { Api } from "../../api/http.ts";
import type { LiveEvent } from "../../state/live-event.ts";
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
  /** States that the map fades. */
  readonly faded: ReadonlySet<number>;
  readonly onFade: (faded: ReadonlySet<number>) => void;
}

/** Each part follows its own signals, so that a change draws no more than what shows it. */
export function WatchPanel({ api, event, faded, onFade }: WatchPanelProps) {
  const watch = useMemo(() => new Watch(api, event), [api, event]);
  useEffect(() => watch.start(), [watch]);
  const parts = useMemo(() => partsOf(event, watch), [event, watch]);
  return (
    <div class="watch">
      <parts.Share faded={faded} onFade={onFade} />
      <parts.Time />
      <parts.Rates />
      <parts.Prices />
      <parts.Holds />
      <HappeningList event={event} watch={watch} />
      <parts.Server />
    </div>
  );
}

function partsOf(event: LiveEvent, watch: Watch) {
  return {
    Share: (fading: Pick<WatchPanelProps, "faded" | "onFade">) => (
      <SoldShare totals={watch.totals.value} {...fading} />
    ),
    Time: () => <OverTime columns={watch.overTime.value} />,
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
    Server: () => <ServerHealth figures={watch.server.value} isShown={watch.hasMetrics.value} />,
  };
}
