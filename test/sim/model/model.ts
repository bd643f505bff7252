/**
 * A second, simple and slow implementation of the inventory's rules, written from the interface
 * document and the decisions only: Maps and objects, and loops over everything. It shares no code
 * and no storage with the engine, so a mistake would have to be made twice.
 */

import { type Hall, searchBest } from "./best.ts";
import {
  type Answer,
  type BestAsk,
  type BookingRequest,
  type CartRequest,
  type CartStep,
  type ChannelRequest,
  type Choice,
  type ExtendRequest,
  COMPARES_HOLDS,
  COMPARES_RECORDS,
  type Hold,
  lockedPlaces,
  type ModelArea,
  type ModelEvent,
  type ModelOrganization,
  type ModelSeat,
  type Money,
  placesIn,
  type PriceItem,
  type PriceRequest,
  type Refused,
  statesFor,
  type Word,
} from "./facts.ts";
import {
  areaProblems,
  limitProblems,
  mayUse,
  neighboursOf,
  orphanProblems,
  priceProblems,
  rulesOf,
  seatProblems,
} from "./refusals.ts";
const TO = {
  lock: "LOCKED",
  unlock: "ACTIVE",
  sale: "SOLD",
  revertsale: "ACTIVE",
  directsale: "SOLD",
  block: "BLOCKED",
  unblock: "ACTIVE",
} as const;
const TRUE: Answer = { answer: "true", refused: [] };

export class Model {
  readonly organizations = new Map<number, ModelOrganization>();
  readonly events = new Map<string, ModelEvent>();

  /**
   * @param sequence - The number of the record written by a grant.
   * @param answersFalse - Of a direct sale that cannot be; else it is refused.
   */
  book(asked: BookingRequest, nowMs: number, sequence: number, answersFalse = true): Answer {
    const taken = this.#taker(asked, nowMs);
    if ("answer" in taken) return taken;
    const { organization, event } = taken;
    const { word } = asked;
    const request = isOfAll(asked) ? { ...asked, ...allHeld(event, asked.sessionId) } : asked;
    if (request.seats.length + request.areas.length === 0) {
      const none = { field: "sessionId", code: "NOT_FOUND", value: asked.sessionId };
      return word === "unlock" ? TRUE : refusal("INVENTORY_NOT_AVAILABLE", [none]);
    }
    const refused = [...seatProblems(event, request), ...areaProblems(event, request)];
    const unknown = refused.some(({ code }) => code === "NOT_FOUND");
    if (refused.length > 0 && word === "directsale" && !unknown && answersFalse) {
      return { answer: "false", refused: [] };
    }
    refused.push(...priceProblems(event, request, refused));
    if (refused.length > 0) return refusal("INVENTORY_NOT_AVAILABLE", inOrder(refused, request));
    const rules = rulesOf(organization, event);
    const beyond = word === "lock" ? limitProblems(event, rules, request) : [];
    if (beyond.length > 0) return refusal("INVENTORY_NOT_AVAILABLE", beyond);
    if ((word === "lock" || word === "sale") && rules.orphanMode !== "off") {
      const orphans = orphanProblems(event, request, rules.orphanMode);
      if (orphans.length > 0) return refusal("ORPHAN_SEAT", orphans);
    }
    this.#change(event, request, nowMs, sequence);
    return TRUE;
  }

