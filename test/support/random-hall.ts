/**
 * Small random halls for the search of the best places: rows with aisles, curves of ids, tables,
 * areas; ranks, focal points, positions of every kind; seats for wheelchairs and hidden ones.
 */
import type {
  BestRequest,
  LayoutBody,
  SentRow,
  SentSeat,
  SentSector,
  SentShape,
  StateSelection,
} from "../../engine/bodies.ts";
import type { BookingKind } from "../../engine/commands.ts";
import type { Layout } from "../../engine/layout/layout.ts";
import type { Random } from "../sim/workload/random.ts";
import type { BestWish, Hall, Point } from "../sim/model/best.ts";
import type { World } from "./engine.ts";
import { guidOf } from "./layout.ts";

/** A seat as it is drawn, in the order of the hall: by row, and along it. */
interface DrawnSeat {
  readonly guid: string;
  readonly sector: string;
  readonly row: string;
  readonly isTable: boolean;
  readonly place: number;
  readonly isAfterAisle: boolean;
  readonly at: Point | null;
  readonly isAccessible: boolean;
  readonly isHidden: boolean;
  readonly rank: number | null;
}

interface RandomHall {
  readonly body: LayoutBody;
  readonly seats: readonly DrawnSeat[];
  readonly areas: readonly string[];
  readonly focus: Point | null;
}

/** The members of one kind for the whole hall: ranks, positions. */
interface Style {
  readonly hasRanks: boolean;
  readonly hasPositions: boolean;
  readonly accessibleOnce: number;
}

function randomHall(random: Random): RandomHall {
  const style = {
    hasRanks: random.once(5),
    hasPositions: !random.once(5),
    accessibleOnce: random.pick([4, 8, 1_000]),
  };
  const sectors: SentSector[] = [];
  const rows: SentRow[] = [];
  const sent: SentSeat[] = [];
  const seats: DrawnSeat[] = [];
  const tables = random.below(3);
  const sections = tables === 0 ? 1 + random.below(2) : random.below(3);
  for (let i = 0; i < sections + tables; i++) {
    const isTable = i >= sections;
    const name = `${isTable ? "T" : "S"}${i}`;
    const offset = random.once(2) ? { x: random.below(20), y: random.below(20) } : {};
    const type = isTable ? { type: "TABLE" as const } : {};
    sectors.push({ guid: guidOf(name), name, ga: false, ...type, ...offset });
    const rowCount = 1 + random.below(isTable ? 2 : 3);
    for (let r = 0; r < rowCount; r++) {
      const row = { guid: guidOf(`${name}r${r}`), sectorGuid: guidOf(name), rowNumber: `${r}` };
      rows.push(row);
      const count = 1 + random.below(isTable ? 3 : 11);
      const drawn = drawRow(random, style, { row: row.guid, r, count, offset });
      sent.push(...drawn.map(({ seat }) => seat));
      for (const [place, { facts }] of drawn.entries()) {
        seats.push({ ...facts, sector: guidOf(name), row: row.guid, isTable, place });
      }
    }
  }
  const areas = Array.from({ length: random.below(3) }, (_, i) => guidOf(`A${i}`));
  for (const [i, guid] of areas.entries()) {
    sectors.push({ guid, name: `A${i}`, ga: true, gaCapacity: 1 + random.below(8) });
  }
  const focalPoint = random.once(3) ? { x: random.below(30), y: random.below(30) - 10 } : null;
  const stage = random.once(3) ? { left: 4, top: -8, width: random.below(9), height: 3 } : null;
  const centre = stage && { x: stage.left + stage.width / 2, y: stage.top + stage.height / 2 };
  const shapes: SentShape[] = stage === null ? [] : [{ purpose: "OBJECT", ...stage }];
  const body = { sectors, rows, seats: shuffled(random, sent), shapes, focalPoint };
  return { body, seats, areas, focus: focalPoint ?? centre };
}

interface RowPlan {
  readonly row: string;
  readonly r: number;
  readonly count: number;
  readonly offset: { readonly x?: number; readonly y?: number };
}

type Facts = Omit<DrawnSeat, "sector" | "row" | "isTable" | "place">;

