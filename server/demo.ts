/** `--demo`: an organization with a theatre and a priced event, and commands to try them. */
import { randomUUID } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { assert } from "../engine/assert.ts";
import type {
  Caller,
  LayoutBody,
  SentRow,
  SentSeat,
  SentSector,
  StateSelection,
} from "../engine/bodies.ts";
import type { EventRow, OrganizationRow } from "../engine/catalog.ts";
import type { AnswerOf, BookingKind, CommandKind, CommandOf } from "../engine/commands.ts";
import { NONE } from "../engine/constants.ts";
import type { Engine } from "../engine/engine.ts";
import type { Partition } from "../engine/inventory/partition.ts";
import { SeatState } from "../engine/inventory/states.ts";
import type { Layout } from "../engine/layout/layout.ts";
import { ActorKind } from "../engine/records.ts";
import { isGranted } from "../engine/results.ts";
import { readPackageFile } from "./docs/package-files.ts";
import { localDateTime } from "./http/json.ts";
import {
  type Buyer,
  type BuyerProfile,
  DONE,
  drawProfile,
  type Habits,
  type Market,
  type Outcome,
  shop,
  type Step,
  TAKEN,
} from "./onsale/buyer.ts";
import { Random } from "./onsale/random.ts";

const ORGANIZATION = "Frontrow demo";
const DAY_MS = 24 * 3_600_000;
const SHOW_MS = 3 * 3_600_000;

/** Creates the demo data in a store that has only its tenant. */
export function createDemo(engine: Engine, tenantId: number): void {
  const submit = <K extends CommandKind>(command: CommandOf<K>): AnswerOf<K> => {
    const outcome = engine.submit(command);
    assert(isGranted(outcome), "the demo breaks no rule");
    return outcome.value;
  };
  const system = { kind: ActorKind.SYSTEM, id: 0 };
  const organization = submit({
    kind: "createOrganization",
    caller: { actor: system, tenantId, organizationId: 0 },
    body: { name: ORGANIZATION },
    administrator: null,
    publicKey: randomUUID(),
  });
  const caller: Caller = { actor: system, tenantId, organizationId: organization.id };
  const venue = submit({ kind: "createVenue", caller, body: { name: "Demo theatre" } });
  const hall = { name: "Main hall", venueId: venue.id };
  const { id: schemaId } = submit({ kind: "createSchema", caller, body: hall });
  submit({ kind: "putLayout", caller, schemaId, body: demoLayout(), forceDelete: false });
  const eventId = randomUUID();
  const startMs = engine.nowMs() + DAY_MS;
  const times = { start: localDateTime(startMs), endDate: localDateTime(startMs + SHOW_MS) };
  const show = { name: "Opening night", schemaId, ...times };
  const event = submit({ kind: "createEvent", caller, eventId, body: show });
  const names = ["Seated", "Standing"].map((name) => ({ name, eventId }));
  const [seated, standing] = submit({ kind: "createPrices", caller, eventId, body: names });
  const { sections, areas } = engine.state.partitionOf(event).layout;
  const groupOfSeats = [
    ...sections.map(({ id }) => ({ objectId: id, assignmentId: seated!.id })),
    ...areas.map(({ id }) => ({ objectId: id, assignmentId: standing!.id })),
  ];
  submit({ kind: "assignPrices", caller, eventId, body: { groupOfSeats } });
}

/** The demo of a store. */
interface Demo {
  readonly organization: OrganizationRow;
  readonly event: EventRow;
}

/** @returns Null when the store has no demo. */
export function findDemo({ state }: Engine): Demo | null {
  const { organizations, events } = state.catalog;
  const organization = [...organizations.values()].find(isDemo);
  const event = [...events.values()].find((one) => one.organizationId === organization?.id);
  return organization === undefined || event === undefined ? null : { organization, event };
}

/** Where the demo is served, and the file with the header `X-API-Key` of its organization. */
export interface DemoAccess {
  readonly baseUrl: string;
  /** The key of the demo organization, the only secret that is printed. */
  readonly key: string;
  /** Its path; curl reads the key from it as a header. */
  readonly keyFile: string;
}