  /** The event and its organization, when they take the request; else the refusal. */
  #taker(asked: BookingRequest, nowMs: number) {
    this.expire(asked.event, nowMs);
    const organization = this.organizations.get(asked.organization)!;
    const bad = this.#badFields(asked, organization);
    if (bad.length > 0)
      return refusal(
        "VALIDATION_FAILED",
        bad.map((field) => ({ field, code: "", value: null })),
      );
    const event = this.events.get(asked.event);
    if (event?.organization !== asked.organization) return refusal("EVENT_ACCESS_DENIED");
    const { word } = asked;
    if (!organization.bookingEnabled) return refusal("ORGANIZATION_DISABLED");
    if ((word === "sale" || word === "revertsale") && !organization.salesControl) {
      return refusal("SALES_CONTROL_REQUIRED");
    }
    if (["lock", "sale", "directsale"].includes(word) && event.status !== "PUBLISHED") {
      return refusal("EVENT_NOT_PUBLISHED");
    }
    return { organization, event };
  }

  /** A lock of all that can be had. @param sequence - As in `book`. */
  lockBestEffort(asked: BookingRequest, nowMs: number, sequence: number): Answer {
    const taken = this.#taker(asked, nowMs);
    if ("answer" in taken) return taken;
    const { organization, event } = taken;
    const rules = rulesOf(organization, event);
    const refused = new Map<Choice, Refused>();
    let rest = asked;
    /** @param found - Problems of the rest; only the first of an object counts. */
    const drop = (found: Refused[]) => {
      for (const { field, code, value } of found) {
        const place = Number(/\d+/.exec(field)![0]);
        const choice = (field.startsWith("seats") ? rest.seats : rest.areas)[place]!;
        const at = (field.startsWith("seats") ? asked.seats : asked.areas).indexOf(choice);
        const name = field.replace(/\d+/, String(at));
        const plain = code.startsWith("ORPHAN_SEAT") ? "ORPHAN_SEAT" : code;
        if (!refused.has(choice)) refused.set(choice, { field: name, code: plain, value });
      }
      const isLeft = (choice: Choice) => !refused.has(choice);
      rest = { ...asked, seats: asked.seats.filter(isLeft), areas: asked.areas.filter(isLeft) };
    };
    const unavailable = [...seatProblems(event, asked), ...areaProblems(event, asked)];
    drop([...unavailable, ...priceProblems(event, asked, unavailable)]);
    drop(limitProblems(event, rules, rest));
    const isOnlyAlone = refused.size === 0;
    if (rules.orphanMode !== "off") {
      for (;;) {
        const alone = orphanProblems(event, rest, rules.orphanMode);
        if (alone.length === 0) break;
        drop(alone);
      }
    }
    const all = [...asked.seats, ...asked.areas].flatMap((choice) => refused.get(choice) ?? []);
    if (rest.seats.length + rest.areas.length === 0) {
      return refusal(isOnlyAlone ? "ORPHAN_SEAT" : "INVENTORY_NOT_AVAILABLE", all);
    }
    this.#change(event, rest, nowMs, sequence);
    return { ...TRUE, refused: all };
  }

  /** All items or none. @param sequence - As in `book`. */
  cart(
    { organization: owner, items, sequences }: CartRequest,
    nowMs: number,
    sequence: number,
  ): Answer {
    const requests = items.map(({ request }) => request);
    for (const { event } of requests) this.expire(event, nowMs);
    const organization = this.organizations.get(owner)!;
    const at = (i: number, { field, ...rest }: Refused) => ({
      ...rest,
      field: `items[${i}].${field}`,
    });
    const bad = requests.flatMap((request, i) => {
      const fields = this.#badOf(request, organization);
      if (locks(request)) {
        const first = requests.filter(locks).find(({ event }) => event === request.event);
        if (first !== undefined) {
          const typeOf = ({ holdType }: Locking) => holdType ?? "CART";
          if (first.sessionId !== request.sessionId) fields.push("sessionId");
          const types = [typeOf(first), typeOf(request)];
          const areKnown = types.every((type) => this.#ttlOf(organization, type) !== undefined);
          if (areKnown && types[0] !== types[1]) fields.push("holdType");
        }
      }
      return fields.map((field) => at(i, { field, code: "", value: null }));
    });
    if (bad.length > 0) return refusal("VALIDATION_FAILED", bad);
    const isOwn = ({ event }: { event: string }) => this.events.get(event)?.organization === owner;
    if (!requests.every(isOwn)) return refusal("EVENT_ACCESS_DENIED");
    const unknown = requests.flatMap((request, i) => {
      if (request.word !== "best") return [];
      const fields = unknownIds(this.events.get(request.event)!, request);
      return fields.map((field) => at(i, { field, code: "", value: null }));
    });
    if (unknown.length > 0) return refusal("VALIDATION_FAILED", unknown);
    if (!organization.bookingEnabled) return refusal("ORGANIZATION_DISABLED");
    const words = new Set(requests.map(({ word }) => word));
    if (!organization.salesControl && (words.has("sale") || words.has("revertsale"))) {
      return refusal("SALES_CONTROL_REQUIRED");
    }
    const isClosed = requests.some(({ word, event }) => {
      const needs = ["lock", "sale", "directsale", "extend", "best"].includes(word);
      return needs && this.events.get(event)!.status !== "PUBLISHED";
    });
    if (isClosed) return refusal("EVENT_NOT_PUBLISHED");
    const changed = new Map<string, Refused>();
    items.forEach(({ request, ifSequence }, i) => {
      if (ifSequence === null || ifSequence === sequences.get(request.event)) return;
      if (changed.has(request.event)) return;
      changed.set(
        request.event,
        at(i, { field: "ifSequence", code: "CHANGED", value: ifSequence }),
      );
    });
    if (changed.size > 0) return refusal("CHANGED", [...changed.values()]);

    const before = requests.map(
      ({ event }) => [event, cloneEvent(this.events.get(event)!)] as const,
    );
    for (const [i, request] of requests.entries()) {
      const answer = this.item(request, nowMs, sequence);
      if (answer.answer === "true") continue;
      for (const [event, copy] of before) this.events.set(event, copy);
      return { ...answer, refused: answer.refused.map((one) => at(i, one)) };
    }
    return TRUE;
  }

  /** One item of a cart. @param sequence - As in `book`. */
  item(request: CartStep["request"], nowMs: number, sequence: number): Answer {
    if (request.word === "extend") return this.extend(request, nowMs);
    if (request.word === "best") return this.best(request, nowMs, sequence);
    return this.book(request, nowMs, sequence, false);
  }

  #badOf(request: CartStep["request"], organization: ModelOrganization): string[] {
    if (request.word === "extend") return badExtension(request);
    if (request.word === "best") return this.#badWishes(request, organization);
    return this.#badFields(request, organization);
  }

  #badWishes({ quantity, accessible, holdType }: BestAsk, organization: ModelOrganization) {
    return [
      ...(accessible > quantity ? ["accessible"] : []),
      ...(this.#ttlOf(organization, holdType) === undefined ? ["holdType"] : []),
    ];
  }

  /** @param sequence - As in `book`. */
  best(request: BestAsk, nowMs: number, sequence: number): Answer {
    this.expire(request.event, nowMs);
    const { quantity, holdType, sessionId } = request;
    const organization = this.organizations.get(request.organization)!;
    const bad = (...fields: string[]) =>
      refusal(
        "VALIDATION_FAILED",
        fields.map((field) => ({ field, code: "", value: null })),
      );
    const wrong = this.#badWishes(request, organization);
    if (wrong.length > 0) return bad(...wrong);
    const event = this.events.get(request.event);
    if (event?.organization !== request.organization) return refusal("EVENT_ACCESS_DENIED");
    const unknown = unknownIds(event, request);
    if (unknown.length > 0) return bad(...unknown);
    if (!organization.bookingEnabled) return refusal("ORGANIZATION_DISABLED");
    if (event.status !== "PUBLISHED") return refusal("EVENT_NOT_PUBLISHED");
    const no = {
      channel: null,
      fences: new Map(),
      fence: null,
      fromBlocked: false,
      toBlocked: false,
      all: false,
    };
    const { organization: owner, event: eventId } = request;
    const of = { word: "lock" as const, organization: owner, event: eventId, sessionId, holdType };
    const all = { ...of, ...no, priceIds: new Map(), seats: [], areas: [] };
    const places = { ...all, areas: [{ id: 0, capacity: quantity }] };
    const rules = rulesOf(organization, event);
    if (limitProblems(event, rules, places).length > 0) {
      const beyond = { field: "quantity", code: "HELD_LIMIT", value: quantity };
      return refusal("INVENTORY_NOT_AVAILABLE", [beyond]);
    }
    const found = searchBest(hallOf(event), { ...request, orphanMode: rules.orphanMode });
    if (found.kind === "none") {
      const none = { field: "quantity", code: "NOTHING_SUITABLE", value: quantity };
      return refusal("NOTHING_SUITABLE", [none]);
    }
    const chosen =
      found.kind === "area"
        ? { ...all, areas: [{ id: found.id, capacity: quantity }] }
        : { ...all, seats: found.ids.map((id) => ({ id })) };
    this.#change(event, chosen, nowMs, sequence);
    return TRUE;
  }

  #badFields(request: BookingRequest, organization: ModelOrganization): string[] {
    const { seats, areas, holdType, word } = request;
    const fields: string[] = [];
    if (isOfAll(request)) {
      if (request.sessionId === null) fields.push("sessionId");
      if (seats.length > 0) fields.push("seats");
      if (areas.length > 0) fields.push("groupOfSeats");
      if (request.fence !== null) fields.push("fence");
    } else if (seats.length + areas.length === 0) fields.push("seats");
    const twice = (choices: Choice[], name: string) => {
      choices.forEach(({ id }, i) => {
        if (choices.findIndex((other) => other.id === id) < i) fields.push(`${name}[${i}].id`);
      });
    };
    twice(seats, "seats");
    twice(areas, "groupOfSeats");
    seats.forEach(({ capacity }, i) => {
      if (capacity !== null && capacity !== undefined) fields.push(`seats[${i}].capacity`);
    });
    areas.forEach(({ capacity }, i) => {
      const whole = typeof capacity === "number" && Number.isInteger(capacity) && capacity >= 1;
      if (!whole) fields.push(`groupOfSeats[${i}].capacity`);
    });
    const compares = COMPARES_HOLDS.has(word) || COMPARES_RECORDS.has(word);
    if (!compares && request.fence !== null) fields.push("fence");
    if (!compares && request.fences.size > 0) fields.push("fences");
    for (const id of request.fences.keys()) {
      if (compares && !seats.some((seat) => seat.id === id)) fields.push(`fences[${id}]`);
    }
    for (const id of request.priceIds.keys()) {
      if (![...seats, ...areas].some((choice) => choice.id === id)) fields.push(`priceIds[${id}]`);
    }
    const known = this.#ttlOf(organization, holdType) !== undefined;
    if (word === "lock" && !known) fields.push("holdType");
    return fields;
  }

  /** Seconds; null for no end, undefined for an unknown hold type. */
  #ttlOf({ holdTypes }: ModelOrganization, name: string | null): number | null | undefined {
    const wanted = name ?? "CART";
    if (holdTypes.has(wanted)) return holdTypes.get(wanted);
    if (wanted === "CART") return 15 * 60;
    return wanted === "RESERVED" ? null : undefined;
  }

  #change(event: ModelEvent, request: BookingRequest, nowMs: number, fence: number): void {
    const { word, sessionId } = request;
    const ttl = this.#ttlOf(this.organizations.get(request.organization)!, request.holdType);
    const untilMs = typeof ttl === "number" ? nowMs + ttl * 1_000 : null;
    const holdType = request.holdType ?? "CART";
    const opened: Hold = { fence, session: sessionId, holdType, sinceMs: nowMs, untilMs };
    // The locks of a cart are one hold.
    const hold = holdsOf(event).find((other) => other.fence === fence) ?? opened;
    const isKept = request.toBlocked && (word === "unlock" || word === "revertsale");
    const to = isKept ? "BLOCKED" : TO[word];
    for (const { id } of request.seats) {
      const seat = event.seats.get(id)!;
      if (!statesFor(request).seats.includes(seat.state!)) continue;
      seat.state = to;
      seat.hold = word === "lock" ? hold : null;
      seat.fence = to === "SOLD" || to === "BLOCKED" ? fence : 0;
      seat.updatedMs = nowMs;
    }
    for (const { id, capacity } of request.areas) {
      const area = event.areas.get(id)!;
      area.updatedMs = nowMs;
      let left = capacity!;
      for (const from of statesFor(request).places) {
        const taken = Math.min(left, placesIn(area, from));
        left -= taken;
        if (from === "LOCKED") takeHeld(area, taken, request);
        else area[from.toLowerCase() as "active"] -= taken;
      }
      if (word === "lock") addHeld(area, hold, capacity!);
      else area[to.toLowerCase() as "active"] += capacity!;
    }
  }

  extend(request: ExtendRequest, nowMs: number): Answer {
    this.expire(request.event, nowMs);
    const { sessionId, seats, fence, seconds } = request;
    const organization = this.organizations.get(request.organization)!;
    const bad = badExtension(request);
    if (bad.length > 0) {
      const refused = bad.map((field) => ({ field, code: "", value: null }));
      return refusal("VALIDATION_FAILED", refused);
    }
    const event = this.events.get(request.event);
    if (event?.organization !== request.organization) return refusal("EVENT_ACCESS_DENIED");
    if (!organization.bookingEnabled) return refusal("ORGANIZATION_DISABLED");
    if (event.status !== "PUBLISHED") return refusal("EVENT_NOT_PUBLISHED");
    const asSale = {
      channel: null,
      all: false,
      fromBlocked: false,
      toBlocked: false,
      priceIds: new Map<number, number>(),
    };
    const sale = { ...request, ...asSale, word: "sale" as const, areas: [], holdType: null };
    const refused = seatProblems(event, sale);
    if (refused.length > 0) return refusal("INVENTORY_NOT_AVAILABLE", refused);
    const named = seats.map(({ id }) => event.seats.get(id)!.hold!);
    const holds = seats.length > 0 ? named : holdsOf(event).filter((hold) => mayUse(hold, sale));
    if (holds.length === 0) {
      const field = fence === null ? "sessionId" : "fence";
      const none = { field, code: "NOT_FOUND", value: fence ?? sessionId };
      return refusal("INVENTORY_NOT_AVAILABLE", [none]);
    }
    for (const hold of new Set(holds)) {
      const { holdType, sinceMs, untilMs } = hold;
      const max = organization.maxSeconds.get(holdType) ?? this.#ttlOf(organization, holdType);
      if (untilMs === null || max === undefined) continue;
      const wanted = nowMs + seconds * 1_000;
      const endMs = max === null ? wanted : Math.min(wanted, sinceMs + max * 1_000);
      if (endMs > untilMs) replaceHold(event, hold, { ...hold, untilMs: endMs }, nowMs);
    }
    return TRUE;
  }

  /** Ends expired holds. @param left - Holds for whose end the log had no space yet. */
  expire(eventId: string, nowMs: number, left?: ReadonlySet<string>): void {
    const event = this.events.get(eventId);
    if (event === undefined) return;
    const over = ({ session, untilMs }: Hold) =>
      untilMs !== null && untilMs <= nowMs && left?.has(`${session ?? ""} ${untilMs}`) !== true;
    for (const seat of event.seats.values()) {
      if (seat.hold === null || !over(seat.hold)) continue;
      Object.assign(seat, { state: "ACTIVE", hold: null, updatedMs: nowMs });
    }
    for (const area of event.areas.values()) {
      for (const { hold, places } of area.held) {
        if (!over(hold)) continue;
        area.active += places;
        area.updatedMs = nowMs;
      }
      area.held = area.held.filter(({ hold }) => !over(hold));
    }
  }

  assign(request: PriceRequest, nowMs: number): Answer {
    this.expire(request.event, nowMs);
    const event = this.events.get(request.event);
    if (event?.organization !== request.organization) return refusal("EVENT_ACCESS_DENIED");
    const bad: Refused[] = [];
    const add = (field: string) => bad.push({ field, code: "", value: null });
    const counts = new Map<PriceItem, number>();
    const check = (items: PriceItem[], name: string, known: (id: number) => boolean) => {
      items.forEach((item, i) => {
        if (!event.prices.has(item.price)) add(`${name}[${i}].assignmentId`);
        else if (!known(item.id)) add(`${name}[${i}].objectId`);
        const area = event.areas.get(item.id);
        if (name === "seats" || area === undefined) return;
        const count = item.activeCount ?? area.gaCapacity ?? remainder(event);
        if (count === null) add(`${name}[${i}].activeCount`);
        else counts.set(item, count);
      });
    };
    const inGroup = (seat: ModelSeat, id: number) => seat.row === id || seat.section === id;
    const isGroup = (id: number) => [...event.seats.values()].some((seat) => inGroup(seat, id));
    check(request.groups, "groupOfSeats", (id) => event.areas.has(id) || isGroup(id));
    check(request.seats, "seats", (id) => event.seats.has(id));
    if (bad.length > 0) return refusal("VALIDATION_FAILED", bad);

    const taken = (area: ModelArea) => lockedPlaces(area) + area.sold + area.blocked;
    const isKept = (isTaken: boolean) => request.onlyActive && isTaken;
    const small = request.groups.flatMap((item, i): Refused[] => {
      const area = event.areas.get(item.id);
      if (area === undefined || isKept(taken(area) > 0)) return [];
      if (counts.get(item)! >= taken(area)) return [];
      const field = `groupOfSeats[${i}].activeCount`;
      return [{ field, code: "INVENTORY_IN_USE", value: item.activeCount }];
    });
    if (small.length > 0) return refusal("INVENTORY_IN_USE", small);

    // The last item of an object counts. Unchanged objects stay as they are.
    const prices = new Map<ModelSeat, number>();
    const items = new Map<ModelArea, PriceItem>();
    for (const item of request.groups) {
      const area = event.areas.get(item.id);
      if (area !== undefined) items.set(area, item);
      for (const seat of event.seats.values()) {
        if (inGroup(seat, item.id)) prices.set(seat, item.price);
      }
    }
    for (const { id, price } of request.seats) prices.set(event.seats.get(id)!, price);
    for (const [seat, price] of prices) {
      if (seat.price === price || isKept((seat.state ?? "ACTIVE") !== "ACTIVE")) continue;
      Object.assign(seat, { state: seat.state ?? "ACTIVE", price, updatedMs: nowMs });
    }
    for (const [area, item] of items) {
      if (isKept(taken(area) > 0)) continue;
      const active = counts.get(item)! - taken(area);
      if (area.price === item.price && area.active === active) continue;
      Object.assign(area, { price: item.price, active, updatedMs: nowMs });
    }
    return TRUE;
  }

  /** Removes the prices of objects selected by `has`, unless they are sold. */
  #takePrices(event: ModelEvent, has: (object: { price: number }) => boolean, nowMs: number): void {
    for (const seat of event.seats.values()) {
      if (seat.price === 0 || seat.state === "SOLD" || !has(seat)) continue;
      Object.assign(seat, { state: null, price: 0, hold: null, fence: 0, updatedMs: nowMs });
    }
    for (const area of event.areas.values()) {
      if (area.price === 0 || area.sold > 0 || !has(area)) continue;
      Object.assign(area, { price: 0, active: 0, blocked: 0, held: [], updatedMs: nowMs });
    }
  }

  clearPrices(organization: number, eventId: string, nowMs: number): Answer {
    this.expire(eventId, nowMs);
    const event = this.events.get(eventId);
    if (event?.organization !== organization) return refusal("EVENT_ACCESS_DENIED");
    this.#takePrices(event, () => true, nowMs);
    return TRUE;
  }

  deletePrice(eventId: string, price: number, nowMs: number): Answer {
    this.expire(eventId, nowMs);
    const event = this.events.get(eventId)!;
    const seats = [...event.seats.values()].filter((seat) => seat.price === price);
    const areas = [...event.areas.values()].filter((area) => area.price === price);
    if (
      seats.some(({ state }) => state !== "ACTIVE") ||
      areas.some((area) => area.held.length > 0 || area.sold > 0 || area.blocked > 0)
    ) {
      return refusal("INVENTORY_IN_USE");
    }
    this.#takePrices(event, (object) => object.price === price, nowMs);
    event.prices.delete(price);
    return TRUE;
  }

  /** Replaces the amount of a price: both halves of it, or neither. */
  putPrice(eventId: string, price: number, { amount, currency }: Partial<Money>): Answer {
    if ((amount === undefined) !== (currency === undefined)) {
      const field = amount === undefined ? "[0].amount" : "[0].currency";
      return refusal("VALIDATION_FAILED", [{ field, code: "NOT_NULL", value: null }]);
    }
    const event = this.events.get(eventId);
    if (event === undefined) return refusal("ENTITY_NOT_FOUND");
    if (!event.prices.has(price)) {
      return refusal("ENTITY_NOT_FOUND", [{ field: "[0].id", code: "NOT_FOUND", value: price }]);
    }
    const money = amount === undefined || currency === undefined ? null : { amount, currency };
    event.prices.set(price, money);
    return TRUE;
  }

  /** Keeps exactly these seats for a channel. */
  putChannel(
    eventId: string,
    owner: number,
    { key, name, seats, groupOfSeatsIds }: ChannelRequest,
    nowMs: number,
  ): Answer {
    this.expire(eventId, nowMs);
    const event = this.events.get(eventId);
    if (event === undefined) return refusal("ENTITY_NOT_FOUND");
    if (event.organization !== owner) return refusal("ACCESS_DENIED");
    const all = [...event.seats.values()];
    const bad: string[] = [];
    /** With the member that names it first. */
    const wanted = new Map<ModelSeat, string>();
    const want = (seat: ModelSeat, field: string) => {
      if (!wanted.has(seat)) wanted.set(seat, field);
    };
    seats.forEach((id, i) => {
      const seat = event.seats.get(id);
      if (seat === undefined) bad.push(`seats[${i}]`);
      else want(seat, `seats[${i}]`);
    });
    groupOfSeatsIds.forEach((id, i) => {
      const own = all.filter(({ row, section }) => row === id || section === id);
      if (own.length === 0) bad.push(`groupOfSeatsIds[${i}]`);
      for (const seat of own) want(seat, `groupOfSeatsIds[${i}]`);
    });
    if (bad.length > 0) {
      return refusal(
        "VALIDATION_FAILED",
        bad.map((field) => ({ field, code: "", value: null })),
      );
    }
    const others = [...wanted].filter(([{ channel }]) => channel !== null && channel !== key);
    if (others.length > 0) {
      const refused = others.map(([{ id }, field]) => ({ field, code: "CHANNEL", value: id }));
      return refusal("INVENTORY_IN_USE", refused);
    }
    // A new channel is granted with true, a changed one with false.
    const isNew = !event.channels.has(key);
    event.channels.set(key, name);
    for (const seat of all) {
      const channel = wanted.has(seat) ? key : seat.channel === key ? null : seat.channel;
      if (channel !== seat.channel) Object.assign(seat, { channel, updatedMs: nowMs });
    }
    return isNew ? TRUE : { answer: "false", refused: [] };
  }

  deleteChannel(eventId: string, owner: number, key: string, nowMs: number): Answer {
    this.expire(eventId, nowMs);
    const event = this.events.get(eventId);
    if (event === undefined) return refusal("ENTITY_NOT_FOUND");
    if (event.organization !== owner) return refusal("ACCESS_DENIED");
    if (!event.channels.delete(key)) return refusal("ENTITY_NOT_FOUND");
    for (const seat of event.seats.values()) {
      if (seat.channel === key) Object.assign(seat, { channel: null, updatedMs: nowMs });
    }
    return TRUE;
  }

  /**
   * Moves an event to another schema. @returns INVENTORY_IN_USE if anything is held, sold or blocked;
   * ENTITY_NOT_FOUND if it was deleted meanwhile.
   */
  moveEvent(eventId: string, to: Partial<ModelEvent>, force: boolean): Answer {
    const event = this.events.get(eventId);
    if (event === undefined) return refusal("ENTITY_NOT_FOUND");
    const seats = [...event.seats.values()];
    const areas = [...event.areas.values()];
    const inUse =
      seats.some(({ state }) => state !== null && state !== "ACTIVE") ||
      areas.some(({ held, sold, blocked }) => held.length > 0 || sold > 0 || blocked > 0);
    if (inUse && !force) return refusal("INVENTORY_IN_USE");
    Object.assign(event, to);
    return TRUE;
  }

  /** An independent copy. */
  clone(): Model {
    const copy = new Model();
    for (const [id, organization] of this.organizations) {
      copy.organizations.set(id, { ...organization });
    }
    for (const [id, event] of this.events) copy.events.set(id, cloneEvent(event));
    return copy;
  }

  /** Removes a seat from the layout of the events. @returns INVENTORY_IN_USE if it is taken. */
  removeSeat(events: readonly ModelEvent[], id: number, force: boolean): Answer {
    const inUse = events.filter((event) => !["ACTIVE", null].includes(event.seats.get(id)!.state));
    if (inUse.length > 0 && !force) {
      const refused = inUse.map(() => ({ field: "seats", code: "INVENTORY_IN_USE", value: id }));
      return refusal("INVENTORY_IN_USE", refused);
    }
    for (const event of events) event.seats.delete(id);
    return TRUE;
  }
}

