/**
 * A tiny, honest server of the booking interface for the tests of the on-sale player: one event,
 * in memory, on node:http. The rules are written as the interface document states them, slowly
 * and plainly. It can be told to cheat, to crash, and to lose answers.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export const TINY_KEY = "fro_1_tiny";
const TINY_EVENT_ID = "00000000-0000-4000-8000-000000000001";
const AISLE_SPACINGS = 1.5;
const PRICE_ID = 1;

export interface TinyLayout {
  sectors: { guid: string; name: string; ga: boolean; gaCapacity?: number; type?: string }[];
  rows: { guid: string; sectorGuid: string; name: string; rowNumber: string }[];
  seats: { guid: string; rowGuid: string; name: string; ax: number; ay: number }[];
}

interface TinySeat {
  id: number;
  rowId: number;
  x: number;
  y: number;
  state: "ACTIVE" | "LOCKED" | "SOLD" | "BLOCKED" | null;
  session: string | undefined;
  updatedAt: string;
  neighbours: TinySeat[];
}

interface TinyArea {
  id: number;
  priceId: number | null;
  capacity: number;
  active: number;
  locked: number;
  sold: number;
  blocked: number;
  heldBy: Map<string, number>;
}

interface Selection {
  sessionId: string;
  seats: { id: number }[];
  groupOfSeats: { id: number; capacity: number }[];
}

interface Refused {
  field: string;
  code: string;
}

export type TinyCall = "lock" | "unlock" | "sale";
export type TinyOutcome = true | { errorCode: string; errors: Refused[] };

/** Faults that the final check of the player must find. */
export interface TinyCheats {
  /** The first seat sold goes back on sale: two buyers get it. */
  sellsOneSeatTwice?: boolean;
  /** The first seat sold is BLOCKED afterwards: the sale was lost. */
  losesOneSale?: boolean;
  /** The first seat held goes back on sale at once. */
  losesOneHold?: boolean;
  /** Each sale of places counts one too few, so that places vanish. */
  miscountsPlaces?: boolean;
}

/** The seats and areas of one event, and the three calls that change them. */
export class TinyInventory {
  readonly seats = new Map<number, TinySeat>();
  readonly areas = new Map<number, TinyArea>();
  /** In the order of the layout. */
  readonly sectorIds: number[] = [];
  readonly preventsOrphans: boolean;
  readonly #cheats: TinyCheats;
  #hasCheated = false;

  constructor(layout: TinyLayout, preventsOrphans: boolean, cheats: TinyCheats = {}) {
    this.preventsOrphans = preventsOrphans;
    this.#cheats = cheats;
    let id = 0;
    for (const sector of layout.sectors) {
      id += 1;
      this.sectorIds.push(id);
      if (sector.ga) this.areas.set(id, newArea(id, sector.gaCapacity ?? 0));
      for (const row of layout.rows.filter(({ sectorGuid }) => sectorGuid === sector.guid)) {
        const seats = layout.seats.filter(({ rowGuid }) => rowGuid === row.guid);
        id += 1;
        const rowId = id;
        const made = seats.map(({ ax, ay }) => newSeat((id += 1), rowId, [ax, ay]));
        if (sector.type !== "TABLE") joinNeighbours(made);
        for (const seat of made) this.seats.set(seat.id, seat);
      }
    }
  }

  price(): void {
    for (const seat of this.seats.values()) setState(seat, "ACTIVE");
    for (const area of this.areas.values()) area.priceId = PRICE_ID;
  }

  call(name: TinyCall, selection: Selection): TinyOutcome {
    const errors = [
      ...selection.seats.flatMap(({ id }, place) =>
        refusal(`seats[${place}].id`, this.#seatFault(name, id, selection.sessionId)),
      ),
      ...selection.groupOfSeats.flatMap(({ id, capacity }, place) =>
        refusal(
          `groupOfSeats[${place}].capacity`,
          this.#areaFault(name, id, { capacity, session: selection.sessionId }),
        ),
      ),
    ];
    if (errors.length > 0) return { errorCode: "INVENTORY_NOT_AVAILABLE", errors };
    const orphans = name === "unlock" ? [] : this.#orphanErrors(selection);
    if (orphans.length > 0) return { errorCode: "ORPHAN_SEAT", errors: orphans };
    this.#apply(name, selection);
    return true;
  }

  #seatFault(name: TinyCall, id: number, session: string): string | undefined {
    const seat = this.seats.get(id);
    if (seat === undefined) return "NOT_FOUND";
    if (seat.state === null) return "NO_PRICE";
    if (name === "lock") return seat.state === "ACTIVE" ? undefined : seat.state;
    if (seat.state !== "LOCKED") {
      return name === "unlock" && seat.state === "ACTIVE" ? undefined : seat.state;
    }
    return seat.session === session ? undefined : "HELD_BY_ANOTHER_SESSION";
  }

