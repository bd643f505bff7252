/** The page of prices: sections and areas take a price by clicks, then the event is published. */
import { signal } from "@preact/signals";
import type { TargetedSubmitEvent } from "preact";
import { useMemo } from "preact/hooks";
import {
  type AreaFacts,
  assignPrices,
  changeStatus,
  createPrice,
  type PriceItem,
  readAreas,
  readPrices,
} from "../api/calls.ts";
import type { Api } from "../api/http.ts";
import type { Hit } from "../map/gestures.ts";
import { NO_PRICE } from "../map/seats.ts";
import type { LiveEvent } from "../state/live-event.ts";
import { announce, hashOf } from "../state/page.ts";
import { TEXTS } from "../texts.ts";
import { MapView } from "./map-view.tsx";
import { hueOf, TopBar } from "./parts.tsx";

const T = TEXTS.prices;
/** Index of the price of a section with more than one. */
const SEVERAL = -2;

/** The price of the next click, and the price of each section and area. */
class Pricing {
  /** The price of the next click; 0 before there is one. */
  readonly brush = signal(0);
  /** Of the server, since changes do not tell the price of an area. */
  readonly areas = signal<readonly AreaFacts[]>([]);
  readonly error = signal("");
  readonly #api: Api;
  readonly #event: LiveEvent;

  constructor(api: Api, event: LiveEvent) {
    this.#api = api;
    this.#event = event;
    this.brush.value = event.prices.value[0]?.id ?? 0;
    void this.#try(async () => this.#readAreas());
  }

  async addPrice(name: string): Promise<void> {
    await this.#try(async () => {
      const { id } = this.#event.facts;
      const [created] = await createPrice(this.#api, id, name);
      this.#event.prices.value = await readPrices(this.#api, id);
      this.brush.value = created!.id;
    });
  }

  /** Gives the price to the clicked section or area: a seat stands for its section. */
  async paint(hit: Hit): Promise<void> {
    const { rows, rowOfSeat } = this.#event.geometry;
    if (hit.kind === "area") return this.paintArea(hit.area);
    const section = hit.kind === "seat" ? rows[rowOfSeat[hit.seat]!]!.section : hit.section;
    const { id, name } = this.#event.geometry.sections[section]!;
    await this.#assign([{ objectId: id, assignmentId: this.brush.value }], name);
  }

  /** @param places - To put on sale; those of the layout when not given. */
  async paintArea(area: number, places?: number): Promise<void> {
    const { id, name } = this.#event.geometry.areas[area]!;
    const count = places === undefined ? {} : { activeCount: places };
    await this.#assign([{ objectId: id, assignmentId: this.brush.value, ...count }], name);
  }

  /** Gives the price to everything without one. */
  async paintRest(): Promise<void> {
    const { sections, areas } = this.#event.geometry;
    const bare = [
      ...sections.filter((_, section) => this.#priceIndexOf(section) === NO_PRICE),
      ...areas.filter(({ id }) => this.areaFacts(id)?.priceId === undefined),
    ];
    const items = bare.map(({ id }) => ({ objectId: id, assignmentId: this.brush.value }));
    if (items.length > 0) await this.#assign(items, bare.map(({ name }) => name).join(", "));
  }

  async publish(): Promise<void> {
    await this.#try(async () => {
      await changeStatus(this.#api, this.#event.facts.id, "PUBLISHED");
      announce(T.published);
    });
  }

  nameOfSection(section: number): string {
    const index = this.#priceIndexOf(section);
    if (index === SEVERAL) return T.several;
    return this.#event.priceAt(index)?.name ?? T.none;
  }

  nameOfArea(id: number): string {
    const priceId = this.areaFacts(id)?.priceId;
    const { value } = this.#event.prices;
    return value.find((price) => price.id === priceId)?.name ?? T.none;
  }

  areaFacts(id: number): AreaFacts | undefined {
    return this.areas.value.find(({ groupOfSeatsId }) => groupOfSeatsId === id);
  }

  #priceIndexOf(section: number): number {
    const { rows, sections } = this.#event.geometry;
    const { prices } = this.#event.seats;
    const found = new Set<number>();
    for (const row of sections[section]!.rows) {
      for (const seat of rows[row]!.seats) found.add(prices[seat]!);
    }
    return found.size > 1 ? SEVERAL : ([...found][0] ?? NO_PRICE);
  }

  async #assign(items: readonly PriceItem[], where: string): Promise<void> {
    const price = this.#event.prices.value.find(({ id }) => id === this.brush.value);
    if (price === undefined) {
      this.error.value = T.chooseFirst;
      return;
    }
    await this.#try(async () => {
      await assignPrices(this.#api, this.#event.facts.id, items);
      await this.#readAreas();
      announce(T.assigned(price.name, where));
    });
  }

  async #readAreas(): Promise<void> {
    this.areas.value = await readAreas(this.#api, this.#event.facts.id);
  }

  async #try(work: () => Promise<void>): Promise<void> {
    this.error.value = "";
    try {
      await work();
    } catch (error) {
      this.error.value = (error as Error).message;
    }
  }
}

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

/** Sections and areas as buttons, each with its present price. */
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

interface PricingProps {
  readonly event: LiveEvent;
  readonly pricing: Pricing;
}

/** One price is chosen for the next click; others can be added. */
function PriceChoice({ event, pricing }: PricingProps) {
  const add = (submitted: TargetedSubmitEvent<HTMLFormElement>) => {
    submitted.preventDefault();
    const form = submitted.currentTarget;
    void pricing.addPrice((new FormData(form).get("price") as string).trim());
    form.reset();
  };
  return (
    <>
      {event.prices.value.length > 0 && (
        <fieldset>
          <legend>{T.price}</legend>
          {event.prices.value.map((price) => (
            <label key={price.id} class="brush">
              <input
                type="radio"
                name="brush"
                checked={pricing.brush.value === price.id}
                onChange={() => (pricing.brush.value = price.id)}
              />
              <i class="hue" style={hueOf(event, price.id)} />
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
