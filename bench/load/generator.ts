/**
 * The program of the load generator, a process of its own so that it does not slow the server. In
 * the closed loop each buyer sends the next request when the last one is answered; a connection has
 * one buyer, or several that pipeline batches. In the open loop requests are due at a fixed rate.
 * There is no HTTP library and no stream, and each connection has one buffer, so the generator
 * costs less than the servers that it measures.
 */
import { build } from "hdr-histogram-js";
import { once } from "node:events";
import net from "node:net";
import { answerPlans } from "../harness/processes.ts";
import { type Buyer, Crowd, type Step } from "./buyers.ts";
import { type Measurement, type Plan, sellsOut } from "./plan.ts";
import { Outcome, type Wire, wireOf } from "./wire.ts";

/** A page of the listing arrives in one or two reads. */
const READ_BYTES = 32 * 1_024;
const LATENCY_US_MAX = 60_000_000;
/** For the answers that are missing at the end. */
const DRAIN_MS_MAX = 10_000;
const TICK_MS = 1;
const MS_PER_SECOND = 1_000;

answerPlans(drive);

/** @throws Error when an answer is neither a success nor a refusal, or a connection is lost. */
async function drive(plan: Plan): Promise<Measurement> {
  const crowd = new Crowd(plan);
  const run = new Run(plan);
  const connections = Array.from({ length: plan.connections }, (_, i) => {
    const wire = wireOf(plan, `bench-${i}`);
    return new Connection(run, wire, crowd.buyers(i, wire));
  });
  await Promise.all(connections.map((connection) => connection.open()));
  const cpuBefore = process.cpuUsage();
  run.start();
  const late = setTimeout(() => {
    for (const connection of connections) connection.lose("requests are not answered");
  }, run.durationMs + DRAIN_MS_MAX);
  if (sellsOut(plan.mix)) clearTimeout(late);
  await Promise.all(connections.map((connection) => connection.run()));
  clearTimeout(late);
  const cpu = process.cpuUsage(cpuBefore);
  const { soldPairs } = crowd;
  return { ...run.measured(), soldPairs, cpuSeconds: (cpu.user + cpu.system) / 1e6 };
}

/** The clock and the counters of all connections. */
class Run {
  readonly plan: Plan;
  readonly durationMs: number;
  readonly #latency = build({ highestTrackableValue: LATENCY_US_MAX });
  readonly #failures: Record<string, number> = {};
  /** Buyers of the open loop without a request in flight; the one that has waited longest first. */
  readonly #waiting: Lane[] = [];
  /** Requests of the open loop that were due so far. */
  #due = 0;
  #startedMs = 0;
  #endMs = 0;
  #lastMs = 0;
  #done = 0;
  #refused = 0;
  #shed = 0;
  #lost = 0;

  constructor(plan: Plan) {
    this.plan = plan;
    this.durationMs = sellsOut(plan.mix) ? 0 : plan.durationMs;
  }