function drawRow(random: Random, style: Style, { row, r, count, offset }: RowPlan) {
  const gaps = Array.from({ length: count - 1 }, () => (random.once(5) ? 2 + random.below(2) : 1));
  const byWidth = gaps.toSorted((a, b) => a - b);
  const middle = (byWidth.length - 1) / 2;
  const median = (byWidth[Math.floor(middle)]! + byWidth[Math.ceil(middle)]!) / 2;
  let x = random.below(4);
  return Array.from({ length: count }, (_, place) => {
    const gap = gaps[place - 1] ?? 0;
    x += gap;
    const guid = guidOf(`${row.slice(-8)}${place}`);
    const hasAbsolute = random.once(8);
    const isPlaced = style.hasPositions;
    const absolute = hasAbsolute ? { ax: random.below(40), ay: random.below(40) } : {};
    const within = isPlaced ? { x: x + (offset.x ?? 0), y: r + (offset.y ?? 0) } : null;
    const rank = style.hasRanks && !random.once(4) ? random.below(5) : null;
    const isAccessible = random.once(style.accessibleOnce);
    const isHidden = random.once(25);
    const seat: SentSeat = {
      guid,
      rowGuid: row,
      name: `${place + 1}`,
      ...(isPlaced ? { x, y: r } : {}),
      ...absolute,
      ...(rank === null ? {} : { rank }),
      ...(isAccessible ? { isAccessible } : {}),
      ...(isHidden ? { isHidden } : {}),
    };
    const at = hasAbsolute ? { x: absolute.ax!, y: absolute.ay! } : within;
    const isAfterAisle = isPlaced && gap > 1.5 * median;
    const facts: Facts = { guid, at, rank, isAccessible, isHidden, isAfterAisle };
    return { seat, facts };
  });
}