/** Sold places of a priced object times its amount, by currency: one addition for each place. */
export function revenueOf({ prices, seats, areas }: ModelEvent): Map<string, number> {
  const sums = new Map<string, bigint>();
  for (const money of prices.values()) if (money !== null) sums.set(money.currency, 0n);
  const sell = (price: number, places: number) => {
    const money = prices.get(price) ?? null;
    if (money === null) return;
    for (let i = 0; i < places; i++) {
      sums.set(money.currency, sums.get(money.currency)! + BigInt(money.amount));
    }
  };
  for (const { state, price } of seats.values()) sell(price, state === "SOLD" ? 1 : 0);
  for (const { price, sold } of areas.values()) sell(price, sold);
  return new Map([...sums].map(([currency, sum]) => [currency, Number(sum)]));
}

/** The rest of the schema's places for its only area without a capacity. */
export function remainder({ areas, schemaGaCapacity }: ModelEvent): number | null {
  const all = [...areas.values()];
  const taken = all.reduce((sum, { gaCapacity }) => sum + (gaCapacity ?? 0), 0);
  const left = (schemaGaCapacity ?? 0) - taken;
  return left > 0 && all.filter(({ gaCapacity }) => gaCapacity === null).length === 1 ? left : null;
}

/** Holds never change, so the copies share them. */
function cloneEvent(event: ModelEvent): ModelEvent {
  const areas = [...event.areas].map(
    ([id, area]) => [id, { ...area, held: area.held.map((held) => ({ ...held })) }] as const,
  );
  return {
    ...event,
    prices: new Map(event.prices),
    channels: new Map(event.channels),
    seats: new Map([...event.seats].map(([id, seat]) => [id, { ...seat }])),
    areas: new Map(areas),
  };
}