  start(): void {
    this.#startedMs = performance.now();
    this.#endMs = sellsOut(this.plan.mix) ? Infinity : this.#startedMs + this.durationMs;
    const { ratePerSecond } = this.plan;
    if (ratePerSecond === undefined) return;
    const timer = setInterval(() => {
      this.#sendDue(ratePerSecond);
      if (!this.isOver(performance.now())) return;
      clearInterval(timer);
      for (const lane of this.#waiting.splice(0)) lane.proceed();
    }, TICK_MS);
  }

  isOver(nowMs: number): boolean {
    return nowMs >= this.#endMs;
  }

  /** A buyer whose next request may be sent: at once, or when one is due. */
  ready(lane: Lane, nowMs: number): void {
    const { ratePerSecond } = this.plan;
    if (ratePerSecond === undefined || this.isOver(nowMs)) return lane.proceed();
    this.#waiting.push(lane);
    this.#sendDue(ratePerSecond);
  }

  /** Called at every tick and every answer: a timer alone would send a whole tick at once. */
  #sendDue(ratePerSecond: number): void {
    const all = Math.floor((this.durationMs * ratePerSecond) / MS_PER_SECOND);
    const elapsedMs = performance.now() - this.#startedMs;
    // The first one is due at the start.
    const due = Math.min(all, Math.floor((elapsedMs * ratePerSecond) / MS_PER_SECOND) + 1);
    for (; this.#due < due; this.#due++) {
      const lane = this.#waiting.shift();
      if (lane === undefined) this.#lost += 1;
      else lane.proceed(this.#startedMs + (this.#due * MS_PER_SECOND) / ratePerSecond);
    }
  }

  /**
   * Answers after the end do not count, because the connections stop one after the other.
   * @throws Error with an answer that is neither a success nor a refusal, in the closed loop.
   */
  count(lane: Lane, answer: string, nowMs: number): void {
    const { outcome, sentMs, granted, step } = lane;
    const isOpen = this.plan.ratePerSecond !== undefined;
    if (outcome === Outcome.FAILED && !isOpen) throw new Error(answer);
    if (this.isOver(nowMs)) return;
    this.#lastMs = nowMs;
    this.#done += granted;
    if (outcome === Outcome.DONE || !isOpen) {
      this.#refused += step.size - granted;
      const us = Math.round((nowMs - sentMs) * MS_PER_SECOND);
      this.#latency.recordValue(Math.min(us, LATENCY_US_MAX));
    } else if (outcome === Outcome.SHED) this.#shed += 1;
    else {
      const line = answer.slice(0, answer.indexOf("\r"));
      this.#failures[line] = (this.#failures[line] ?? 0) + 1;
    }
  }

  measured(): Omit<Measurement, "soldPairs" | "cpuSeconds"> {
    const [done, refused] = [this.#done, this.#refused];
    const seconds = (this.#lastMs - this.#startedMs) / MS_PER_SECOND;
    const atMs = (percentile: number) =>
      this.#latency.getValueAtPercentile(percentile) / MS_PER_SECOND;
    const latencyMs = { p50: atMs(50), p99: atMs(99), p999: atMs(99.9) };
    const missed = { shed: this.#shed, lost: this.#lost, failures: this.#failures };
    const requestsPerSecond = (done + refused) / seconds;
    return { requestsPerSecond, seconds, latencyMs, done, refused, missed };
  }
}

/** A buyer on a connection, and its requests in flight. */
class Lane {
  readonly #connection: Connection;
  readonly #buyer: Buyer;
  step!: Step;
  sentMs = 0;
  /** Missing answers, then those with success. */
  #left = 0;
  granted = 0;
  outcome: Outcome = Outcome.PENDING;
  /** True while the buyer may leave. */
  #isFree = true;

  constructor(connection: Connection, buyer: Buyer) {
    this.#connection = connection;
    this.#buyer = buyer;
  }

  /** Sends the next request, unless the buyer leaves. @param dueMs - In the open loop. */
  proceed(dueMs?: number): void {
    if (this.#isFree && this.#connection.isOver) return this.#connection.leave(this);
    const { value: step } = this.#buyer.next(this.outcome);
    if (step === undefined) return this.#connection.leave(this);
    this.step = step;
    if (step.pauseMs > 0) setTimeout(() => this.#send(dueMs), step.pauseMs);
    else this.#send(dueMs);
  }

  #send(dueMs = performance.now()): void {
    this.#left = this.step.size;
    this.granted = 0;
    this.sentMs = dueMs;
    this.#connection.send(this);
  }

  /** @returns Whether this was the last answer. */
  take(outcome: Outcome): boolean {
    this.#left -= 1;
    if (outcome === Outcome.DONE) this.granted += 1;
    if (this.#left > 0) return false;
    this.outcome = outcome;
    if (outcome === Outcome.DONE || outcome === Outcome.REFUSED) this.#isFree = this.step.isLast;
    return true;
  }
}

class Connection {
  readonly #run: Run;
  readonly #wire: Wire;
  readonly #socket: net.Socket;
  readonly #closed: Promise<void>;
  readonly #lanes: Set<Lane>;
  /** Answers come in the order of the requests. */
  readonly #sent: Lane[] = [];
  readonly #take = (outcome: Outcome, answer: string) => this.#answered(outcome, answer);
  #greeted: (() => void) | null = null;
  #heard = Buffer.alloc(0);

  constructor(run: Run, wire: Wire, buyers: readonly Buyer[]) {
    this.#run = run;
    this.#wire = wire;
    this.#lanes = new Set(buyers.map((buyer) => new Lane(this, buyer)));
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    const callback = (length: number): boolean => {
      this.#receive(buffer.subarray(0, length));
      return true;
    };
    const { host, port } = run.plan.target;
    this.#socket = net.connect({ host, port, noDelay: true, onread: { buffer, callback } });
    this.#closed = this.#close();
  }

  get isOver(): boolean {
    return this.#run.isOver(performance.now());
  }

  /** Settles when requests may be sent. @throws The error of the socket. */
  async open(): Promise<void> {
    await Promise.race([this.#opened(), this.#closed]);
  }

  async #opened(): Promise<void> {
    await once(this.#socket, "connect");
    const { greeting } = this.#wire;
    if (greeting === null) return;
    this.#socket.write(greeting);
    await new Promise<void>((resolve) => (this.#greeted = resolve));
  }

  async #close(): Promise<void> {
    await once(this.#socket, "close");
    if (this.#lanes.size > 0) throw new Error("the server closed a connection");
  }

  /** Settles when the buyers have left and hold nothing. @throws The error of the socket. */
  async run(): Promise<void> {
    for (const lane of this.#lanes) this.#run.ready(lane, performance.now());
    await this.#closed;
  }

  lose(reason: string): void {
    this.#socket.destroy(new Error(reason));
  }

  send(lane: Lane): void {
    this.#sent.push(lane);
    this.#socket.write(lane.step.request);
  }

  leave(lane: Lane): void {
    this.#lanes.delete(lane);
    if (this.#lanes.size === 0) this.#socket.destroy();
  }

  #receive(bytes: Buffer): void {
    try {
      if (this.#greeted === null) this.#wire.read(bytes, this.#take);
      else this.#greet(bytes, this.#greeted);
    } catch (error) {
      this.#socket.destroy(error as Error);
    }
  }

  #greet(bytes: Buffer, greeted: () => void): void {
    this.#heard = Buffer.concat([this.#heard, bytes]);
    const opening = this.#wire.greeted(this.#heard);
    if (opening === null) return;
    this.#greeted = null;
    this.#socket.write(opening);
    greeted();
  }

  #answered(outcome: Outcome, answer: string): void {
    const lane = this.#sent[0]!;
    if (!lane.take(outcome)) return;
    this.#sent.shift();
    const nowMs = performance.now();
    this.#run.count(lane, answer, nowMs);
    this.#run.ready(lane, nowMs);
  }
}
