/**
 * A small server of the booking interface for the tests of `frontrow onsale`: one event, in memory,
 * on node:http. It follows the documented rules in the simplest way. Options make it cheat, crash,
 * and lose answers.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export const TINY_KEY = "fro_1_tiny";
const API = "/api/private/v2.0";
const EVENT_ID = "00000000-0000-4000-8000-000000000001";
/** A gap of more than this many median gaps is an aisle. */
const AISLE_GAPS = 1.5;
const PRICE_ID = 1;

export interface TinyLayout {
  sectors: { guid: string; name: string; ga: boolean; gaCapacity?: number; type?: string }[];
  rows: { guid: string; sectorGuid: string; name: string; rowNumber: string }[];
  seats: { guid: string; rowGuid: string; name: string; ax: number; ay: number }[];
}

interface TinySeat {
  readonly seatId: number;
  readonly seatName: string;
  readonly rowId: number;
  readonly rowName: string;
  readonly sectionName: string;
  readonly x: number;
  readonly y: number;
  readonly neighbours: TinySeat[];
  state: "ACTIVE" | "LOCKED" | "SOLD" | "BLOCKED" | null;
  session: string | undefined;
  updatedAt: string;
}

interface TinyArea {
  readonly groupOfSeatsId: number;
  readonly name: string;
  readonly capacity: number;
  readonly heldBy: Map<string, number>;
  priceId: number | undefined;
  active: number;
  locked: number;
  sold: number;
  blocked: number;
}

interface Selection {
  sessionId: string;
  seats: { id: number }[];
  groupOfSeats: { id: number; capacity: number }[];
}

interface RefusedObject {
  field: string;
  code: string;
}

export type TinyCall = "lock" | "unlock" | "sale";
export type TinyOutcome = true | { errorCode: string; errors: RefusedObject[] };

/** Server errors that the final check must find. */
export interface TinyCheats {
  /** The first seat sold becomes ACTIVE again, so two buyers get it. */
  sellsOneSeatTwice?: boolean;
  /** The first seat sold becomes BLOCKED, so the sale is lost. */
  losesOneSale?: boolean;
  /** The first seat locked becomes ACTIVE again at once. */
  losesOneHold?: boolean;
  /** Every sale of places counts one place too few. */
  miscountsPlaces?: boolean;
}

/** The seats and areas of one event, and the three calls that change them. */
export class TinyInventory {
  readonly seats = new Map<number, TinySeat>();
  readonly areas = new Map<number, TinyArea>();
  /** In the order of the layout. */
  readonly sectorIds: number[] = [];
  readonly #preventsOrphans: boolean;
  readonly #cheats: TinyCheats;
  #hasCheated = false;

  constructor(layout: TinyLayout, preventsOrphans: boolean, cheats: TinyCheats = {}) {
    this.#preventsOrphans = preventsOrphans;
    this.#cheats = cheats;
    let id = 0;
    for (const sector of layout.sectors) {
      id += 1;
      this.sectorIds.push(id);
      if (sector.ga) this.areas.set(id, newArea(id, sector));
      for (const row of layout.rows.filter(({ sectorGuid }) => sectorGuid === sector.guid)) {
        id += 1;
        const shared = { rowId: id, rowName: row.rowNumber, sectionName: sector.name };
        const seats = layout.seats
          .filter(({ rowGuid }) => rowGuid === row.guid)
          .map(({ name, ax: x, ay: y }): TinySeat => {
            id += 1;
            const fresh = { state: null, session: undefined, updatedAt: localNow() };
            return { seatId: id, seatName: name, ...shared, x, y, neighbours: [], ...fresh };
          });
        if (sector.type !== "TABLE") joinNeighbours(seats);
        for (const seat of seats) this.seats.set(seat.seatId, seat);
      }
    }
  }

  /** Puts everything on sale. */
  price(): void {
    for (const seat of this.seats.values()) setState(seat, "ACTIVE");
    for (const area of this.areas.values()) area.priceId = PRICE_ID;
  }