function badExtension({ seats, fence, fences, sessionId, hasAreas }: ExtendRequest): string[] {
  const bad: string[] = [];
  if (hasAreas) bad.push("groupOfSeats");
  if (seats.length === 0 && fence === null && sessionId === null) bad.push("seats");
  seats.forEach(({ id, capacity }, i) => {
    if (seats.findIndex((other) => other.id === id) < i) bad.push(`seats[${i}].id`);
    if (capacity !== null && capacity !== undefined) bad.push(`seats[${i}].capacity`);
  });
  for (const id of fences.keys()) {
    if (!seats.some((seat) => seat.id === id)) bad.push(`fences[${id}]`);
  }
  return bad;
}

function unknownIds(event: ModelEvent, { priceIds, groupIds }: BestAsk): string[] {
  const seats = [...event.seats.values()];
  return [
    ...priceIds.flatMap((id, i) => (event.prices.has(id) ? [] : [`priceIds[${i}]`])),
    ...groupIds.flatMap((id, i) => {
      const isKnown = event.areas.has(id) || seats.some((s) => s.row === id || s.section === id);
      return isKnown ? [] : [`groupOfSeatsIds[${i}]`];
    }),
  ];
}

/** A call whose places are in the hold of its cart. */
type Locking = (BookingRequest | BestAsk) & { word: Word | "best" };

