/** Why a booking is refused: the rules for seats, areas, orphans and limits. */
import {
  type BookingRequest,
  type Choice,
  COMPARES_HOLDS,
  COMPARES_RECORDS,
  type Hold,
  type ModelEvent,
  type ModelOrganization,
  type ModelSeat,
  type OrphanMode,
  placesIn,
  type Refused,
  statesFor,
} from "./facts.ts";

export function seatProblems(event: ModelEvent, request: BookingRequest): Refused[] {
  const { word, sessionId, seats, fences, fence } = request;
  const problemOf = (seat: ModelSeat | undefined): string | null => {
    if (seat === undefined) return "NOT_FOUND";
    if (seat.state === null) return "NO_PRICE";
    if (!statesFor(request).seats.includes(seat.state)) {
      if (seat.state === "ACTIVE" && (word === "unlock" || word === "unblock")) return null;
      const isOwn = word === "lock" && sessionId !== null && seat.hold?.session === sessionId;
      return isOwn ? "HELD_BY_THIS_SESSION" : seat.state;
    }
    const asks = word === "lock" || word === "directsale";
    if (asks && seat.channel !== null && seat.channel !== request.channel) return "CHANNEL";
    const wanted = fences.get(seat.id) ?? fence;
    if (COMPARES_RECORDS.has(word)) {
      return wanted === null || wanted === seat.fence ? null : "STALE_FENCE";
    }
    if (seat.hold === null || !COMPARES_HOLDS.has(word)) return null;
    const isOwn = sessionId === null || seat.hold.session === sessionId;
    const isThis = wanted === null || wanted === seat.hold.fence;
    return isOwn && isThis ? null : "HELD_BY_ANOTHER_SESSION";
  };
  return seats.flatMap(({ id }, i) => {
    const code = problemOf(event.seats.get(id));
    return code === null ? [] : [{ field: `seats[${i}].id`, code, value: id }];
  });
}

export function areaProblems(event: ModelEvent, request: BookingRequest): Refused[] {
  const { sessionId, areas, fence } = request;
  return areas.flatMap(({ id, capacity }, i) => {
    const field = `groupOfSeats[${i}]`;
    const area = event.areas.get(id);
    if (area === undefined) return [{ field: `${field}.id`, code: "NOT_FOUND", value: id }];
    if (area.price === 0) return [{ field: `${field}.id`, code: "NO_PRICE", value: id }];
    const states = statesFor(request).places;
    const there = states.reduce((sum, state) => sum + placesIn(area, state), 0);
    if (there < capacity!) {
      return [{ field: `${field}.capacity`, code: "INSUFFICIENT_CAPACITY", value: capacity }];
    }
    if (!COMPARES_HOLDS.has(request.word) || (sessionId === null && fence === null)) return [];
    const own = area.held.filter(({ hold }) => mayUse(hold, request));
    const places = own.reduce((sum, held) => sum + held.places, 0);
    if (places >= capacity!) return [];
    if (fence !== null && places > 0) {
      return [{ field: `${field}.capacity`, code: "INSUFFICIENT_CAPACITY", value: capacity }];
    }
    return [{ field: `${field}.id`, code: "HELD_BY_ANOTHER_SESSION", value: id }];
  });
}

export function mayUse(
  hold: Hold,
  { sessionId, fence }: Pick<BookingRequest, "sessionId" | "fence">,
): boolean {
  const isOwn = sessionId === null || hold.session === sessionId;
  return isOwn && (fence === null || hold.fence === fence);
}

/** Objects with another price than the request expects, unless they are refused already. */
export function priceProblems(
  event: ModelEvent,
  { word, seats, areas, priceIds }: BookingRequest,
  refused: readonly Refused[],
): Refused[] {
  if (word !== "lock" && word !== "sale" && word !== "directsale") return [];
  const isRefused = (name: string) => refused.some(({ field }) => field.startsWith(name));
  const check = (choices: Choice[], list: string, of: ReadonlyMap<number, { price: number }>) =>
    choices.flatMap(({ id }, i): Refused[] => {
      const [expected, name] = [priceIds.get(id), `${list}[${i}].`];
      if (expected === undefined || isRefused(name) || of.get(id)!.price === expected) return [];
      return [{ field: `${name}id`, code: "PRICE_CHANGED", value: expected }];
    });
  return [...check(seats, "seats", event.seats), ...check(areas, "groupOfSeats", event.areas)];
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

/** The rules that count for a request now. */
export function rulesOf(organization: ModelOrganization, event: ModelEvent) {
  const { rules } = event;
  const { orphanMode, orphanUntilSold } = rules.orphanMode === null ? organization : rules;
  const count = (state: string) =>
    [...event.seats.values()].filter((seat) => seat.state === state).length;
  const [active, locked, sold] = [count("ACTIVE"), count("LOCKED"), count("SOLD")];
  const isOver =
    orphanUntilSold !== null && sold * 100 >= orphanUntilSold * (active + locked + sold);
  return {
    orphanMode: isOver ? ("off" as const) : orphanMode!,
    heldPerSession: rules.heldPerSession ?? organization.heldPerSession,
    heldPerEvent: rules.heldPerEvent ?? organization.heldPerEvent,
  };
}

/** The seats in reach over neighbours, each ACTIVE or in the request. */
function stretchOf(event: ModelEvent, from: ModelSeat, requested: Set<ModelSeat>): Set<ModelSeat> {
  const stretch = new Set([from]);
  for (const seat of stretch) {
    for (const beside of neighboursOf(event, seat)) {
      if (beside.state === "ACTIVE" || requested.has(beside)) stretch.add(beside);
    }
  }
  return stretch;
}

export function orphanProblems(
  event: ModelEvent,
  request: BookingRequest,
  mode: OrphanMode,
): Refused[] {
  const requested = new Set(request.seats.map(({ id }) => event.seats.get(id)!));
  const problems: Refused[] = [];
  const rows = new Set([...requested].map(({ row }) => row));
  for (const seat of event.seats.values()) {
    if (!rows.has(seat.row) || seat.state !== "ACTIVE" || requested.has(seat)) continue;
    const beside = neighboursOf(event, seat);
    const before = beside.some((other) => other.state === "ACTIVE" || requested.has(other));
    const after = beside.some((other) => other.state === "ACTIVE" && !requested.has(other));
    if (!before || after) continue;
    const others = [...stretchOf(event, seat, requested)].filter((other) => other !== seat);
    if (mode === "lenient" && others.every((other) => requested.has(other))) continue;
    request.seats.forEach(({ id }, i) => {
      if (!beside.some((other) => other.id === id)) return;
      problems.push({ field: `seats[${i}].id`, code: `ORPHAN_SEAT ${seat.id}`, value: id });
    });
  }
  return problems;
}

/** Objects of a lock beyond the limits; a request without a session is a session too. */
export function limitProblems(
  event: ModelEvent,
  { heldPerSession, heldPerEvent }: Pick<ModelOrganization, "heldPerSession" | "heldPerEvent">,
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
