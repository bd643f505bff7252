/** How fast seats are sold, held and given back. */
import type { Kind } from "../../state/watch/rates.ts";
import type { RateFigures } from "../../state/watch/watch.ts";
import { TEXTS } from "../../texts.ts";
import { whole } from "./format.ts";

const KINDS: readonly Kind[] = ["sold", "held", "released", "expired"];
const HEIGHT = 28;
const BAR = { pitch: 5, width: 4 };

export function SaleRates({ rates: { perMinute, sold } }: { readonly rates: RateFigures }) {
  const most = Math.max(1, ...sold);
  const bars = sold.map((count, i) => {
    const height = Math.max(count === 0 ? 1 : 3, (HEIGHT * count) / most);
    return `M${i * BAR.pitch} ${HEIGHT}v${-height}h${BAR.width}v${height}z`;
  });
  return (
    <section class="rates">
      <h2>{TEXTS.watch.rates}</h2>
      <dl>
        {KINDS.map((kind) => (
          <div key={kind}>
            <dt>{TEXTS.watch[kind]}</dt>
            <dd>{whole(perMinute[kind])}</dd>
          </div>
        ))}
      </dl>
      <svg
        viewBox={`0 0 ${60 * BAR.pitch} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={TEXTS.watch.soldBySecond(whole(perMinute.sold))}
      >
        <path d={bars.join("")} />
      </svg>
    </section>
  );
}