function locks(request: CartStep["request"]): request is Locking & CartStep["request"] {
  return request.word === "lock" || request.word === "best";
}

function addHeld(area: ModelArea, hold: Hold, places: number): void {
  const present = area.held.find((held) => held.hold === hold);
  if (present === undefined) area.held.push({ hold, places });
  else present.places += places;
}

function isOfAll({ all, word }: BookingRequest): boolean {
  return all && COMPARES_HOLDS.has(word);
}

/** By id. */
function allHeld(event: ModelEvent, session: string | null): { seats: Choice[]; areas: Choice[] } {
  const seats = [...event.seats.values()].filter(({ hold }) => hold?.session === session && hold);
  const areas = [...event.areas].flatMap(([id, { held }]) => {
    const own = held.filter(({ hold }) => hold.session === session);
    const capacity = own.reduce((sum, { places }) => sum + places, 0);
    return capacity === 0 ? [] : [{ id, capacity }];
  });
  const byId = (a: Choice, b: Choice) => a.id - b.id;
  return { seats: seats.map(({ id }) => ({ id })).sort(byId), areas: areas.sort(byId) };
}

function holdsOf(event: ModelEvent): Hold[] {
  const ofSeats = [...event.seats.values()].flatMap(({ hold }) => hold ?? []);
  return [
    ...ofSeats,
    ...[...event.areas.values()].flatMap(({ held }) => held.map(({ hold }) => hold)),
  ];
}

