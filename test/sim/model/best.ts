/**
 * The best places by exhaustive search: every block of every run and table, written from the
 * interface document only. It shares no code with the engine.
 */

export interface HallSeat {
  id: number;
  section: number;
  row: number;
  isTable: boolean;
  /** From 0, along the row. */
  place: number;
  isAfterAisle: boolean;
  /** Absolute. */
  at: Point | null;
  isAccessible: boolean;
  isHidden: boolean;
  rank: number | null;
  state: string | null;
  /** 0 for none. */
  price: number;
  /** The key of its channel. */
  channel: string | null;
}

export interface HallArea {
  id: number;
  price: number;
  active: number;
}

export interface Point {
  x: number;
  y: number;
}

export interface Hall {
  seats: HallSeat[];
  areas: HallArea[];
  /** The drawn focal point, else the centre of the first object. */
  focus: Point | null;
}

export interface BestWish {
  quantity: number;
  /** Empty for any. */
  priceIds: number[];
  groupIds: number[];
  accessible: number;
  includeAccessible: boolean;
  isPreferred: boolean;
  avoidOrphans: boolean;
  orphanMode: "off" | "strict" | "lenient";
  channel: string | null;
}

export type Best =
  | { kind: "seats"; together: boolean; ids: number[] }
  | { kind: "area"; id: number }
  | { kind: "none"; largestTogether: number; available: number };

/** Seats of one run or table. */
interface Block {
  seats: HallSeat[];
  /** Names the run or table. */
  where: string;
  orphans: number;
  sum: number;
  distance: number;
}

type Order = (a: Block, b: Block) => number;

export function searchBest(hall: Hall, wish: BestWish): Best {
  const { quantity, accessible } = wish;
  const together = bestOf(blocksOf(hall, wish, quantity, new Set()), byQuality);
  if (together !== null) return { kind: "seats", together: true, ids: idsOf([together]) };
  const areas = wish.groupIds.flatMap((id) => hall.areas.find((area) => area.id === id) ?? []);
  const open = areas.filter(({ price }) => isPriced(wish, price) && accessible === 0);
  const area = open.find(({ active }) => active >= quantity);
  if (area !== undefined) return { kind: "area", id: area.id };
  const apart = wish.isPreferred ? searchApart(hall, wish) : null;
  if (apart !== null) return { kind: "seats", together: false, ids: idsOf(apart) };
  let largestTogether = 0;
  for (let size = Math.max(accessible, 1); size < quantity; size++) {
    const hasBlock = blocksOf(hall, wish, size, new Set()).length > 0;
    if (hasBlock || open.some(({ active }) => active >= size)) largestTogether = size;
  }
  const candidates = hall.seats.filter((seat) => isCandidate(wish, seat, new Set())).length;
  const places = new Map(open.map(({ id, active }) => [id, active]));
  const available = [...places.values()].reduce((sum, active) => sum + active, candidates);
  return { kind: "none", largestTogether, available };
}

function searchApart(hall: Hall, wish: BestWish): Block[] | null {
  const chosen: Block[] = [];
  const taken = new Set<HallSeat>();
  const others = { ...wish, accessible: 0 };
  for (let left = wish.quantity; left > 0;) {
    const isFirst = chosen.length === 0;
    const near = isFirst ? null : meanOf(chosen[0]!.seats);
    const found = (size: number, now = taken) =>
      bestOf(
        blocksOf(hall, isFirst ? wish : others, size, now).map((block) => ({
          ...block,
          distance: isFirst ? 0 : distanceOf(near, meanOf(block.seats)),
        })),
        isFirst ? byQuality : byNearness,
      );
    let next: Block | null = null;
    for (let size = isFirst ? left - 1 : left; size > 0 && next === null; size--) {
      next = found(size);
      if (next === null || left - size !== 1 || size < 3) continue;
      const smaller = found(size - 1);
      if (smaller === null) continue;
      const then = new Set([...taken, ...smaller.seats]);
      const pairs = blocksOf(hall, others, 2, then);
      if (pairs.some(({ where }) => where !== smaller.where)) next = smaller;
    }
    if (next === null) return null;
    chosen.push(next);
    for (const seat of next.seats) taken.add(seat);
    left -= next.seats.length;
  }
  return chosen;
}

