/** How much of each price is sold. */
import type { PriceSummary } from "../../api/watch.ts";
import type { LiveEvent } from "../../state/live-event.ts";
import { TEXTS } from "../../texts.ts";
import { whole } from "./format.ts";

const COLOURS = 10;

interface ByPriceProps {
  readonly event: LiveEvent;
  readonly prices: readonly PriceSummary[];
}

export function ByPrice({ event, prices }: ByPriceProps) {
  const shown = prices.filter((price) => placesOf(price) > 0);
  return (
    <section class="by-price">
      <h2>{TEXTS.watch.byPrice}</h2>
      {shown.length === 0 && <p class="note">{TEXTS.watch.noPrices}</p>}
      <ul>
        {shown.map((price) => {
          const share = (100 * price.sold) / placesOf(price);
          const percent = `${Math.floor(share)} %`;
          return (
            <li key={price.priceId} class={`hue-${event.priceIndex(price.priceId) % COLOURS}`}>
              <i class="hue" />
              <span class="name">{price.priceName}</span>
              <span class="meter">
                <i style={{ width: `${share}%` }} />
              </span>
              <b>{percent}</b>
              <span class="left">{TEXTS.watch.left(whole(price.active))}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function placesOf({ active, locked, sold, blocked }: PriceSummary): number {
  return active + locked + sold + blocked;
}
