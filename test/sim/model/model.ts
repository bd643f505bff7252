/**
 * A second, simple and slow implementation of the inventory's rules, written from the interface
 * document and the decisions only: Maps and objects, and loops over everything. It shares no code
 * and no storage with the engine, so that a mistake would have to be made twice.
 */

export type Word = "lock" | "unlock" | "sale" | "revertsale" | "directsale" | "block" | "unblock";
export type Status = "DRAFT" | "PUBLISHED" | "ARCHIVED";

/** A seat or an area of a request. */
export interface Choice {
  id: number;
  capacity?: number | null;
}

export interface BookingRequest {
  word: Word;
  organization: number;
  event: string;
  sessionId: string | null;
  holdType: string | null;
  seats: Choice[];
  areas: Choice[];
  fences: Map<number, number>;
}

export interface PriceItem {
  id: number;
  price: number;
  activeCount: number | null;
}

export interface PriceRequest {
  organization: number;
  event: string;
  seats: PriceItem[];
  groups: PriceItem[];
}

export interface Refused {
  field: string;
  code: string;
  value: unknown;
}

/** "true", "false" or an errorCode. `refused` of a bad request has fields only: codes are free. */
export interface Answer {
  answer: string;
  refused: Refused[];
}

export interface ModelOrganization {
  salesControl: boolean;
  bookingEnabled: boolean;
  orphanPrevention: boolean;
  /** 0 for no limit. */
  heldPerSession: number;
  heldPerEvent: number;
  holdTypes: Map<string, number | null>;
}

export interface Hold {
  /** The number of the record of its lock. */
  fence: number;
  session: string | null;
  /** Null for never. */
  untilMs: number | null;
}

export interface ModelSeat {
  id: number;
  row: number;
  section: number;
  isTable: boolean;
  x: number;
  state: "ACTIVE" | "LOCKED" | "SOLD" | "BLOCKED" | null;
  price: number;
  hold: Hold | null;
  updatedMs: number;
}

export interface ModelArea {
  id: number;
  gaCapacity: number | null;
  price: number;
  active: number;
  sold: number;
  blocked: number;
  /** In the order in which they were locked. */
  held: { hold: Hold; places: number }[];
  updatedMs: number;
}

export interface ModelEvent {
  organization: number;
  schema: number;
  status: Status;
  schemaGaCapacity: number | null;
  prices: Set<number>;
  seats: Map<number, ModelSeat>;
  areas: Map<number, ModelArea>;
}

const FROM = {
  lock: "ACTIVE",
  unlock: "LOCKED",
  sale: "LOCKED",
  revertsale: "SOLD",
  directsale: "ACTIVE",
  block: "ACTIVE",
  unblock: "BLOCKED",
} as const;
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

export function lockedPlaces(area: ModelArea): number {
  return area.held.reduce((sum, { places }) => sum + places, 0);
}

export class Model {
  readonly organizations = new Map<number, ModelOrganization>();
  readonly events = new Map<string, ModelEvent>();

  /** @param sequence - The number of the record that it writes when it is granted. */
  book(request: BookingRequest, nowMs: number, sequence: number): Answer {
    this.expire(request.event, nowMs);
    const organization = this.organizations.get(request.organization)!;
    const bad = this.#badFields(request, organization);
    if (bad.length > 0)
      return refusal(
        "VALIDATION_FAILED",
        bad.map((field) => ({ field, code: "", value: null })),
      );
    const event = this.events.get(request.event);
    if (event?.organization !== request.organization) return refusal("EVENT_ACCESS_DENIED");
    const { word } = request;
    if (!organization.bookingEnabled) return refusal("ORGANIZATION_DISABLED");
    if ((word === "sale" || word === "revertsale") && !organization.salesControl) {
      return refusal("SALES_CONTROL_REQUIRED");
    }
    if (["lock", "sale", "directsale"].includes(word) && event.status !== "PUBLISHED") {
      return refusal("EVENT_NOT_PUBLISHED");
    }
    const refused = [...seatProblems(event, request), ...areaProblems(event, request)];
    if (refused.length > 0) {
      const unknown = refused.some(({ code }) => code === "NOT_FOUND");
      if (word === "directsale" && !unknown) return { answer: "false", refused: [] };
      return refusal("INVENTORY_NOT_AVAILABLE", refused);
    }
    const beyond = word === "lock" ? limitProblems(event, organization, request) : [];
    if (beyond.length > 0) return refusal("INVENTORY_NOT_AVAILABLE", beyond);
    if ((word === "lock" || word === "sale") && organization.orphanPrevention) {
      const orphans = orphanProblems(event, request);
      if (orphans.length > 0) return refusal("ORPHAN_SEAT", orphans);
    }
    this.#change(event, request, nowMs, sequence);
    return TRUE;
  }