function isPriced({ priceIds }: BestWish, price: number): boolean {
  return price !== 0 && (priceIds.length === 0 || priceIds.includes(price));
}

function isCandidate(wish: BestWish, seat: HallSeat, taken: ReadonlySet<HallSeat>): boolean {
  const { groupIds, accessible, includeAccessible } = wish;
  if (seat.state !== "ACTIVE" || taken.has(seat) || seat.isHidden) return false;
  if (!isPriced(wish, seat.price)) return false;
  if (seat.channel !== null && seat.channel !== wish.channel) return false;
  const isWithin = groupIds.includes(seat.row) || groupIds.includes(seat.section);
  if (groupIds.length > 0 && !isWithin) return false;
  return !seat.isAccessible || accessible > 0 || includeAccessible;
}

/** Every block of the size. */
function blocksOf(hall: Hall, wish: BestWish, size: number, taken: ReadonlySet<HallSeat>): Block[] {
  const scores = scoresOf(hall);
  const runs = runsOf(hall);
  const blocks: Block[] = [];
  const add = (seats: HallSeat[], where: string) => {
    const count = seats.filter(({ isAccessible }) => isAccessible).length;
    const { accessible, includeAccessible, avoidOrphans, orphanMode } = wish;
    if (includeAccessible ? count < accessible : count !== accessible) return;
    const left = newOrphans(runs, taken, seats);
    const orphans = left.length;
    if (orphanMode === "strict" && orphans > 0) return;
    const isSpared = (seat: HallSeat) => isLastOfStretch(runs, taken, seats, seat);
    if (orphanMode === "lenient" && !left.every(isSpared)) return;
    const sum = seats.reduce((total, { id }) => total + scores.get(id)!, 0);
    blocks.push({ seats, where, orphans: avoidOrphans ? orphans : 0, sum, distance: 0 });
  };
  for (const run of runs) {
    for (let from = 0; from + size <= run.length; from++) {
      const seats = run.slice(from, from + size);
      if (seats.every((seat) => isCandidate(wish, seat, taken))) add(seats, `run ${run[0]!.id}`);
    }
  }
  for (const table of new Set(hall.seats.filter(({ isTable }) => isTable).map((s) => s.section))) {
    const own = hall.seats.filter((seat) => seat.section === table);
    const free = own.filter((seat) => isCandidate(wish, seat, taken));
    free.sort((a, b) => rowOrder(hall, a) - rowOrder(hall, b) || a.place - b.place);
    for (const seats of choicesOf(free, size)) add(seats, `table ${table}`);
  }
  return blocks;
}

function rowOrder({ seats }: Hall, { row }: HallSeat): number {
  return seats.findIndex((seat) => seat.row === row);
}

/** Neighbours in order: rows, cut at aisles. */
function runsOf({ seats }: Hall): HallSeat[][] {
  const runs: HallSeat[][] = [];
  for (const row of new Set(seats.map((seat) => seat.row))) {
    const own = seats.filter((seat) => seat.row === row && !seat.isTable);
    own.sort((a, b) => a.place - b.place);
    for (const seat of own) {
      if (seat === own[0] || seat.isAfterAisle) runs.push([]);
      runs.at(-1)!.push(seat);
    }
  }
  return runs;
}

function newOrphans(
  runs: HallSeat[][],
  taken: ReadonlySet<HallSeat>,
  seats: HallSeat[],
): HallSeat[] {
  const orphansWithout = (gone: ReadonlySet<HallSeat>) =>
    runs.flatMap((run) => {
      const isActive = (seat: HallSeat | undefined) =>
        seat !== undefined && seat.state === "ACTIVE" && !gone.has(seat);
      return run.filter(
        (seat, i) => isActive(seat) && !isActive(run[i - 1]) && !isActive(run[i + 1]),
      );
    });
  const before = new Set(orphansWithout(taken));
  return orphansWithout(new Set([...taken, ...seats])).filter((seat) => !before.has(seat));
}