/** The text to print: URL, key, event and three commands. @param onSale - That is being sold. */
export function describeDemo(
  { state }: Engine,
  { event }: Demo,
  { onSale, ...access }: DemoAccess & { readonly onSale?: EventRow | undefined },
): string {
  const { baseUrl, key } = access;
  const known = [
    "",
    `  console    ${baseUrl}/console`,
    `  base URL   ${baseUrl}`,
    `  API key    ${key}`,
    `  event id   ${event.id}`,
    ...(onSale === undefined ? [] : [`  on sale    ${onSale.id}, which the demo's buyers buy`]),
    `  guide      ${baseUrl}/docs`,
    "",
  ];
  const seats = freeSeats(state.partitionOf(event));
  const lines = seats.length === 0 ? [SOLD_OUT] : commandsToPaste({ ...access, event, seats });
  return [...known, ...lines, ""].join("\n");
}

const SOLD_OUT = "No seat is left: start on another data folder to try again.";

interface Trial extends DemoAccess {
  readonly event: EventRow;
  /** Seat ids. */
  readonly seats: readonly number[];
}

function commandsToPaste({ baseUrl, keyFile, event, seats }: Trial): string[] {
  const selection = JSON.stringify({ sessionId: "demo", seats: seats.map((id) => ({ id })) });
  const api = `${baseUrl}/api/private/v2.0`;
  const key = `-H ${quoted(`@${keyFile}`)}`;
  const post = (call: string) =>
    `curl -s -X POST '${api}/booking/${call}?eventId=${event.id}' ${key} ` +
    `-H 'Content-Type: application/json' -d '${selection}'`;
  return [
    `Lock ${seats.length === 1 ? "a seat, buy it" : "two seats, buy them"}, and list the latest changes:`,
    "",
    post("lock"),
    post("sale"),
    `curl -s '${api}/events/${event.id}/seats/?size=2&sort=updatedAt,desc' ${key}`,
  ];
}

/** As a word of the shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function isDemo({ name }: OrganizationRow): boolean {
  return name === ORGANIZATION;
}

/** Ids of two seats that are ACTIVE, neighbours if there are any; of one, or none, at the end. */
function freeSeats({ layout, state }: Partition): number[] {
  const isFree = (seat: number) => seat !== NONE && state[seat] === SeatState.ACTIVE;
  const free = [...layout.seatIds.keys()].filter(isFree);
  const first = free.find((seat) => isFree(layout.nextSeat[seat]!));
  const pair = first === undefined ? free.slice(0, 2) : [first, layout.nextSeat[first]!];
  return pair.map((seat) => layout.seatIds[seat]!);
}

// The small theatre of the demo: stalls with an aisle, a balcony, two tables and a standing pit.

const PITCH = 28;

interface Block {
  readonly name: string;
  readonly rows: readonly string[];
  readonly seatsPerRow: number;
  /** Seats before the aisle; 0 for no aisle. */
  readonly aisle: number;
  readonly x: number;
  readonly y: number;
}

const BLOCKS: readonly Block[] = [
  {
    name: "Stalls",
    rows: ["A", "B", "C", "D", "E", "F", "G", "H"],
    seatsPerRow: 16,
    aisle: 8,
    x: 0,
    y: 0,
  },
  { name: "Balcony", rows: ["A", "B", "C"], seatsPerRow: 20, aisle: 0, x: 0, y: -200 },
];
const TABLES = ["Table 1", "Table 2"];
const TABLE_SEATS = 4;
const PIT_PLACES = 150;

export function demoLayout(): LayoutBody {
  const sectors: SentSector[] = [];
  const rows: SentRow[] = [];
  const seats: SentSeat[] = [];
  for (const block of BLOCKS) {
    const { name, x, y } = block;
    const sectorGuid = randomUUID();
    sectors.push({ guid: sectorGuid, name, ga: false, x, y });
    for (const [r, rowNumber] of block.rows.entries()) {
      const rowGuid = randomUUID();
      rows.push({ guid: rowGuid, sectorGuid, name: "Row", rowNumber });
      for (let s = 0; s < block.seatsPerRow; s++) {
        const passed = block.aisle > 0 && s >= block.aisle ? 2 : 0;
        const place = { x: (s + passed) * PITCH, y: r * PITCH };
        const label = String(s + 1);
        seats.push({ guid: randomUUID(), rowGuid, name: label, ...place });
      }
    }
  }
  for (const [t, name] of TABLES.entries()) {
    const [sectorGuid, rowGuid] = [randomUUID(), randomUUID()];
    sectors.push({ guid: sectorGuid, name, ga: false, type: "TABLE", x: 600, y: t * 120 });
    rows.push({ guid: rowGuid, sectorGuid, name: "Row", rowNumber: "1" });
    for (let s = 1; s <= TABLE_SEATS; s++) {
      seats.push({ guid: randomUUID(), rowGuid, name: String(s) });
    }
  }
  const pit = { guid: randomUUID(), name: "Pit", ga: true, gaCapacity: PIT_PLACES };
  sectors.push({ ...pit, x: 0, y: 300 });
  return { sectors, rows, seats, shapes: [] };
}