  call(name: TinyCall, selection: Selection): TinyOutcome {
    const { sessionId, seats, groupOfSeats } = selection;
    const errors = [
      ...seats.flatMap(({ id }, i) =>
        refusal(`seats[${i}].id`, this.#seatRefusal(name, id, sessionId)),
      ),
      ...groupOfSeats.flatMap(({ id, capacity }, i) => {
        const code = this.#areaRefusal(name, id, { capacity, sessionId });
        return refusal(`groupOfSeats[${i}].capacity`, code);
      }),
    ];
    if (errors.length > 0) return { errorCode: "INVENTORY_NOT_AVAILABLE", errors };
    const orphans = name === "unlock" ? [] : this.#orphanErrors(selection);
    if (orphans.length > 0) return { errorCode: "ORPHAN_SEAT", errors: orphans };
    this.#apply(name, selection);
    return true;
  }

  #seatRefusal(name: TinyCall, id: number, sessionId: string): string | undefined {
    const seat = this.seats.get(id);
    if (seat === undefined) return "NOT_FOUND";
    if (seat.state === null) return "NO_PRICE";
    if (name === "lock") return seat.state === "ACTIVE" ? undefined : seat.state;
    if (seat.state !== "LOCKED") {
      return name === "unlock" && seat.state === "ACTIVE" ? undefined : seat.state;
    }
    return seat.session === sessionId ? undefined : "HELD_BY_ANOTHER_SESSION";
  }

