/**
 * The program of the open-loop generator: requests are sent at a fixed rate, whether or not earlier
 * ones have been answered. Each takes a connection that waits for no answer; a request that finds
 * none is lost. A connection locks two seats of its own and unlocks them.
 */
import { build } from "hdr-histogram-js";
import { once } from "node:events";
import net from "node:net";
import { setTimeout } from "node:timers/promises";
import { HttpWire, Outcome } from "./wire.ts";
import type { EventOnSale, Target } from "./plan.ts";

export interface OpenPlan {
  readonly target: Target;
  /** It has two seats for each connection. */
  readonly event: EventOnSale;
  readonly connections: number;
  readonly ratePerSecond: number;
  readonly durationMs: number;
}

export interface OpenMeasurement {
  readonly goodPerSecond: number;
  /** Requests that found no free connection. */
  readonly lostPerSecond: number;
  /** Requests that were refused with 429. */
  readonly shedPerSecond: number;
  /** By the first line of the answer: all others, in the whole run. */
  readonly failures: Readonly<Record<string, number>>;
  /** Of good answers, from the moment at which the request was due. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor seconds of this program per second; near 1, the generator is the limit. */
  readonly generatorShare: number;
}

const TICK_MS = 1;
const READ_BYTES = 4_096;
const SERVER_ERROR = /^HTTP\/1\.1 5/;
const LATENCY_US_MAX = 60_000_000;
/** For the answers that are missing at the end. */
const DRAIN_MS_MAX = 10_000;
const DRAIN_STEP_MS = 10;

process.on("message", (plan: OpenPlan) => {
  drive(plan).then(
    (measured) => process.send!({ measured }),
    (error: unknown) => process.send!({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit(0));

async function drive(plan: OpenPlan): Promise<OpenMeasurement> {
  const wire = new HttpWire(plan.event, false);
  const run = new Run(plan);
  // Each read is handled before the next one, so all connections share the memory.
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  const connections = Array.from({ length: plan.connections }, (_, i) => {
    return new Connection(run, wire, buffer, i);
  });
  await Promise.all(connections.map((connection) => connection.connected()));
  run.free.push(...connections);
  const measured = await run.play();
  for (const connection of connections) connection.close();
  return measured;
}

class Run {
  /** Connections that wait for no answer; the one that has waited longest comes first. */
  readonly free: Connection[] = [];
  readonly #latency = build({ highestTrackableValue: LATENCY_US_MAX });
  readonly #counts = { good: 0, shed: 0, lost: 0 };
  readonly #failures: Record<string, number> = {};
  readonly #plan: OpenPlan;
  #startMs = 0;
  /** Requests that were due and were sent or lost. */
  #arrived = 0;
  #isOver = false;

  constructor(plan: OpenPlan) {
    this.#plan = plan;
  }

  get target(): Target {
    return this.#plan.target;
  }

  async play(): Promise<OpenMeasurement> {
    const { durationMs, connections } = this.#plan;
    const cpuBefore = process.cpuUsage();
    this.#startMs = performance.now();
    await new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        this.#sendDue();
        if (performance.now() - this.#startMs < durationMs) return;
        clearInterval(timer);
        resolve();
      }, TICK_MS);
    });
    const seconds = (performance.now() - this.#startMs) / 1_000;
    const { user, system } = process.cpuUsage(cpuBefore);
    this.#isOver = true;
    await this.#allFree(connections);
    const holders = this.free.filter(({ holds }) => holds);
    for (const holder of holders) this.free.splice(this.free.indexOf(holder), 1);
    for (const holder of holders) holder.send(0);
    await this.#allFree(connections);
    const { good, shed, lost } = this.#counts;
    return {
      goodPerSecond: good / seconds,
      lostPerSecond: lost / seconds,
      shedPerSecond: shed / seconds,
      failures: this.#failures,
      p50Ms: this.#latency.getValueAtPercentile(50) / 1_000,
      p99Ms: this.#latency.getValueAtPercentile(99) / 1_000,
      generatorShare: (user + system) / 1e6 / seconds,
    };
  }

  /** Called at every tick and every answer: a timer alone would send a whole tick at once. */
  #sendDue(): void {
    const { ratePerSecond, durationMs } = this.#plan;
    const elapsedMs = performance.now() - this.#startMs;
    const all = Math.floor((durationMs * ratePerSecond) / 1_000);
    // The first one is due at the start.
    const due = Math.min(all, Math.floor((elapsedMs * ratePerSecond) / 1_000) + 1);
    for (; this.#arrived < due; this.#arrived++) {
      this.#arrive(this.#startMs + (this.#arrived * 1_000) / ratePerSecond);
    }
  }

  /** @throws Error when answers are missing. */
  async #allFree(connections: number): Promise<void> {
    for (let waited = 0; this.free.length < connections; waited += DRAIN_STEP_MS) {
      if (waited > DRAIN_MS_MAX) throw new Error("requests are not answered");
      await setTimeout(DRAIN_STEP_MS);
    }
  }

  #arrive(dueMs: number): void {
    const connection = this.free.shift();
    if (connection === undefined) this.#counts.lost += 1;
    else connection.send(dueMs);
  }

  answered(connection: Connection, answer: string, { isGood, dueMs }: Answered): void {
    this.free.push(connection);
    if (this.#isOver) return;
    if (isGood) {
      this.#counts.good += 1;
      const us = Math.round((performance.now() - dueMs) * 1_000);
      this.#latency.recordValue(Math.min(us, LATENCY_US_MAX));
    } else if (answer.startsWith("HTTP/1.1 429")) {
      this.#counts.shed += 1;
    } else {
      const line = answer.slice(0, answer.indexOf("\r"));
      this.#failures[line] = (this.#failures[line] ?? 0) + 1;
    }
    this.#sendDue();
  }
}

interface Answered {
  readonly isGood: boolean;
  readonly dueMs: number;
}

class Connection {
  /** Whether its seats are locked. */
  holds = false;
  readonly #run: Run;
  readonly #wire: HttpWire;
  readonly #socket: net.Socket;
  readonly #requests: readonly [lock: Buffer, unlock: Buffer];
  #dueMs = 0;
  #early = "";

  constructor(run: Run, wire: HttpWire, buffer: Buffer, pair: number) {
    this.#run = run;
    this.#wire = wire;
    const session = `open-${pair}`;
    this.#requests = [wire.booking("lock", pair, session), wire.booking("unlock", pair, session)];
    const { host, port } = run.target;
    const callback = (length: number): boolean => {
      this.#receive(buffer.toString("latin1", 0, length));
      return true;
    };
    this.#socket = net.connect({ host, port, noDelay: true, onread: { buffer, callback } });
  }

  async connected(): Promise<void> {
    await once(this.#socket, "connect");
  }

  close(): void {
    this.#socket.destroy();
  }

  send(dueMs: number): void {
    this.#dueMs = dueMs;
    this.#socket.write(this.#requests[this.holds ? 1 : 0]);
  }

  #receive(text: string): void {
    const answer = this.#early + text;
    // The wire knows success and refusal; an error of the server is as complete as a refusal.
    const outcome = this.#wire.read(answer.replace(SERVER_ERROR, "HTTP/1.1 4"));
    this.#early = outcome === Outcome.PENDING ? answer : "";
    if (outcome === Outcome.PENDING) return;
    const isGood = outcome === Outcome.DONE;
    if (isGood) this.holds = !this.holds;
    this.#run.answered(this, answer, { isGood, dueMs: this.#dueMs });
  }
}