// The arena of `--demo-traffic`: the sample arena, with prices and some blocked seats.

const LAYOUT_FILE = "server/examples/arena.json.gz";
const VENUE = "Demo arena";
const TOUR = "Aurora Tour";
const START_HOUR_MS = 20 * 3_600_000;
const DAYS_AHEAD = 20;
/** Below this number of free seats, an event counts as sold out. */
const FREE_MIN = 50;
/** How long a buyer of the demo may hesitate. */
const WEB_HOLD = { name: "WEB", ttlSeconds: 90 };

/** Names of the sections and areas of each price. Floor 8 has none: it is not on sale. */
const PRICES: readonly { readonly name: string; readonly objects: RegExp }[] = [
  { name: "Floor front", objects: /^Floor [1-4]$/ },
  { name: "Floor rear", objects: /^Floor [5-7]$/ },
  { name: "Category 1", objects: /^Block (101|102|103|110|111|112|124|113)$/ },
  { name: "Category 2", objects: /^Block (104|105|108|109)$/ },
  { name: "Category 3", objects: /^Block (106|107|114|115|122|123)$/ },
  { name: "Limited view", objects: /^Block (116|117|118|119|120|121)$/ },
  { name: "Standing", objects: /^Standing/ },
];
/** Behind the stage. */
const BLOCKED = /^Block 11[89]$/;

type Submit = <K extends CommandKind>(command: CommandOf<K>) => AnswerOf<K>;

/** @returns The event whose seats are being sold: the newest, or the next when it is sold out. */
function openArena(
  engine: Engine,
  caller: Caller,
  submit: Submit,
): { readonly event: EventRow; readonly isNew: boolean } {
  const { events } = engine.state.catalog;
  const nights = [...events.values()].filter(
    ({ name, organizationId }) => organizationId === caller.organizationId && name.startsWith(TOUR),
  );
  const last = nights.at(-1);
  if (last !== undefined) {
    const { seatsIn } = engine.state.partitionOf(last);
    if (seatsIn[SeatState.ACTIVE]! >= FREE_MIN) return { event: last, isNew: false };
  }
  const schemaId = last?.schemaId ?? createSchema(caller, submit);
  const night = { schemaId, number: nights.length + 1, nowMs: engine.nowMs() };
  const event = createNight(caller, submit, night);
  putOnSale(engine, { caller, submit, event });
  return { event, isNew: true };
}

/** The hold type is added to those that the organization has. */
function addHoldType({ holdTypes }: OrganizationRow, caller: Caller, submit: Submit): void {
  if (holdTypes.some(({ name }) => name === WEB_HOLD.name)) return;
  const own = holdTypes.map(({ ttlSeconds, ...rest }) =>
    ttlSeconds === null ? rest : { ...rest, ttlSeconds },
  );
  submit({ kind: "replaceHoldTypes", caller, body: [...own, WEB_HOLD] });
}

function createSchema(caller: Caller, submit: Submit): number {
  const venue = submit({ kind: "createVenue", caller, body: { name: VENUE } });
  const bowl = { name: "Concert", venueId: venue.id };
  const { id: schemaId } = submit({ kind: "createSchema", caller, body: bowl });
  const body = JSON.parse(gunzipSync(readPackageFile(LAYOUT_FILE)).toString()) as LayoutBody;
  submit({ kind: "putLayout", caller, schemaId, body, forceDelete: false });
  return schemaId;
}

interface Night {
  readonly schemaId: number;
  readonly number: number;
  readonly nowMs: number;
}

function createNight(caller: Caller, submit: Submit, { schemaId, number, nowMs }: Night): EventRow {
  const day = Math.floor(nowMs / DAY_MS) + DAYS_AHEAD + number;
  const startMs = day * DAY_MS + START_HOUR_MS;
  const times = { start: localDateTime(startMs), endDate: localDateTime(startMs + SHOW_MS) };
  const body = { name: `${TOUR} · Night ${number}`, schemaId, ...times };
  return submit({ kind: "createEvent", caller, eventId: randomUUID(), body });
}

