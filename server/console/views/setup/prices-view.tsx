/** Sets prices by clicking sections and areas. */
import { useMemo } from "preact/hooks";
import type { Api } from "../../api/http.ts";
import type { LiveEvent } from "../../state/live-event.ts";
import { hashOf } from "../../state/place.ts";
import { Pricing } from "../../state/pricing.ts";
import { TEXTS } from "../../texts.ts";
import { MapView } from "../map-view.tsx";
import { TopBar } from "../top-bar.tsx";
import { PriceChoice, type PricingProps } from "./price-choice.tsx";

const T = TEXTS.prices;

interface PricesViewProps {
  readonly api: Api;
  readonly event: LiveEvent;
}

export function PricesView({ api, event }: PricesViewProps) {
  const pricing = useMemo(() => new Pricing(api, event), [event]);
  const { id, name } = event.facts;
  return (
    <div class="event">
      <TopBar>
        <h1>{name}</h1>
        <a class="quiet" href={hashOf({ kind: "event", id })}>
          {T.open}
        </a>
      </TopBar>
      <MapView
        event={event}
        colorBy="price"
        onPick={(hit) => void (hit === null ? null : pricing.paint(hit))}
      />
      <aside class="panel prices">
        <h2>{T.title}</h2>
        <p class="note">{T.lead}</p>
        <p role="alert">{pricing.error}</p>
        <PriceChoice event={event} pricing={pricing} />
        <Status event={event} pricing={pricing} />
        <Groups event={event} pricing={pricing} sequence={event.sequence.value} />
      </aside>
    </div>
  );
}

function Status({ event, pricing }: PricingProps) {
  if (event.status.value !== "DRAFT") return null;
  return (
    <div class="draft">
      <p>{T.draft}</p>
      <button type="button" class="primary" onClick={() => void pricing.publish()}>
        {T.publish}
      </button>
    </div>
  );
}

/** Sections and areas as buttons, with the price of each, which changes with the event. */
function Groups({ event, pricing }: PricingProps & { readonly sequence: number }) {
  const { sections, areas } = event.geometry;
  return (
    <>
      <h2>{T.sections}</h2>
      <button type="button" onClick={() => void pricing.paintRest()}>
        {T.rest}
      </button>
      <ul class="price-groups">
        {areas.map(({ id, name }, area) => (
          <li key={id} class="price-area">
            <GroupButton
              name={name}
              price={pricing.nameOfArea(id)}
              onClick={() => void pricing.paintArea(area)}
            />
            <input
              type="number"
              min="0"
              aria-label={T.places(name)}
              value={pricing.areaFacts(id)?.capacity ?? 0}
              onChange={({ currentTarget: { valueAsNumber } }) =>
                void pricing.paintArea(area, valueAsNumber)
              }
            />
          </li>
        ))}
        {sections.map(({ id, name }, section) => (
          <li key={id}>
            <GroupButton
              name={name}
              price={pricing.nameOfSection(section)}
              onClick={() => void pricing.paint({ kind: "section", section })}
            />
          </li>
        ))}
      </ul>
    </>
  );
}

interface GroupButtonProps {
  readonly name: string;
  readonly price: string;
  readonly onClick: () => void;
}

function GroupButton({ name, price, onClick }: GroupButtonProps) {
  return (
    <button type="button" class="list-section" onClick={onClick}>
      <span>{name}</span>
      <span class="note">{price}</span>
    </button>
  );
}