/** True when the block is all else of the free neighbours around a seat. */
function isLastOfStretch(
  runs: readonly HallSeat[][],
  taken: ReadonlySet<HallSeat>,
  block: readonly HallSeat[],
  orphan: HallSeat,
): boolean {
  const run = runs.find((seats) => seats.includes(orphan))!;
  const isFree = (seat: HallSeat | undefined) =>
    seat !== undefined && seat.state === "ACTIVE" && !taken.has(seat);
  let [from, to] = [run.indexOf(orphan), run.indexOf(orphan)];
  while (isFree(run[from - 1])) from -= 1;
  while (isFree(run[to + 1])) to += 1;
  return run.slice(from, to + 1).every((seat) => seat === orphan || block.includes(seat));
}

function choicesOf(seats: HallSeat[], size: number): HallSeat[][] {
  if (size === 0) return [[]];
  return seats.flatMap((seat, i) =>
    choicesOf(seats.slice(i + 1), size - 1).map((rest) => [seat, ...rest]),
  );
}

function bestOf(blocks: Block[], order: Order): Block | null {
  return blocks.reduce<Block | null>(
    (best, block) => (best === null || order(block, best) < 0 ? block : best),
    null,
  );
}

function byQuality(a: Block, b: Block): number {
  return a.orphans - b.orphans || a.sum - b.sum || byIds(a, b);
}

function byNearness(a: Block, b: Block): number {
  if (a.orphans !== b.orphans) return a.orphans - b.orphans;
  if (a.distance !== b.distance) return a.distance < b.distance ? -1 : 1;
  return byQuality(a, b);
}

function byIds(a: Block, b: Block): number {
  const [ids, others] = [a, b].map(({ seats }) => seats.map(({ id }) => id).sort((x, y) => x - y));
  const at = ids!.findIndex((id, i) => id !== others![i]);
  return at < 0 ? 0 : ids![at]! - others![at]!;
}

function idsOf(blocks: Block[]): number[] {
  return blocks.flatMap(({ seats }) => seats.map(({ id }) => id));
}

function meanOf(seats: HallSeat[]): Point | null {
  const points = seats.flatMap(({ at }) => at ?? []);
  if (points.length === 0) return null;
  return {
    x: points.reduce((sum, { x }) => sum + x, 0) / points.length,
    y: points.reduce((sum, { y }) => sum + y, 0) / points.length,
  };
}

/** From a block without a position all others are equally near; to one, it is the farthest. */
function distanceOf(from: Point | null, to: Point | null): number {
  if (from === null) return 0;
  return to === null ? Infinity : Math.round(Math.hypot(to.x - from.x, to.y - from.y));
}

/** By seat id. */
export function scoresOf({ seats, focus }: Hall): Map<number, number> {
  if (seats.some(({ rank }) => rank !== null)) {
    return new Map(seats.map(({ id, rank }) => [id, rank ?? 1_000_000_000]));
  }
  const points = seats.flatMap(({ at }) => at ?? []);
  const xs = points.map(({ x }) => x);
  const front = {
    x: (Math.min(...xs) + Math.max(...xs)) / 2,
    y: Math.min(...points.map(({ y }) => y)),
  };
  const { x, y } = focus ?? front;
  const rows = [...new Set(seats.map(({ row }) => row))].sort((a, b) => a - b);
  return new Map(
    seats.map(({ id, at, row, place }) => {
      if (at !== null) return [id, Math.round(Math.hypot(at.x - x, at.y - y))];
      const count = seats.filter((other) => other.row === row).length;
      const fromMiddle = Math.abs(2 * place - (count - 1));
      return [id, 1_000_000_000 + 10_000 * rows.indexOf(row) + fromMiddle];
    }),
  );
}