interface Opening {
  readonly caller: Caller;
  readonly submit: Submit;
  readonly event: EventRow;
}

function putOnSale({ state }: Engine, { caller, submit, event }: Opening): void {
  const eventId = event.id;
  const names = PRICES.map(({ name }) => ({ name, eventId }));
  const prices = submit({ kind: "createPrices", caller, eventId, body: names });
  const { layout } = state.partitionOf(event);
  const groupOfSeats = [...layout.sections, ...layout.areas].flatMap(({ id, name }) => {
    const price = prices.find((_, i) => PRICES[i]!.objects.test(name));
    return price === undefined ? [] : [{ objectId: id, assignmentId: price.id }];
  });
  submit({ kind: "assignPrices", caller, eventId, body: { groupOfSeats } });
  const seats = blockedSeats(layout);
  submit({ kind: "block", caller, eventId, body: { sessionId: "production", seats } });
}

function blockedSeats({ sections, rows, seatIds }: Layout): { readonly id: number }[] {
  const blocked = sections.filter(({ name }) => BLOCKED.test(name));
  const seats = blocked.flatMap((section) => section.rows.flatMap((row) => [...rows[row]!.seats]));
  return seats.map((seat) => ({ id: seatIds[seat]! }));
}

// `--demo-traffic`: buyers who hold seats, hesitate, and buy them, give them back, or let the hold
// run out: those of `frontrow onsale`, in this process. They decide by a seed and by what is free,
// in steps of equal length, so that the same seed plays the same sale.

const SEED = 17;
export const STEP_MS = 250;
const STEPS_PER_SECOND = 1_000 / STEP_MS;
/** Buyers who arrive per second: while everything is free, and in addition always. */
const ARRIVALS = { whileFree: 5, always: 0.4 };
/** A party size that is wanted more often is there more often. */
const HABITS: Habits = {
  partySizes: [1, 2, 2, 2, 2, 3, 4, 4, 5, 6],
  placesShare: 0.12,
  giveUpShare: 0.12,
  keepShare: 0.2,
  thinkMs: { min: 4_000, max: 60_000 },
  choicesMax: 1,
};
const SALE_AT_THE_BOX_OFFICE = 0.03;
const RETURNED_TICKET = 0.02;
/** How many of the buyers have bought before the sale opens. */
const PRESALE_BUYERS = 900;
/** Rows that a buyer looks at before giving up. */
const LOOKS = 6;

/** A buyer between two calls. */
interface Hesitation {
  readonly buyer: Buyer<StateSelection>;
  readonly next: Step<StateSelection>;
  readonly dueStep: number;
}

export class DemoTraffic {
  readonly event: EventRow;
  readonly #engine: Engine;
  readonly #caller: Caller;
  readonly #random: Random;
  readonly #market: Market<StateSelection> = { choose: (wish) => this.#choose(wish) };
  #hesitating: Hesitation[] = [];
  #step = 0;

  /** Creates the event that is sold, when there is none. */
  constructor(engine: Engine, { organization }: Demo, seed = SEED) {
    const { id: organizationId, tenantId } = organization;
    const actor = { kind: ActorKind.ORGANIZATION, id: organizationId };
    const caller = { actor, tenantId, organizationId };
    const submit = <K extends CommandKind>(command: CommandOf<K>): AnswerOf<K> => {
      const outcome = engine.submit(command);
      assert(isGranted(outcome), "the demo breaks no rule");
      return outcome.value;
    };
    this.#engine = engine;
    this.#caller = caller;
    addHoldType(organization, caller, submit);
    const { event, isNew } = openArena(engine, caller, submit);
    this.event = event;
    // A sale that goes on after a restart does not repeat the wishes of its beginning.
    this.#random = new Random(isNew ? seed : seed + engine.sequence);
    if (isNew) this.#presale();
  }

  /** @returns Ends it. */
  start(): () => void {
    const timer = setInterval(() => this.step(), STEP_MS);
    return () => clearInterval(timer);
  }