  #areaRefusal(
    name: TinyCall,
    id: number,
    { capacity, sessionId }: { capacity: number; sessionId: string },
  ): string | undefined {
    const area = this.areas.get(id);
    if (area === undefined) return "NOT_FOUND";
    if (area.priceId === undefined) return "NO_PRICE";
    const available = name === "lock" ? area.active : (area.heldBy.get(sessionId) ?? 0);
    return available >= capacity ? undefined : "INSUFFICIENT_CAPACITY";
  }

  /** Names the requested seats beside each seat that would become an orphan. */
  #orphanErrors({ seats }: Selection): RefusedObject[] {
    if (!this.#preventsOrphans) return [];
    const taken = new Set(seats.map(({ id }) => id));
    const isActive = ({ state }: TinySeat) => state === "ACTIVE";
    const remains = (seat: TinySeat) => isActive(seat) && !taken.has(seat.seatId);
    return seats.flatMap(({ id }, i) => {
      const { neighbours } = this.seats.get(id)!;
      const leavesOrphan = neighbours.some(
        (seat) => remains(seat) && !seat.neighbours.some(remains),
      );
      return refusal(`seats[${i}].id`, leavesOrphan ? "ORPHAN_SEAT" : undefined);
    });
  }

  #apply(name: TinyCall, { sessionId, seats, groupOfSeats }: Selection): void {
    const state = { lock: "LOCKED", unlock: "ACTIVE", sale: "SOLD" } as const;
    for (const { id } of seats) {
      const seat = this.seats.get(id)!;
      setState(seat, state[name], name === "lock" ? sessionId : undefined);
      this.#cheat(name, seat);
    }
    for (const { id, capacity } of groupOfSeats) {
      const area = this.areas.get(id)!;
      const lockedCount = name === "lock" ? capacity : -capacity;
      area.locked += lockedCount;
      area.heldBy.set(sessionId, (area.heldBy.get(sessionId) ?? 0) + lockedCount);
      if (name === "sale") area.sold += this.#cheats.miscountsPlaces ? capacity - 1 : capacity;
      else area.active -= lockedCount;
    }
  }

  #cheat(name: TinyCall, seat: TinySeat): void {
    const { losesOneHold = false } = this.#cheats;
    if (this.#hasCheated || name !== (losesOneHold ? "lock" : "sale")) return;
    if (this.#cheats.sellsOneSeatTwice || losesOneHold) setState(seat, "ACTIVE");
    if (this.#cheats.losesOneSale) setState(seat, "BLOCKED");
    this.#hasCheated = true;
  }
}

function newArea(id: number, { name, gaCapacity = 0 }: TinyLayout["sectors"][number]): TinyArea {
  const counters = { active: gaCapacity, locked: 0, sold: 0, blocked: 0 };
  const area = { groupOfSeatsId: id, name, capacity: gaCapacity, priceId: undefined };
  return { ...area, ...counters, heldBy: new Map() };
}

/** Orders the seats along the line between the two ends of the row; an aisle separates seats. */
function joinNeighbours(seats: readonly TinySeat[]): void {
  const end = farthestFrom(seats[0]!, seats);
  const other = farthestFrom(end, seats);
  const [dx, dy] = [other.x - end.x, other.y - end.y];
  const position = ({ x, y }: TinySeat) =>
    ((x - end.x) * dx + (y - end.y) * dy) / Math.hypot(dx, dy);
  const inOrder = seats.toSorted((a, b) => position(a) - position(b));
  const gaps = inOrder.slice(1).map((seat, i) => position(seat) - position(inOrder[i]!));
  const median = gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? 0;
  for (const [i, gap] of gaps.entries()) {
    if (gap > AISLE_GAPS * median) continue;
    inOrder[i]!.neighbours.push(inOrder[i + 1]!);
    inOrder[i + 1]!.neighbours.push(inOrder[i]!);
  }
}

function farthestFrom(from: TinySeat, seats: readonly TinySeat[]): TinySeat {
  const distance = ({ x, y }: TinySeat) => Math.hypot(x - from.x, y - from.y);
  return seats.reduce((best, seat) => (distance(seat) > distance(best) ? seat : best));
}

function setState(seat: TinySeat, state: TinySeat["state"], session?: string): void {
  seat.state = state;
  seat.session = session;
  seat.updatedAt = localNow();
}

function refusal(field: string, code: string | undefined): RefusedObject[] {
  return code === undefined ? [] : [{ field, code }];
}

function localNow(): string {
  return new Date().toISOString().slice(0, 23);
}

export interface TinyOptions {
  preventsOrphans: boolean;
  cheats?: TinyCheats;
  /** One in this many booking calls is executed, then its connection is cut before the answer. */
  losesAnswerEvery?: number;
  /** One in this many booking calls is answered with this status and not executed. */
  failsEvery?: { count: number; status: number };
  /** After this many booking calls, the organization is disabled. */
  closesAfter?: number;
}

/** The inventory over HTTP. It survives a crash, as if every change were on disk. */
export class TinyServer {
  readonly #options: TinyOptions;
  readonly #sockets = new Set<Socket>();
  #http: Server;
  #port = 0;
  #inventory: TinyInventory | undefined;
  /** Booking calls received. */
  bookingCount = 0;
  #awaited: { readonly count: number; readonly resolve: () => void } | undefined;

  constructor(options: TinyOptions) {
    this.#options = options;
    this.#http = this.#newHttp();
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** The inventory of the latest layout. */
  get inventory(): TinyInventory {
    return this.#inventory!;
  }

  /** Listens; after a crash, on the same port as before. */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#http.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (this.#http.address() as AddressInfo).port;
  }

  /** Resolves when this many booking calls have been received. Only one caller may wait. */
  booked(count: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.bookingCount >= count) resolve();
      else this.#awaited = { count, resolve };
    });
  }

  /** Cuts every connection at once, as kill -9 does. */
  async crash(): Promise<void> {
    const closed = new Promise((resolve) => this.#http.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    this.#http = this.#newHttp();
  }

  #newHttp(): Server {
    const http = createServer((request, response) => this.#receive(request, response));
    http.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    return http;
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { pathname, searchParams } = new URL(request.url!, this.url);
      const text = Buffer.concat(chunks).toString();
      const body: unknown = text === "" ? undefined : JSON.parse(text);
      if (pathname === "/readyz") return send(response, 200, {});
      if (request.headers["x-api-key"] !== TINY_KEY) {
        return send(response, 403, problem("ACCESS_DENIED"));
      }
      const call = /\/booking\/(lock|unlock|sale)$/.exec(pathname)?.[1];
      if (call !== undefined) return this.#book(call as TinyCall, body as Selection, response);
      const answer = this.#answer(`${request.method} ${pathname}`, searchParams, body);
      if (answer === undefined) return send(response, 404, problem("ENTITY_NOT_FOUND"));
      const creates = request.method === "POST" && answer !== true;
      return send(response, creates ? 201 : 200, answer);
    });
  }

  #book(call: TinyCall, selection: Selection, response: ServerResponse): void {
    const { losesAnswerEvery, failsEvery, closesAfter = Infinity } = this.#options;
    this.bookingCount += 1;
    if (this.bookingCount === this.#awaited?.count) this.#awaited.resolve();
    if (failsEvery !== undefined && this.bookingCount % failsEvery.count === 0) {
      return send(response, failsEvery.status, problem("OVERLOADED"));
    }
    if (this.bookingCount > closesAfter) {
      return send(response, 400, problem("ORGANIZATION_DISABLED"));
    }
    const outcome = this.inventory.call(call, selection);
    if (losesAnswerEvery !== undefined && this.bookingCount % losesAnswerEvery === 0) {
      response.socket?.destroy();
      return;
    }
    if (outcome === true) return send(response, 200, true);
    return send(response, outcome.errorCode === "ORPHAN_SEAT" ? 422 : 400, outcome);
  }

  /** @returns The body of the answer; undefined for an unknown route. */
  #answer(route: string, query: URLSearchParams, body: unknown): unknown {
    switch (route) {
      case `POST ${API}/venues/`:
      case `POST ${API}/schemas/`:
        return { id: 1 };
      case `PUT ${API}/schemas/1/layout`:
        return this.#putLayout(body as TinyLayout);
      case `POST ${API}/events/`:
        return { id: EVENT_ID };
      case `POST ${API}/event/${EVENT_ID}/prices/`:
        return (body as object[]).map((price, id) => ({ ...price, id }));
      case `POST ${API}/event/${EVENT_ID}/prices/assignments/`:
        this.inventory.price();
        return true;
      case `GET ${API}/events/${EVENT_ID}/seats/`:
        return this.#listSeats(query);
      case `GET ${API}/events/${EVENT_ID}/areas/`:
        return [...this.inventory.areas.values()];
      default:
        return undefined;
    }
  }

  #putLayout(layout: TinyLayout): object {
    const { preventsOrphans, cheats } = this.#options;
    this.#inventory = new TinyInventory(layout, preventsOrphans, cheats);
    const { sectorIds } = this.inventory;
    return {
      ...layout,
      sectors: layout.sectors.map((sector, i) => ({ ...sector, id: sectorIds[i] })),
    };
  }

  #listSeats(query: URLSearchParams): object {
    const since = query.get("lastUpdated") ?? "";
    const size = Number(query.get("size"));
    const number = Number(query.get("page"));
    const seats = [...this.inventory.seats.values()].filter(({ updatedAt }) => updatedAt >= since);
    if (query.get("sort") === "updatedAt,desc") {
      seats.sort((a, b) => b.updatedAt.localeCompare(a.updatedAt) || a.seatId - b.seatId);
    }
    const content = seats
      .slice(number * size, (number + 1) * size)
      .map((seat) => ({ ...seat, neighbours: [] }));
    const totalPages = Math.ceil(seats.length / size);
    return { content, totalPages, last: number + 1 >= totalPages };
  }
}

function problem(errorCode: string): object {
  return { errorCode, detail: "The tiny server refuses this.", errors: [] };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