/** So ids do not rise along the rows, in some of the halls. */
function shuffled<T>(random: Random, items: readonly T[]): T[] {
  if (random.once(3)) return [...items];
  return items
    .map((item) => ({ item, key: random.below(1_000_000) }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

const KEYS = ["agency", "press"];
const STATE_NAMES = [null, null, "ACTIVE", "LOCKED", "SOLD", "BLOCKED"];

/** A hall with two prices in an event of its own, sold by chance. */
export class RandomHouse {
  readonly world: World;
  readonly eventId: string;
  readonly prices: readonly number[];
  readonly #drawn: RandomHall;
  readonly #random: Random;
  readonly #orphanMode: BestWish["orphanMode"];
  /** By guid. */
  readonly #ids: ReadonlyMap<string, number>;
  readonly seatIds: readonly number[];
  readonly #hasChannels: boolean;

  constructor(random: Random, world: World) {
    this.#random = random;
    this.#drawn = randomHall(random);
    this.world = world;
    const { caller, tenant, venueId } = world;
    const name = `Hall ${world.engine.sequence}`;
    const schemaId = world.must("createSchema", caller, { body: { name, venueId } }).id;
    const command = { schemaId, body: this.#drawn.body, forceDelete: false };
    const { sectors, rows, seats } = world.must("putLayout", caller, command);
    this.#ids = new Map([...sectors, ...rows, ...seats].map(({ guid, id }) => [guid, id]));
    this.seatIds = seats.map(({ id }) => id);
    const eventId = world.createEvent(caller, schemaId);
    this.eventId = eventId;
    this.prices = [world.createPrice("Full", eventId), world.createPrice("Other", eventId)];
    const price = () => (random.once(4) ? this.prices[1]! : this.prices[0]!);
    const priced = (objectId: number) => ({ objectId, assignmentId: price() });
    const body = {
      seats: this.seatIds.filter(() => !random.once(20)).map(priced),
      groupOfSeats: this.#drawn.areas.map((guid) => priced(this.#ids.get(guid)!)),
    };
    world.must("assignPrices", caller, { eventId, body });
    const { organizationId } = caller;
    this.#orphanMode = random.pick(["off", "off", "strict", "lenient"] as const);
    const settings = { orphanMode: this.#orphanMode };
    world.must("changeSettings", tenant, { organizationId, body: settings });
    world.must("replaceHoldTypes", caller, { body: [{ name: "SHORT", ttlSeconds: 1 }] });
    const taken = random.pick([0, 2, 4, 8, 11]);
    for (const id of this.seatIds) if (random.below(12) < taken) this.take(id);
    this.#hasChannels = random.once(3);
    if (this.#hasChannels) this.#allot();
  }

  /** Locks, sells or blocks a seat, whatever its state. */
  take(id: number): void {
    const kind = this.#random.pick(["lock", "directsale", "block"] as const);
    const holdType = this.#random.pick([null, "SHORT"]);
    this.#book(kind, { sessionId: "other", seats: [{ id }], holdType });
  }

  #book(kind: BookingKind, body: StateSelection): void {
    const { world, eventId } = this;
    world.submit(kind, world.caller, { eventId, body });
  }

  /** Frees or takes a few seats, or lets short holds run out. */
  disturb(): void {
    const { world, seatIds } = this;
    for (let i = this.#random.below(4); i > 0; i--) {
      const id = this.#random.pick(seatIds);
      const kind = this.#random.pick(["lock", "unlock", "unblock", "revertsale", "block"] as const);
      this.#book(kind, { seats: [{ id }] });
    }
    if (this.#random.once(6)) world.clock.timeMs += 2_000;
    if (this.#hasChannels && this.#random.once(2)) this.#allot();
  }

  /** Keeps some seats for a channel, in whatever state. */
  #allot(): void {
    const { world, eventId, seatIds } = this;
    const key = this.#random.pick(KEYS);
    const seats = seatIds.filter(() => this.#random.once(4));
    world.submit("putChannel", world.caller, { eventId, key, body: { name: key, seats } });
  }

  get hall(): Hall {
    const { world } = this;
    const { engine } = world;
    const event = engine.state.catalog.events.get(this.eventId)!;
    engine.expire(event);
    const partition = engine.state.partitionOf(event);
    const { state, price, areas, layout } = partition;
    const slots = engine.state.catalog.pricesOf(event.id);
    const idOf = (guid: string) => this.#ids.get(guid)!;
    const seats = this.#drawn.seats.map(({ guid, sector, row, ...seat }) => {
      const index = layout.seatIndexes.get(idOf(guid))!;
      const slot = partition.channelOf(index);
      return {
        ...seat,
        id: idOf(guid),
        section: idOf(sector),
        row: idOf(row),
        state: STATE_NAMES[state[index]!]!,
        price: slots.get(price[index]!)?.id ?? 0,
        channel: event.channels?.find((channel) => channel.slot === slot)?.key ?? null,
      };
    });
    return {
      seats,
      focus: this.#drawn.focus,
      areas: this.#drawn.areas.map((guid) => {
        const area = layout.areaIndexes.get(idOf(guid))!;
        const active = areas.places(area, 2);
        return { id: idOf(guid), price: slots.get(areas.price[area]!)?.id ?? 0, active };
      }),
    };
  }

  get layout(): Layout {
    const { state } = this.world.engine;
    return state.partitionOf(state.catalog.events.get(this.eventId)!).layout;
  }

  wish(hall: Hall): BestWish {
    const random = this.#random;
    const quantity = 1 + random.below(random.pick([2, 5, 9]));
    const groups = [...hall.areas, ...hall.seats].flatMap((one) =>
      "section" in one ? [one.section, one.row] : [one.id],
    );
    const some = <T>(items: readonly T[]) => {
      return Array.from({ length: 1 + random.below(3) }, () => random.pick(items));
    };
    return {
      quantity,
      priceIds: random.once(3) ? some(this.prices) : [],
      groupIds: random.once(3) ? some(groups) : [],
      accessible: random.once(4) ? random.below(Math.min(quantity, 2) + 1) : 0,
      includeAccessible: random.once(4),
      isPreferred: random.once(2),
      avoidOrphans: !random.once(4),
      orphanMode: this.#orphanMode,
      channel: this.#hasChannels ? random.pick([null, ...KEYS, "nobody"]) : null,
    };
  }
}

export function requestOf(wish: BestWish): BestRequest {
  const { quantity, priceIds, groupIds, accessible, includeAccessible } = wish;
  return {
    sessionId: "buyer",
    quantity,
    priceIds,
    groupOfSeatsIds: groupIds,
    accessible,
    includeAccessible,
    adjacent: wish.isPreferred ? "preferred" : "required",
    avoidOrphans: wish.avoidOrphans,
    channel: wish.channel,
  };
}
