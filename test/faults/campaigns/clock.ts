/**
 * The machine's clock jumps an hour back and three hours ahead while the service runs, and back
 * across a kill. Times of changes never go back, and holds end neither early nor late.
 */
import path from "node:path";
import { type ServerProcess, sleep } from "../../support/server-process.ts";
import type { Campaign, Outcome, Run } from "../campaign.ts";
import type { Scope } from "../support/scope.ts";
import { createHouse, type House, startServer, TENANT_TOKEN } from "../support/serving.ts";
import { missingShim, Shim } from "../support/shim.ts";

const HOUR_MS = 3_600_000;
const HOLD_SECONDS = 2;
const HOLD_MS = HOLD_SECONDS * 1_000;
/** Times are rounded down to whole milliseconds. */
const EARLY_MS = 5;
/** A limit for a busy machine. */
const LATE_MS = 2_500;
const LONG_ROUNDS = 10;
const POLL_MS = 20;
const V2 = "/api/private/v2.0";

export const clock: Campaign = {
  name: "clock",
  shows: "jumps of -1 h and +3 h: times never go back, and holds end neither early nor late",
  missing: missingShim,
  run,
};

const LEAPS = [
  { name: "-1 h", leapMs: -HOUR_MS, isKilled: false },
  { name: "+3 h", leapMs: 3 * HOUR_MS, isKilled: false },
  // Before the time of the first start; a clock that is ahead at a start is accepted.
  { name: "-4 h and a kill", leapMs: -4 * HOUR_MS, isKilled: true },
] as const;

async function run({ isLong, scope, tell }: Run): Promise<Outcome> {
  const room = await Room.open(scope);
  const violations: string[] = [];
  const offsets: number[] = [];
  let leaps = 0;
  for (let round = 0; round < (isLong ? LONG_ROUNDS : 1); round++) {
    for (const { name, leapMs, isKilled } of LEAPS) {
      leaps += 1;
      tell(`${leaps} leaps`);
      const held = await room.lock("SHORT");
      room.leap(leapMs);
      const downMs = isKilled ? await room.restart() : 0;
      await room.lock(null);
      const lastedMs = await room.freed(held);
      offsets.push(lastedMs - HOLD_MS);
      if (lastedMs < HOLD_MS - EARLY_MS) violations.push(`${name}: a hold of ${lastedMs} ms`);
      if (lastedMs > HOLD_MS + downMs + LATE_MS) {
        violations.push(
          `${name}: a hold of ${lastedMs} ms, of which ${downMs} ms without a process`,
        );
      }
    }
  }
  violations.push(...room.stepsBack, ...(await room.close()));
  const worst = (of: (...values: number[]) => number) => `${of(...offsets).toFixed(0)} ms`;
  return {
    figures: {
      leaps,
      "changes whose time was compared": room.changes,
      "steps back": room.stepsBack.length,
      "holds ended after their time by at least": worst(Math.min),
      "and at most, restarts included": worst(Math.max),
    },
    violations,
  };
}

interface Held {
  readonly seat: number;
  /** Time of the request; the lock begins then or later. */
  readonly askedMs: number;
}

/** A server, its clock, and a row of seats that are locked one after the other. */
class Room {
  readonly #scope: Scope;
  readonly #folder: string;
  readonly #shim: Shim;
  readonly #house: House;
  #server: ServerProcess;
  #seat = 0;
  #clockMs = 0;
  #latest = "";
  /** Changes whose time is before the time of an earlier change. */
  readonly stepsBack: string[] = [];

  private constructor(scope: Scope, shim: Shim, house: House, server: ServerProcess) {
    this.#scope = scope;
    this.#folder = server.folder;
    this.#shim = shim;
    this.#house = house;
    this.#server = server;
  }

  static async open(scope: Scope): Promise<Room> {
    const folder = path.join(scope.folder(), "data");
    const shim = new Shim(scope, folder);
    const server = await startServer(scope, { folder, env: shim.env });
    const house = await createHouse(server);
    const target = "/api/private/management/v2.0/hold-types/";
    const types = [{ name: "SHORT", ttlSeconds: HOLD_SECONDS }];
    const organization = { "X-Organization-Id": String(house.organizationId) };
    const who = { "X-API-Key": TENANT_TOKEN, ...organization };
    const reply = await server.request("PUT", target, types, who);
    if (!reply.ok) throw new Error(await reply.text());
    return new Room(scope, shim, house, server);
  }

  get changes(): number {
    return this.#seat;
  }

  leap(leapMs: number): void {
    this.#clockMs += leapMs;
    this.#shim.set("clockMs", this.#clockMs);
  }

  /** @returns How many milliseconds no process was running. */
  async restart(): Promise<number> {
    const startedMs = performance.now();
    await this.#server.kill("SIGKILL");
    this.#server = await startServer(this.#scope, { folder: this.#folder, env: this.#shim.env });
    return performance.now() - startedMs;
  }

  async lock(holdType: string | null): Promise<Held> {
    const { eventId, key, seatIds } = this.#house;
    const seat = seatIds[this.#seat]!;
    this.#seat += 1;
    const askedMs = performance.now();
    const body = { sessionId: `session ${seat}`, holdType, seats: [{ id: seat }] };
    const target = `${V2}/booking/lock?eventId=${eventId}`;
    const reply = await this.#server.request("POST", target, body, key);
    if (!reply.ok) throw new Error(await reply.text());
    const { updatedAt } = await this.#read(seat);
    if (updatedAt < this.#latest) this.stepsBack.push(`${updatedAt} behind ${this.#latest}`);
    this.#latest = updatedAt;
    return { seat, askedMs };
  }

  /** Waits until the seat is free. @returns The longest time that it may have been held. */
  async freed({ seat, askedMs }: Held): Promise<number> {
    while ((await this.#read(seat)).state === "LOCKED") await sleep(POLL_MS);
    return performance.now() - askedMs;
  }

  /** @returns Violations of the end, and whether the clock did not jump at all. */
  async close(): Promise<string[]> {
    const { code } = await this.#server.kill("SIGTERM");
    const last = Number(this.#server.logLines.find(({ msg }) => msg === "stopped")?.["time"]);
    const isLeapt = Math.abs(last - Date.now() - this.#clockMs) < HOUR_MS / 2;
    return [
      ...(code === 0 ? [] : [`an orderly end exits with ${code}`]),
      ...(isLeapt ? [] : ["the machine's clock did not jump in the process"]),
    ];
  }

  async #read(seat: number): Promise<{ state: string; updatedAt: string }> {
    const { eventId, key } = this.#house;
    const target = `${V2}/events/${eventId}/seats/?size=100&sort=seatId`;
    const reply = await this.#server.request("GET", target, undefined, key);
    const page = (await reply.json()) as {
      content: { seatId: number; state: string; updatedAt: string }[];
    };
    return page.content.find(({ seatId }) => seatId === seat)!;
  }
}