  #areaFault(
    name: TinyCall,
    id: number,
    wish: { capacity: number; session: string },
  ): string | undefined {
    const area = this.areas.get(id);
    if (area === undefined) return "NOT_FOUND";
    if (area.priceId === null) return "NO_PRICE";
    const available = name === "lock" ? area.active : (area.heldBy.get(wish.session) ?? 0);
    return available >= wish.capacity ? undefined : "INSUFFICIENT_CAPACITY";
  }

  /** Names the requested seats beside each seat that would be left alone, and was not before. */
  #orphanErrors(selection: Selection): Refused[] {
    if (!this.preventsOrphans) return [];
    const taken = new Set(selection.seats.map(({ id }) => id));
    const isActive = (seat: TinySeat) => seat.state === "ACTIVE";
    return selection.seats.flatMap(({ id }, place) => {
      const leavesOrphan = this.seats
        .get(id)!
        .neighbours.some(
          (beside) =>
            isActive(beside) &&
            !taken.has(beside.id) &&
            !beside.neighbours.some((other) => isActive(other) && !taken.has(other.id)),
        );
      return refusal(`seats[${place}].id`, leavesOrphan ? "ORPHAN_SEAT" : undefined);
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
      const held = area.heldBy.get(sessionId) ?? 0;
      if (name === "lock") area.active -= capacity;
      else area.locked -= capacity;
      if (name === "lock") area.locked += capacity;
      if (name === "unlock") area.active += capacity;
      if (name === "sale") area.sold += this.#cheats.miscountsPlaces ? capacity - 1 : capacity;
      area.heldBy.set(sessionId, name === "lock" ? held + capacity : held - capacity);
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

function newArea(id: number, capacity: number): TinyArea {
  const counters = { active: capacity, locked: 0, sold: 0, blocked: 0 };
  return { id, priceId: null, capacity, ...counters, heldBy: new Map() };
}

function newSeat(id: number, rowId: number, [x, y]: [number, number]): TinySeat {
  const free = { state: null, session: undefined, updatedAt: localNow() };
  return { id, rowId, x, y, ...free, neighbours: [] };
}

/**
 * Neighbours along the line between the two ends of the row; a gap of more than 1.5 times the
 * median spacing is an aisle.
 */
function joinNeighbours(seats: readonly TinySeat[]): void {
  const end = farthestFrom(seats[0]!, seats);
  const other = farthestFrom(end, seats);
  const length = Math.hypot(other.x - end.x, other.y - end.y);
  const along = ({ x, y }: TinySeat) =>
    ((x - end.x) * (other.x - end.x) + (y - end.y) * (other.y - end.y)) / length;
  const inOrder = seats.toSorted((a, b) => along(a) - along(b));
  const gaps = inOrder.slice(1).map((seat, index) => along(seat) - along(inOrder[index]!));
  const median = gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? 0;
  for (const [index, gap] of gaps.entries()) {
    if (gap > AISLE_SPACINGS * median) continue;
    inOrder[index]!.neighbours.push(inOrder[index + 1]!);
    inOrder[index + 1]!.neighbours.push(inOrder[index]!);
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

function refusal(field: string, code: string | undefined): Refused[] {
  return code === undefined ? [] : [{ field, code }];
}

function localNow(): string {
  return new Date().toISOString().slice(0, 23);
}

export interface TinyOptions {
  preventsOrphans: boolean;
  cheats?: TinyCheats;
  /** Of so many booking calls, one is done and then its connection cut before the answer. */
  losesAnswerEvery?: number;
  /** Of so many booking calls, one is answered with this status and not done. */
  failsEvery?: { count: number; status: number };
  /** After so many booking calls, the organization may not book any more. */
  closesAfter?: number;
}

/** The inventory behind HTTP. It outlives a crash, as if every change had been on disk. */
export class TinyServer {
  readonly #options: TinyOptions;
  readonly #sockets = new Set<Socket>();
  #http: Server;
  #port = 0;
  #inventory: TinyInventory | undefined;
  /** Booking calls that have come. */
  bookingCount = 0;
  #awaited: { readonly count: number; readonly tell: () => void } | undefined;

  constructor(options: TinyOptions) {
    this.#options = options;
    this.#http = this.#newHttp();
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Seats of the event that was made last. */
  get inventory(): TinyInventory {
    return this.#inventory!;
  }

  /** Listens; after a crash, on the port of before. */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#http.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (this.#http.address() as AddressInfo).port;
  }

  /** Settles when so many booking calls have come. One waits at a time. */
  booked(count: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.bookingCount >= count) resolve();
      else this.#awaited = { count, tell: resolve };
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
      const url = new URL(request.url!, this.url);
      const text = Buffer.concat(chunks).toString();
      const body: unknown = text === "" ? undefined : JSON.parse(text);
      if (url.pathname === "/readyz") return send(response, 200, {});
      if (request.headers["x-api-key"] !== TINY_KEY) {
        return send(response, 403, problem("ACCESS_DENIED"));
      }
      const call = /\/booking\/(lock|unlock|sale)$/.exec(url.pathname)?.[1];
      if (call !== undefined) return this.#book(call as TinyCall, body as Selection, response);
      return this.#answer(`${request.method} ${url.pathname}`, url.searchParams, {
        body,
        response,
      });
    });
  }

  #book(call: TinyCall, selection: Selection, response: ServerResponse): void {
    const { losesAnswerEvery, failsEvery, closesAfter = Infinity } = this.#options;
    this.bookingCount += 1;
    if (this.bookingCount === this.#awaited?.count) this.#awaited.tell();
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

  #answer(
    route: string,
    query: URLSearchParams,
    { body, response }: { body: unknown; response: ServerResponse },
  ): void {
    const api = "/api/private/v2.0";
    if (route === `POST ${api}/venues/`) return send(response, 201, { id: 1 });
    if (route === `POST ${api}/schemas/`) return send(response, 201, { id: 1 });
    if (route === `PUT ${api}/schemas/1/layout`)
      return this.#putLayout(body as TinyLayout, response);
    if (route === `POST ${api}/events/`) return send(response, 201, { id: TINY_EVENT_ID });
    if (route === `POST ${api}/event/${TINY_EVENT_ID}/prices/`) {
      return send(
        response,
        201,
        (body as object[]).map((price, id) => ({ ...price, id })),
      );
    }
    if (route === `POST ${api}/event/${TINY_EVENT_ID}/prices/assignments/`) {
      this.inventory.price();
      return send(response, 200, true);
    }
    if (route === `GET ${api}/events/${TINY_EVENT_ID}/seats/`) return this.#list(query, response);
    if (route === `GET ${api}/events/${TINY_EVENT_ID}/areas/`) {
      const areas = [...this.inventory.areas.values()];
      return send(
        response,
        200,
        areas.map(({ id, ...area }) => ({ groupOfSeatsId: id, ...area })),
      );
    }
    return send(response, 404, problem("ENTITY_NOT_FOUND"));
  }

  #putLayout(layout: TinyLayout, response: ServerResponse): void {
    const { preventsOrphans, cheats } = this.#options;
    this.#inventory = new TinyInventory(layout, preventsOrphans, cheats);
    const { sectorIds } = this.inventory;
    const sectors = layout.sectors.map((sector, index) => ({ ...sector, id: sectorIds[index] }));
    send(response, 200, { ...layout, sectors });
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const since = query.get("lastUpdated") ?? "";
    const size = Number(query.get("size"));
    const number = Number(query.get("page"));
    const seats = [...this.inventory.seats.values()].filter(({ updatedAt }) => updatedAt >= since);
    if (query.get("sort") === "updatedAt,desc") {
      seats.sort((a, b) => b.updatedAt.localeCompare(a.updatedAt) || a.id - b.id);
    }
    const content = seats.slice(number * size, (number + 1) * size);
    const totalPages = Math.ceil(seats.length / size);
    send(response, 200, {
      content: content.map(({ id, rowId, state, updatedAt }) => ({
        seatId: id,
        rowId,
        state,
        updatedAt,
      })),
      totalPages,
      last: number + 1 >= totalPages,
    });
  }
}

function problem(errorCode: string): object {
  return { errorCode, detail: "The tiny server says no.", errors: [] };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
