/** The prices of an event: one is chosen for the next click, others can be added. */
import type { TargetedSubmitEvent } from "preact";
import type { LiveEvent } from "../../state/live-event.ts";
import type { Pricing } from "../../state/pricing.ts";
import { TEXTS } from "../../texts.ts";

export interface PricingProps {
  readonly event: LiveEvent;
  readonly pricing: Pricing;
}

const T = TEXTS.prices;
/** As many as the map has. */
const COLOUR_COUNT = 10;

export function PriceChoice({ event, pricing }: PricingProps) {
  const add = (submitted: TargetedSubmitEvent<HTMLFormElement>) => {
    submitted.preventDefault();
    const form = submitted.currentTarget;
    void pricing.addPrice((new FormData(form).get("price") as string).trim());
    form.reset();
  };
  return (
    <>
      {event.prices.value.length > 0 && (
        <fieldset class="brushes">
          <legend>{T.price}</legend>
          {event.prices.value.map((price) => (
            <label key={price.id} class="brush">
              <input
                type="radio"
                name="brush"
                checked={pricing.brush.value === price.id}
                onChange={() => (pricing.brush.value = price.id)}
              />
              <span class={`swatch price-${pricing.colourOf(price) % COLOUR_COUNT}`} />
              {price.name}
            </label>
          ))}
        </fieldset>
      )}
      <form class="add-price" onSubmit={add}>
        <label>
          {T.add}
          <input name="price" maxLength={255} placeholder={T.name} required />
        </label>
        <button type="submit">{T.submit}</button>
      </form>
    </>
  );
}