  #badFields(request: BookingRequest, organization: ModelOrganization): string[] {
    const { seats, areas, holdType, word } = request;
    const fields: string[] = [];
    if (seats.length + areas.length === 0) fields.push("seats");
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
    for (const id of request.fences.keys()) {
      if (!seats.some((seat) => seat.id === id)) fields.push(`fences[${id}]`);
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
    const hold: Hold = { fence, session: sessionId, untilMs };
    for (const { id } of request.seats) {
      const seat = event.seats.get(id)!;
      if (seat.state !== FROM[word]) continue;
      seat.state = TO[word];
      seat.hold = word === "lock" ? hold : null;
      seat.updatedMs = nowMs;
    }
    for (const { id, capacity } of request.areas) {
      const area = event.areas.get(id)!;
      area.updatedMs = nowMs;
      const from = FROM[word];
      if (from === "LOCKED") takeHeld(area, capacity!, sessionId);
      else area[from.toLowerCase() as "active"] -= capacity!;
      if (word === "lock") area.held.push({ hold, places: capacity! });
      else area[TO[word].toLowerCase() as "active"] += capacity!;
    }
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
    const small = request.groups.flatMap((item, i): Refused[] => {
      const area = event.areas.get(item.id);
      if (area === undefined || counts.get(item)! >= taken(area)) return [];
      const field = `groupOfSeats[${i}].activeCount`;
      return [{ field, code: "INVENTORY_IN_USE", value: item.activeCount }];
    });
    if (small.length > 0) return refusal("INVENTORY_IN_USE", small);

    const price = (seat: ModelSeat, item: PriceItem) =>
      Object.assign(seat, { state: seat.state ?? "ACTIVE", price: item.price, updatedMs: nowMs });
    for (const item of request.groups) {
      const area = event.areas.get(item.id);
      if (area !== undefined) {
        const active = counts.get(item)! - taken(area);
        Object.assign(area, { price: item.price, active, updatedMs: nowMs });
      }
      for (const seat of event.seats.values()) if (inGroup(seat, item.id)) price(seat, item);
    }
    for (const item of request.seats) price(event.seats.get(item.id)!, item);
    return TRUE;
  }

  /** Removes the prices of the objects that `has` selects, unless they are sold. */
  #takePrices(event: ModelEvent, has: (object: { price: number }) => boolean, nowMs: number): void {
    for (const seat of event.seats.values()) {
      if (seat.price === 0 || seat.state === "SOLD" || !has(seat)) continue;
      Object.assign(seat, { state: null, price: 0, hold: null, updatedMs: nowMs });
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

  /**
   * Moves an event to another schema. @returns INVENTORY_IN_USE if anything is held or sold;
   * ENTITY_NOT_FOUND if it was deleted meanwhile.
   */
  moveEvent(eventId: string, to: Partial<ModelEvent>, force: boolean): Answer {
    const event = this.events.get(eventId);
    if (event === undefined) return refusal("ENTITY_NOT_FOUND");
    const seats = [...event.seats.values()];
    const areas = [...event.areas.values()];
    const inUse =
      seats.some(({ state }) => state === "LOCKED" || state === "SOLD") ||
      areas.some(({ held, sold }) => held.length > 0 || sold > 0);
    if (inUse && !force) return refusal("INVENTORY_IN_USE");
    Object.assign(event, to);
    return TRUE;
  }

  /** A copy that can be changed independently. */
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

/** What is left of the schema's places for its only area without a capacity. */
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
    prices: new Set(event.prices),
    seats: new Map([...event.seats].map(([id, seat]) => [id, { ...seat }])),
    areas: new Map(areas),
  };
}

function refusal(answer: string, refused: Refused[] = []): Answer {
  return { answer, refused };
}

function seatProblems(event: ModelEvent, request: BookingRequest): Refused[] {
  const { word, sessionId, seats, fences } = request;
  const problemOf = (seat: ModelSeat | undefined): string | null => {
    if (seat === undefined) return "NOT_FOUND";
    if (seat.state === null) return "NO_PRICE";
    if (seat.state === "ACTIVE" && (word === "unlock" || word === "unblock")) return null;
    if (seat.state !== FROM[word]) return seat.state;
    if (word !== "unlock" && word !== "sale") return null;
    const isOwn = sessionId === null || seat.hold!.session === sessionId;
    const isThis = !fences.has(seat.id) || fences.get(seat.id) === seat.hold!.fence;
    return isOwn && isThis ? null : "HELD_BY_ANOTHER_SESSION";
  };
  return seats.flatMap(({ id }, i) => {
    const code = problemOf(event.seats.get(id));
    return code === null ? [] : [{ field: `seats[${i}].id`, code, value: id }];
  });
}