function replaceHold(event: ModelEvent, before: Hold, after: Hold, nowMs: number): void {
  for (const seat of event.seats.values()) {
    if (seat.hold?.fence === before.fence) Object.assign(seat, { hold: after, updatedMs: nowMs });
  }
  for (const { held } of event.areas.values()) {
    for (const each of held) if (each.hold.fence === before.fence) each.hold = after;
  }
}

/** Rows are straight, and have no shapes before them. */
function hallOf(event: ModelEvent): Hall {
  const all = [...event.seats.values()];
  const seats = all.map((seat) => {
    const row = all.filter((other) => other.row === seat.row).sort((a, b) => a.x - b.x);
    const place = row.indexOf(seat);
    const before = row[place - 1];
    const isAfterAisle = before !== undefined && !neighboursOf(event, seat).includes(before);
    return {
      ...seat,
      place,
      isAfterAisle,
      at: { x: seat.x, y: seat.y },
      isAccessible: false,
      isHidden: false,
      rank: null,
    };
  });
  const areas = [...event.areas.values()].map(({ id, price, active }) => ({ id, price, active }));
  return { seats, areas, focus: null };
}

function refusal(answer: string, refused: Refused[] = []): Answer {
  return { answer, refused };
}

/** In the order of the request: all seats, then all areas. */
function inOrder(refused: readonly Refused[], { seats, areas }: BookingRequest): Refused[] {
  const names = [
    ...seats.map((_, i) => `seats[${i}].`),
    ...areas.map((_, i) => `groupOfSeats[${i}].`),
  ];
  return names.flatMap((name) => refused.filter(({ field }) => field.startsWith(name)));
}

/** Of the holds that end first, the oldest. */
function takeHeld(area: ModelArea, places: number, request: BookingRequest): void {
  const endOf = ({ hold }: { hold: Hold }) => hold.untilMs ?? Number.MAX_SAFE_INTEGER;
  const byEnd = area.held.toSorted((a, b) => endOf(a) - endOf(b) || a.hold.fence - b.hold.fence);
  for (const held of byEnd) {
    if (!mayUse(held.hold, request)) continue;
    const taken = Math.min(places, held.places);
    held.places -= taken;
    places -= taken;
  }
  area.held = area.held.filter((held) => held.places > 0);
}
