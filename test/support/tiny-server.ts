/**
 * The server under test over node:http, for the tests of `frontrow onsale`. Options make it cheat,
 * crash, and lose answers.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { BookingKind } from "../../engine/commands.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import { Result } from "../../engine/results.ts";
import type { StateSelection } from "../../engine/bodies.ts";
import { START_MS } from "./engine.ts";
import { TestServer } from "./server.ts";

/** Server errors that the final check must find. */
export interface TinyCheats {
  /** The first seat sold becomes ACTIVE again, so two buyers get it. */
  sellsOneSeatTwice?: boolean;
  /** The first seat sold becomes BLOCKED, so the sale is lost. */
  losesOneSale?: boolean;
  /** The first seat locked becomes ACTIVE again at once. */
  losesOneHold?: boolean;
  /** The listing of areas has one sold place too few. */
  miscountsPlaces?: boolean;
}

export interface TinyOptions {
  preventsOrphans: boolean;
  /** Seats and places of a session in an event. */
  heldPerSession?: number;
  cheats?: TinyCheats;
  /** One in this many booking calls is executed, then its connection is cut before the answer. */
  losesAnswerEvery?: number;
  /** One in this many booking calls is answered with this status and not executed. */
  failsEvery?: { count: number; status: number };
  /** After this many booking calls, the organization is disabled. */
  closesAfter?: number;
}

/** It survives a crash, as if every change were on disk. */
export class TinyServer {
  readonly #server = new TestServer();
  readonly #options: TinyOptions;
  readonly #sockets = new Set<Socket>();
  #http: Server;
  #port = 0;
  /** Booking calls received. */
  bookingCount = 0;
  #hasCheated = false;
  #awaited: { readonly count: number; readonly resolve: () => void } | undefined;

  constructor(options: TinyOptions) {
    this.#options = options;
    const { preventsOrphans: orphanPrevention, heldPerSession } = options;
    this.#server.world.change({ orphanPrevention, ...(heldPerSession && { heldPerSession }) });
    this.#http = this.#newHttp();
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get key(): string {
    return this.#server.a.key;
  }

  /** Ids of the seats of the latest event, in the order of its layout. */
  get seatIds(): readonly number[] {
    return [...this.#partition.layout.seatIds];
  }

  get areaIds(): readonly number[] {
    return [...this.#partition.layout.areaIndexes.keys()];
  }

  get soldSeatCount(): number {
    return this.#partition.state.filter((state) => state === SeatState.SOLD).length;
  }

  /** Books on the latest event. @returns Whether it was granted. */
  book(kind: BookingKind, selection: StateSelection): boolean {
    const { engine, a } = this.#server;
    const command = { kind, caller: a.caller, eventId: this.#eventId, body: selection };
    return engine.submit(command).refused === Result.OK;
  }

  get #eventId(): string {
    return [...this.#server.engine.state.catalog.events.keys()].at(-1)!;
  }

  get #partition() {
    const { state } = this.#server.engine;
    return state.partitionOf(state.catalog.events.get(this.#eventId)!);
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
      const body = Buffer.concat(chunks);
      const call = /\/booking\/(lock|best|unlock|sale)\?/.exec(request.url!)?.[1];
      const kind = call as BookingKind | "best" | undefined;
      if (kind === undefined) void this.#forward(request, body, response);
      else void this.#book(kind, { request, body, response });
    });
  }

  async #book(kind: BookingKind | "best", { request, body, response }: Received): Promise<void> {
    const { losesAnswerEvery, failsEvery, closesAfter = Infinity } = this.#options;
    this.bookingCount += 1;
    const number = this.bookingCount;
    if (number === this.#awaited?.count) this.#awaited.resolve();
    if (failsEvery !== undefined && number % failsEvery.count === 0) {
      const problem = JSON.stringify({ errorCode: "OVERLOADED", detail: "It fails.", errors: [] });
      return send(response, failsEvery.status, problem);
    }
    if (number === closesAfter + 1) this.#server.world.change({ bookingEnabled: false });
    const losesAnswer = losesAnswerEvery !== undefined && number % losesAnswerEvery === 0;
    const answer = await this.#forward(request, body, losesAnswer ? null : response);
    if (losesAnswer) response.socket?.destroy();
    if (answer === "true" && kind !== "best")
      this.#cheat(kind, JSON.parse(String(body)) as StateSelection);
  }

  /** @param response - Null for a lost answer. @returns The body of the answer. */
  async #forward(
    { method, url, headers }: IncomingMessage,
    body: Buffer,
    response: ServerResponse | null,
  ): Promise<string> {
    const { world } = this.#server;
    world.clock.timeMs = START_MS + Math.floor(performance.now());
    const reply = await this.#server.call(method!, url!, {
      key: String(headers["x-api-key"]),
      ...(body.length > 0 && { body }),
    });
    const miscounts = this.#options.cheats?.miscountsPlaces === true && url!.endsWith("/areas/");
    const text = miscounts ? reply.text.replace(/"sold":([1-9]\d*)/, '"sold":0') : reply.text;
    if (response !== null) send(response, reply.status, text);
    return text;
  }

  #cheat(kind: BookingKind, { sessionId, seats }: StateSelection): void {
    const { losesOneHold, losesOneSale, sellsOneSeatTwice } = this.#options.cheats ?? {};
    // An unlock of a whole session names no seats.
    const body = { sessionId, seats: (seats ?? []).slice(0, 1) };
    if (this.#hasCheated || body.seats.length === 0) return;
    if (losesOneHold && kind === "lock") this.#hasCheated = this.book("unlock", body);
    if (kind !== "sale" || !(losesOneSale || sellsOneSeatTwice)) return;
    this.#hasCheated = this.book("revertsale", body);
    if (losesOneSale) this.book("block", body);
  }
}

interface Received {
  readonly request: IncomingMessage;
  readonly body: Buffer;
  readonly response: ServerResponse;
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}
