/**
 * Drives a plan from plain sockets: each connection has one request under way, the next goes out
 * when the answer is in. No HTTP library, no stream, a buffer for each connection, so that it costs
 * less than what it measures.
 */
import { build, type Histogram } from "hdr-histogram-js";
import { once } from "node:events";
import net from "node:net";
import { type Buyer, Crowd } from "./buyers.ts";
import { HttpWire } from "./http-wire.ts";
import { type Hall, isSoldOut, type Measured, type Plan } from "./plan.ts";
import { RespWire } from "./resp-wire.ts";
import { type AnswerReader, Outcome, type Wire } from "./wire.ts";

const READ_BYTES = 16 * 1_024;
const LATENCY_US_MAX = 60_000_000;

/** @throws Error when an answer is neither yes nor no, or a connection is lost. */
export async function drive(plan: Plan): Promise<Measured> {
  const wires = plan.halls.map((hall) => wireOf(plan, hall));
  const crowd = new Crowd(plan, wires);
  const run = new Run(plan, crowd);
  const lines = Array.from(
    { length: plan.connections },
    (_, connection) => new Line(run, crowd.buyer(connection), wires[0]!.reader()),
  );
  await Promise.all(lines.map((line) => line.connect(plan)));
  const cpuBefore = process.cpuUsage();
  run.start();
  await Promise.all(lines.map((line) => line.run()));
  const cpu = process.cpuUsage(cpuBefore);
  return { ...run.measured(), cpuSeconds: (cpu.user + cpu.system) / 1e6 };
}

function wireOf({ target }: Plan, hall: Hall): Wire {
  if (target.protocol === "resp") return new RespWire(hall);
  return new HttpWire(hall, target.protocol === "http-get");
}

/** What the lines of a plan have in common. */
class Run {
  readonly #crowd: Crowd;
  readonly #durationMs: number;
  readonly #latency: Histogram = build({ highestTrackableValue: LATENCY_US_MAX });
  #startedMs = 0;
  #endMs = 0;
  #lastMs = 0;
  #done = 0;
  #refused = 0;

  constructor(plan: Plan, crowd: Crowd) {
    this.#crowd = crowd;
    this.#durationMs = isSoldOut(plan.mix) ? Infinity : plan.durationMs;
  }

  start(): void {
    this.#startedMs = performance.now();
    this.#endMs = this.#startedMs + this.#durationMs;
  }

  /** What comes after the end is not counted: the connections leave one after the other. */
  count(outcome: Outcome, sentMs: number, nowMs: number): void {
    if (nowMs >= this.#endMs) return;
    this.#lastMs = nowMs;
    this.#latency.recordValue(Math.round((nowMs - sentMs) * 1_000));
    if (outcome === Outcome.DONE) this.#done += 1;
    else this.#refused += 1;
  }

  isOver(nowMs: number): boolean {
    return nowMs >= this.#endMs;
  }

  measured(): Omit<Measured, "cpuSeconds"> {
    const seconds = (this.#lastMs - this.#startedMs) / 1_000;
    const atMs = (percentile: number) => this.#latency.getValueAtPercentile(percentile) / 1_000;
    return {
      requestsPerSecond: (this.#done + this.#refused) / seconds,
      seconds,
      latencyMs: { p50: atMs(50), p99: atMs(99), p999: atMs(99.9) },
      done: this.#done,
      refused: this.#refused,
      soldPairs: this.#crowd.soldPairs,
    };
  }
}

/** A connection and who uses it. */
class Line {
  readonly #run: Run;
  readonly #buyer: Buyer;
  readonly #reader: AnswerReader;
  #socket: net.Socket | null = null;
  #sentMs = 0;
  #resolve: () => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor(run: Run, buyer: Buyer, reader: AnswerReader) {
    this.#run = run;
    this.#buyer = buyer;
    this.#reader = reader;
  }

  async connect({ target: { host, port } }: Plan): Promise<void> {
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    const callback = (length: number): boolean => {
      this.#arrived(buffer, length);
      return true;
    };
    this.#socket = net.connect({ host, port, noDelay: true, onread: { buffer, callback } });
    await once(this.#socket, "connect");
  }

  /** Settles when the buyer has gone home, holding nothing. */
  run(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#socket!.on("error", reject);
      this.#socket!.on("close", () => reject(new Error("the server closed a connection")));
      this.#ask(Outcome.PENDING);
    });
  }

  #ask(last: Outcome): void {
    const request = this.#buyer.next(last);
    if (request === null) {
      this.#leave();
    } else if (this.#buyer.pauseMs > 0) {
      setTimeout(() => this.#send(request), this.#buyer.pauseMs);
    } else {
      this.#send(request);
    }
  }

  #send(request: Buffer): void {
    this.#sentMs = performance.now();
    this.#socket!.write(request);
  }

  #arrived(buffer: Buffer, length: number): void {
    try {
      const outcome = this.#reader.read(buffer, length);
      if (outcome === Outcome.PENDING) return;
      if (outcome === Outcome.FAILED) throw new Error(buffer.toString("latin1", 0, length));
      const nowMs = performance.now();
      this.#run.count(outcome, this.#sentMs, nowMs);
      if (this.#buyer.isIdle && this.#run.isOver(nowMs)) this.#leave();
      else this.#ask(outcome);
    } catch (error) {
      this.#socket!.destroy();
      this.#reject(error);
    }
  }

  #leave(): void {
    this.#resolve();
    this.#socket!.destroy();
  }
}
