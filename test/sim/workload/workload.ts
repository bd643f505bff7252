/**
 * The engine and the model side by side: random commands go to both, and answers and inventory must
 * be equal after each. Two organizations with a schema of their own, three events, time that now
 * and then leaps, stands still or steps back.
 */
import type { Caller } from "../../../engine/shapes/caller.ts";
import { START_MS, Bench, SharingJournal } from "../../support/engine.ts";
import { guidOf, labelOfGuid, layoutOf } from "../../support/layout.ts";
import { differences, sameAnswer, type EngineOutcome } from "../model/compare.ts";
import {
  type Answer,
  type BookingRequest,
  type Choice,
  Model,
  type ModelEvent,
  type ModelSeat,
  type PriceItem,
  type Word,
} from "../model/model.ts";
import { modelEventOf, PARTS, SCHEMA_GA_CAPACITY, SEATS_OF_ROW_MAX, UNKNOWN_ID } from "./houses.ts";
import { Random } from "./random.ts";

const SESSIONS = [null, "A", "B", "C"] as const;
const HOLD_TYPES = [null, null, "CART", "RESERVED", "SHORT", "LONG", "NIGHT"] as const;
const WORDS: readonly Word[] = [
  "lock",
  "lock",
  "lock",
  "lock",
  "sale",
  "sale",
  "unlock",
  "revertsale",
  "directsale",
  "block",
  "unblock",
] as Word[];
const FROM: Readonly<Record<Word, string>> = {
  lock: "ACTIVE",
  unlock: "LOCKED",
  sale: "LOCKED",
  revertsale: "SOLD",
  directsale: "ACTIVE",
  block: "ACTIVE",
  unblock: "BLOCKED",
};
const NEXT_STATUS = { DRAFT: "PUBLISHED", PUBLISHED: "ARCHIVED", ARCHIVED: "DRAFT" } as const;

interface House {
  readonly caller: Caller;
  readonly schemaId: number;
  readonly eventIds: readonly string[];
  /** Guid of a row and how many seats it was ever given. */
  readonly rows: Map<number, { guid: string; given: number }>;
  readonly guids: Map<number, { guid: string; rowGuid: string; name: string }>;
}