function areaProblems(event: ModelEvent, { word, sessionId, areas }: BookingRequest): Refused[] {
  return areas.flatMap(({ id, capacity }, i) => {
    const field = `groupOfSeats[${i}]`;
    const area = event.areas.get(id);
    if (area === undefined) return [{ field: `${field}.id`, code: "NOT_FOUND", value: id }];
    if (area.price === 0) return [{ field: `${field}.id`, code: "NO_PRICE", value: id }];
    const from = FROM[word];
    const there = from === "LOCKED" ? lockedPlaces(area) : area[from.toLowerCase() as "active"];
    if (there < capacity!) {
      return [{ field: `${field}.capacity`, code: "INSUFFICIENT_CAPACITY", value: capacity }];
    }
    if (from !== "LOCKED" || sessionId === null) return [];
    const own = area.held.filter(({ hold }) => hold.session === sessionId);
    if (own.reduce((sum, { places }) => sum + places, 0) >= capacity!) return [];
    return [{ field: `${field}.id`, code: "HELD_BY_ANOTHER_SESSION", value: id }];
  });
}

/** The documents do not say which places are taken: those that were held longest. */
function takeHeld(area: ModelArea, places: number, sessionId: string | null): void {
  for (const held of area.held) {
    if (sessionId !== null && held.hold.session !== sessionId) continue;
    const taken = Math.min(places, held.places);
    held.places -= taken;
    places -= taken;
  }
  area.held = area.held.filter((held) => held.places > 0);
}

/** Neighbours: seats of one row without an aisle between them, and not at a table. */
export function neighboursOf(event: ModelEvent, seat: ModelSeat): ModelSeat[] {
  if (seat.isTable) return [];
  const row = [...event.seats.values()].filter((other) => other.row === seat.row);
  row.sort((a, b) => a.x - b.x);
  const gaps = row.slice(1).map((next, i) => next.x - row[i]!.x);
  const sorted = gaps.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const median = (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2;
  const place = row.indexOf(seat);
  const beside = [row[place - 1], row[place + 1]];
  return beside.filter(
    (other) => other !== undefined && Math.abs(other.x - seat.x) <= 1.5 * median,
  ) as ModelSeat[];
}

function orphanProblems(event: ModelEvent, request: BookingRequest): Refused[] {
  const requested = new Set(request.seats.map(({ id }) => event.seats.get(id)!));
  const problems: Refused[] = [];
  const rows = new Set([...requested].map(({ row }) => row));
  for (const seat of event.seats.values()) {
    if (!rows.has(seat.row) || seat.state !== "ACTIVE" || requested.has(seat)) continue;
    const beside = neighboursOf(event, seat);
    const before = beside.some((other) => other.state === "ACTIVE" || requested.has(other));
    const after = beside.some((other) => other.state === "ACTIVE" && !requested.has(other));
    if (!before || after) continue;
    request.seats.forEach(({ id }, i) => {
      if (!beside.some((other) => other.id === id)) return;
      problems.push({ field: `seats[${i}].id`, code: `ORPHAN_SEAT ${seat.id}`, value: id });
    });
  }
  return problems;
}

/** What a lock names beyond what may be held; a request without a session is a session too. */
function limitProblems(
  event: ModelEvent,
  { heldPerSession, heldPerEvent }: ModelOrganization,
  { sessionId, seats, areas }: BookingRequest,
): Refused[] {
  const all: (string | null)[] = [];
  for (const { hold } of event.seats.values()) if (hold !== null) all.push(hold.session);
  for (const { held } of event.areas.values()) {
    for (const { hold, places } of held) for (let i = 0; i < places; i++) all.push(hold.session);
  }
  let inEvent = all.length;
  let inSession = all.filter((session) => (session ?? "") === (sessionId ?? "")).length;
  const refused: Refused[] = [];
  const take = (places: number, field: string, value: unknown) => {
    const isOver =
      (heldPerSession > 0 && inSession + places > heldPerSession) ||
      (heldPerEvent > 0 && inEvent + places > heldPerEvent);
    if (isOver) refused.push({ field, code: "HELD_LIMIT", value });
    else {
      inSession += places;
      inEvent += places;
    }
  };
  seats.forEach(({ id }, i) => take(1, `seats[${i}].id`, id));
  areas.forEach(({ capacity }, i) => take(capacity!, `groupOfSeats[${i}].capacity`, capacity));
  return refused;
}
