/** Prices of an event while they are set: the price of the next click, and what has which. */
import { signal } from "@preact/signals";
import {
  type AreaFacts,
  assignPrices,
  changeStatus,
  createPrice,
  type PriceItem,
  readAreas,
} from "../api/catalog.ts";
import { type Price, readPrices } from "../api/events.ts";
import type { Api } from "../api/http.ts";
import type { Hit } from "../map/hits.ts";
import { NO_PRICE, SeatState } from "../map/live-seats.ts";
import { TEXTS } from "../texts.ts";
import { announce } from "./announce.ts";
import type { LiveEvent } from "./live-event.ts";

const SEVERAL = -2;

export class Pricing {
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

  /** Gives the price to what was clicked: a seat stands for its section. */
  async paint(hit: Hit): Promise<void> {
    const { rows, rowOfSeat } = this.#event.geometry;
    if (hit.kind === "area") return this.paintArea(hit.area);
    const section = hit.kind === "seat" ? rows[rowOfSeat[hit.seat]!]!.section : hit.section;
    const { id, name } = this.#event.geometry.sections[section]!;
    await this.#assign([{ objectId: id, assignmentId: this.brush.value }], name);
  }

  /** @param places - That go on sale; those of the layout when not given. */
  async paintArea(area: number, places?: number): Promise<void> {
    const { id, name } = this.#event.geometry.areas[area]!;
    const count = places === undefined ? {} : { activeCount: places };
    await this.#assign([{ objectId: id, assignmentId: this.brush.value, ...count }], name);
  }

  /** Gives the price to all that has none. */
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
      announce(TEXTS.prices.published);
    });
  }

  nameOfSection(section: number): string {
    const index = this.#priceIndexOf(section);
    if (index === SEVERAL) return TEXTS.prices.several;
    return this.#event.priceAt(index)?.name ?? TEXTS.prices.none;
  }

  nameOfArea(id: number): string {
    const priceId = this.areaFacts(id)?.priceId;
    const { value } = this.#event.prices;
    return value.find((price) => price.id === priceId)?.name ?? TEXTS.prices.none;
  }

  areaFacts(id: number): AreaFacts | undefined {
    return this.areas.value.find(({ groupOfSeatsId }) => groupOfSeatsId === id);
  }

  /** The index of a price, for its colour. */
  colourOf({ id }: Price): number {
    return this.#event.priceIndex(id);
  }

  #priceIndexOf(section: number): number {
    const { rows, sections } = this.#event.geometry;
    const { prices, states } = this.#event.seats;
    const found = new Set<number>();
    for (const row of sections[section]!.rows) {
      for (const seat of rows[row]!.seats) {
        if (states[seat] !== SeatState.HIDDEN) found.add(prices[seat]!);
      }
    }
    return found.size > 1 ? SEVERAL : ([...found][0] ?? NO_PRICE);
  }

  async #assign(items: readonly PriceItem[], where: string): Promise<void> {
    const price = this.#event.prices.value.find(({ id }) => id === this.brush.value);
    if (price === undefined) {
      this.error.value = TEXTS.prices.chooseFirst;
      return;
    }
    await this.#try(async () => {
      await assignPrices(this.#api, this.#event.facts.id, items);
      await this.#readAreas();
      announce(TEXTS.prices.assigned(price.name, where));
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