export class Workload {
  readonly bench = new Bench(new SharingJournal());
  readonly model = new Model();
  /** How often each answer and each code of a refused object was given. */
  readonly tally = new Map<string, number>();
  readonly #random: Random;
  readonly #houses: House[] = [];
  readonly #tenant: Caller;
  #nowMs = START_MS;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#tenant = this.bench.createTenant();
    this.#houses = [this.#openHouse("First", 2), this.#openHouse("Second", 1)];
  }

  /** One random command to both. @throws When they differ. */
  step(): void {
    const random = this.#random;
    this.#passTime();
    const house = random.pick(this.#houses);
    const eventId = random.pick(house.eventIds);
    const choice = random.below(200);
    if (choice < 179) this.#book(house, eventId);
    else if (choice < 180) this.#takePrices(house, eventId);
    else if (choice < 188) this.#assign(house, eventId);
    else if (choice < 194) this.#set(house);
    else if (choice < 196) this.#changeStatus(house, eventId);
    else if (choice < 198) this.#replaceHoldTypes(house);
    else if (choice < 199) this.#changeLayout(house);
    else this.sweep();
  }

  /** Both end what ran out, everywhere, and are compared whole. */
  sweep(): void {
    this.bench.engine.expireAll();
    for (const eventId of this.model.events.keys()) {
      this.model.expire(eventId, this.#nowMs);
      this.#compare(eventId, "sweep");
    }
  }

  #passTime(): void {
    const random = this.#random;
    if (random.once(3)) this.bench.clock.timeMs += random.below(20_000);
    if (random.once(60)) this.bench.clock.timeMs += 600_000;
    if (random.once(60)) this.bench.clock.timeMs -= 60_000;
    this.#nowMs = Math.max(this.#nowMs, this.bench.clock.timeMs);
  }

  #book(house: House, eventId: string): void {
    const random = this.#random;
    const caller = random.once(50) ? random.pick(this.#houses).caller : house.caller;
    const event = random.once(100) ? "00000000-0000-4000-8000-00000000beef" : eventId;
    const word = random.pick(WORDS);
    const seats = this.#chooseSeats(this.model.events.get(eventId)!, word);
    const areas = random.once(3) || seats.length === 0 ? this.#chooseAreas(eventId) : [];
    const held = [...this.model.events.get(eventId)!.seats.values()].find(
      ({ id }) => id === seats[0]?.id,
    )?.hold;
    const ownSession = held !== undefined && held !== null && !random.once(3);
    const sessionId = ownSession ? held.session : random.pick(SESSIONS);
    const holdType = random.pick(HOLD_TYPES);
    const request: BookingRequest = {
      word,
      organization: caller.organizationId,
      event,
      sessionId,
      holdType,
      seats,
      areas,
    };
    const body = { sessionId, holdType, seats, groupOfSeats: areas };
    const outcome = this.bench.submit(word, caller, { eventId: event, body });
    this.#judge(request, outcome, this.model.book(request, this.#nowMs), eventId);
  }

  /** Mostly seats that the command can take, side by side; now and then anything. */
  #chooseSeats(event: ModelEvent, word: Word): Choice[] {
    const random = this.#random;
    const fitting = [...event.seats.values()].filter(({ state }) => state === FROM[word]);
    const from = fitting.length === 0 || random.once(6) ? [...event.seats.values()] : fitting;
    const start = random.below(from.length);
    const chosen: Choice[] = from.slice(start, start + random.below(4)).map(({ id }) => ({ id }));
    if (random.once(8)) chosen.push({ id: random.pick([...event.seats.keys()]) });
    if (random.once(80)) chosen.push({ id: UNKNOWN_ID });
    if (random.once(150)) chosen.push({ id: random.pick(from).id, capacity: 1 });
    if (random.once(10)) chosen.reverse();
    return chosen;
  }

  #chooseAreas(eventId: string): Choice[] {
    const random = this.#random;
    const ids = [...this.model.events.get(eventId)!.areas.keys()];
    const count = random.once(60) ? 0 : random.once(3) ? 2 : 1;
    return Array.from({ length: count }, (_, i) => {
      const id = random.once(80) ? UNKNOWN_ID : ids[(i + random.below(30)) % ids.length]!;
      const odd = random.pick([0, -1, 1.5, null, 100]);
      return { id, capacity: random.once(50) ? odd : 1 + random.below(3) };
    });
  }

  #assign(house: House, eventId: string): void {
    const random = this.#random;
    const event = this.model.events.get(eventId)!;
    const caller = random.once(20) ? random.pick(this.#houses).caller : house.caller;
    const anothers = [...this.model.events.values()].flatMap(({ prices }) => [...prices]);
    const item = (id: number): PriceItem => ({
      id: random.once(40) ? UNKNOWN_ID : id,
      price: random.once(40) ? random.pick(anothers) : random.pick([...event.prices]),
      activeCount: random.once(4) ? null : random.below(10),
    });
    const list = [...event.seats.values()];
    const seats = Array.from({ length: random.below(4) }, () => item(random.pick(list).id));
    const groupIds = [...event.areas.keys(), ...list.flatMap(({ row, section: of }) => [row, of])];
    const groups = Array.from({ length: random.below(3) }, () => item(random.pick(groupIds)));
    const wire = ({ id, price, activeCount }: PriceItem) => ({
      objectId: id,
      assignmentId: price,
      activeCount,
    });
    const body = { seats: seats.map(wire), groupOfSeats: groups.map(wire) };
    const outcome = this.bench.submit("assignPrices", caller, { eventId, body });
    const request = { organization: caller.organizationId, event: eventId, seats, groups };
    this.#judge(request, outcome, this.model.assign(request, this.#nowMs), eventId);
  }

  /** Clears all prices, or deletes one and makes another in its place. */
  #takePrices({ caller }: House, eventId: string): void {
    const random = this.#random;
    const { bench, model } = this;
    if (random.once(8)) {
      const asker = random.once(8) ? random.pick(this.#houses).caller : caller;
      const outcome = bench.submit("clearPrices", asker, { eventId });
      const answer = model.clearPrices(asker.organizationId, eventId, this.#nowMs);
      this.#judge({ clearPrices: eventId }, outcome, answer, eventId);
      return;
    }
    const { prices } = model.events.get(eventId)!;
    const priceId = random.pick([...prices]);
    const outcome = bench.submit("deletePrice", caller, { eventId, priceId });
    const answer = model.deletePrice(eventId, priceId, this.#nowMs);
    this.#judge({ deletePrice: priceId }, outcome, answer, eventId);
    const body = [{ name: "New", eventId }];
    if (prices.size < 3) prices.add(bench.must("createPrices", caller, { eventId, body })[0]!.id);
  }

  #set({ caller, eventIds }: House): void {
    const random = this.#random;
    const { organizationId } = caller;
    const setting = random.pick(["salesControl", "bookingEnabled", "orphanPrevention"] as const);
    const value = setting === "orphanPrevention" ? random.once(2) : !random.once(5);
    this.model.organizations.get(organizationId)![setting] = value;
    const body = { [setting]: value };
    this.bench.must("changeSettings", this.#tenant, { organizationId, body });
    // A command that names the organization looks at all its events.
    for (const eventId of eventIds) this.model.expire(eventId, this.#nowMs);
  }

  /**
   * An event that is not published is published again soon, so that most commands get somewhere.
   */
  #changeStatus({ caller }: House, eventId: string): void {
    const event = this.model.events.get(eventId)!;
    const times = event.status === "PUBLISHED" ? 1 + this.#random.below(2) : 3;
    for (let i = 0; i < times && (i === 0 || event.status !== "PUBLISHED"); i++) {
      event.status = NEXT_STATUS[event.status];
      const body = { status: event.status };
      this.bench.must("changeEventStatus", caller, { eventId, body });
    }
    this.model.expire(eventId, this.#nowMs);
    this.#compare(eventId, "status");
  }

  #replaceHoldTypes({ caller }: House): void {
    const random = this.#random;
    const body = [
      { name: "SHORT", ttlSeconds: 1 + random.below(60) },
      { name: "LONG", ttlSeconds: random.once(2) ? null : 3_600 },
      { name: "CART", ttlSeconds: 300 },
    ].slice(0, random.below(4));
    const holdTypes = new Map(body.map(({ name, ttlSeconds }) => [name, ttlSeconds]));
    this.model.organizations.get(caller.organizationId)!.holdTypes = holdTypes;
    this.bench.must("replaceHoldTypes", caller, { body });
  }

  /** A seat less, or one more at the end of a row; no sweep before it. */
  #changeLayout(house: House): void {
    const events = house.eventIds.map((eventId) => this.model.events.get(eventId)!);
    const seats = [...events[0]!.seats.values()];
    const seat = this.#random.pick(seats);
    const row = seats.filter(({ row: rowId }) => rowId === seat.row);
    const isFull = row.length >= SEATS_OF_ROW_MAX;
    for (const eventId of house.eventIds) this.model.expire(eventId, this.#nowMs);
    if (isFull || (row.length > 2 && this.#random.once(2))) this.#removeSeat(house, events, seat);
    else this.#addSeat(house, events, row);
    this.sweep();
  }

  #removeSeat({ caller, schemaId, guids }: House, events: ModelEvent[], { id }: ModelSeat): void {
    const forceDelete = this.#random.once(3);
    const body = { seats: [{ id, ...guids.get(id)!, toRemove: true }] };
    const outcome = this.bench.submit("putLayout", caller, { schemaId, body, forceDelete });
    const answer = this.model.removeSeat(events, id, forceDelete);
    this.#judge({ removeSeat: id, forceDelete }, outcome, answer, null);
  }

  #addSeat({ caller, schemaId, rows, guids }: House, events: ModelEvent[], row: ModelSeat[]): void {
    const last = row.toSorted((a, b) => a.x - b.x).at(-1)!;
    const of = rows.get(last.row)!;
    of.given += 1;
    const guid = guidOf(`${labelOfGuid(of.guid)} new ${of.given}`);
    const sent = { guid, rowGuid: of.guid, name: `new ${of.given}`, x: last.x + 1, y: 0 };
    const y = PARTS.flatMap(({ seats }) => seats).find(({ rowGuid }) => rowGuid === of.guid)!["y"];
    const body = { seats: [{ ...sent, y }] };
    const document = this.bench.must("putLayout", caller, { schemaId, body, forceDelete: false });
    const { id } = document.seats.find((seat) => seat.guid === guid)!;
    guids.set(id, { guid, rowGuid: of.guid, name: sent.name });
    for (const event of events) {
      event.seats.set(id, {
        id,
        row: last.row,
        section: last.section,
        isTable: last.isTable,
        x: sent.x,
        state: null,
        price: 0,
        hold: null,
        updatedMs: this.#nowMs,
      });
    }
  }

  #judge(request: object, outcome: EngineOutcome, answer: Answer, eventId: string | null): void {
    this.#count(answer.answer);
    for (const { code } of answer.refused) this.#count(code.split(" ")[0]!);
    const problem = sameAnswer(outcome, answer);
    if (problem !== null) throw new Error(`${problem}\nafter ${JSON.stringify(request)}`);
    if (eventId !== null) this.#compare(eventId, request);
  }

  #count(what: string): void {
    this.tally.set(what, (this.tally.get(what) ?? 0) + 1);
  }

  #compare(eventId: string, request: unknown): void {
    const found = differences(this.bench.engine.state, eventId, this.model.events.get(eventId)!);
    if (found.length === 0) return;
    throw new Error(`${found.join("\n")}\nafter ${JSON.stringify(request)}`);
  }

  #openHouse(name: string, eventCount: number): House {
    const { bench, model } = this;
    const caller = bench.createOrganization(this.#tenant, name);
    model.organizations.set(caller.organizationId, {
      salesControl: true,
      bookingEnabled: true,
      orphanPrevention: false,
      holdTypes: new Map(),
    });
    const venueId = bench.must("createVenue", caller, { body: { name } }).id;
    const plan = { name, venueId, gaCapacity: SCHEMA_GA_CAPACITY };
    const schemaId = bench.must("createSchema", caller, { body: plan }).id;
    const body = layoutOf(...PARTS);
    const layout = bench.must("putLayout", caller, { schemaId, body, forceDelete: false });
    const eventIds = Array.from({ length: eventCount }, (_, i) => {
      const eventId = `00000000-0000-4000-8000-0000000${name.length}000${i}`;
      const times = { start: "2026-05-01T20:00", endDate: "2026-05-01T23:00" };
      bench.must("createEvent", caller, { eventId, body: { name, ...times, schemaId } });
      const two = ["Full", "Half"].map((price) => ({ name: price, eventId }));
      const prices = bench.must("createPrices", caller, { eventId, body: two });
      const { organizationId: organization } = caller;
      const event = { organization, schema: schemaId, prices: prices.map(({ id }) => id) };
      model.events.set(eventId, modelEventOf(layout, { ...event, nowMs: START_MS }));
      return eventId;
    });
    return {
      caller,
      schemaId,
      eventIds,
      rows: new Map(layout.rows.map(({ id, guid }) => [id, { guid, given: 0 }])),
      guids: new Map(
        layout.seats.map(({ id, guid, rowGuid, name: label }) => [
          id,
          { guid, rowGuid, name: label },
        ]),
      ),
    };
  }
}