  /** What happens within `STEP_MS`. */
  step(): void {
    this.#step += 1;
    const due = this.#hesitating.filter(({ dueStep }) => dueStep <= this.#step);
    this.#hesitating = this.#hesitating.filter(({ dueStep }) => dueStep > this.#step);
    for (const { buyer, next } of due) this.#play(buyer, buyer.next(this.#book(next)));
    const { seatsIn, layout } = this.#partition;
    const freeShare = seatsIn[SeatState.ACTIVE]! / layout.seatCount;
    const perStep = (ARRIVALS.always + ARRIVALS.whileFree * freeShare) / STEPS_PER_SECOND;
    const arrivals = Math.floor(perStep) + (this.#random.chance(perStep % 1) ? 1 : 0);
    for (let i = 0; i < arrivals; i++) this.#arrive();
  }

  get #partition(): Partition {
    return this.#engine.state.partitionOf(this.event);
  }

  #presale(): void {
    for (let i = 0; i < PRESALE_BUYERS; i++) this.#sellDirectly("presale");
  }

  #sellDirectly(sessionId: string): void {
    const selection = this.#choose(drawProfile(HABITS, this.#random, sessionId));
    if (selection !== undefined) this.#submit("directsale", selection);
  }

  #arrive(): void {
    const random = this.#random;
    if (random.chance(RETURNED_TICKET)) this.#returnTickets();
    if (random.chance(SALE_AT_THE_BOX_OFFICE)) return this.#sellDirectly("box-office");
    const profile = drawProfile(HABITS, random, `web-${random.next().toString(36)}`);
    const buyer = shop(profile, random, this.#market);
    this.#play(buyer, buyer.next());
  }

  /** Until the buyer hesitates or leaves. */
  #play(buyer: Buyer<StateSelection>, turn: ReturnType<typeof buyer.next>): void {
    for (; turn.done !== true; turn = buyer.next(this.#book(turn.value))) {
      const { pauseMs } = turn.value;
      if (pauseMs === 0) continue;
      const dueStep = this.#step + Math.ceil(pauseMs / STEP_MS);
      this.#hesitating.push({ buyer, next: turn.value, dueStep });
      return;
    }
  }

  #book({ call, basket }: Step<StateSelection>): Outcome {
    const body = call === "lock" ? { ...basket, holdType: WEB_HOLD.name } : basket;
    return this.#submit(call, body) ? DONE : TAKEN;
  }

  /** Somebody brings back what the presale sold. */
  #returnTickets(): void {
    const { layout, state } = this.#partition;
    const { seats } = layout.rows[this.#random.below(layout.rows.length)]!;
    const sold = seats.filter((seat) => state[seat] === SeatState.SOLD).slice(0, 2);
    if (sold.length === 0) return;
    const ids = Array.from(sold, (seat) => ({ id: layout.seatIds[seat]! }));
    this.#submit("revertsale", { sessionId: "box-office", seats: ids });
  }

  /** @returns Neighbours of one row, or places to stand; undefined when nothing suits. */
  #choose({ sessionId, count, prefersPlaces }: BuyerProfile): StateSelection | undefined {
    const random = this.#random;
    const { layout, areas } = this.#partition;
    if (prefersPlaces) {
      const area = random.below(layout.areas.length);
      if (areas.places(area, SeatState.ACTIVE) < count) return undefined;
      return { sessionId, groupOfSeats: [{ id: layout.areas[area]!.id, capacity: count }] };
    }
    for (let look = 0; look < LOOKS; look++) {
      const { rows } = layout.sections[random.below(layout.sections.length)]!;
      // Rows in front fill up first.
      const row = Math.min(random.below(rows.length), random.below(rows.length));
      const seats = this.#neighboursIn(rows[row]!, count);
      if (seats === null) continue;
      return { sessionId, seats: seats.map((seat) => ({ id: layout.seatIds[seat]! })) };
    }
    return undefined;
  }

  /** From one end of the free seats, so that no single seat stays between. */
  #neighboursIn(rowIndex: number, count: number): number[] | null {
    const { layout, state } = this.#partition;
    const { seats } = layout.rows[rowIndex]!;
    const first = seats.findIndex((seat) => state[seat] === SeatState.ACTIVE);
    if (first < 0) return null;
    const start = this.#random.chance(0.5) ? first : this.#random.below(seats.length);
    const wanted = [...seats.subarray(start, start + count)];
    const areFree = wanted.every((seat) => state[seat] === SeatState.ACTIVE);
    return wanted.length === count && areFree ? wanted : null;
  }

  /** @returns Whether it was granted. */
  #submit(kind: BookingKind, body: StateSelection): boolean {
    const caller = this.#caller;
    return isGranted(this.#engine.submit({ kind, caller, eventId: this.event.id, body }));
  }
}
