/**
 * The program of the load generator, a process of its own so that it does not slow the server. Each
 * connection has one request in flight and sends the next one when the answer has arrived. There is
 * no HTTP library and no stream, and each connection has one buffer, so the generator costs less
 * than the servers that it measures.
 */
import { build, type Histogram } from "hdr-histogram-js";
import { once } from "node:events";
import net from "node:net";
import { type Buyer, Crowd } from "./buyers.ts";
import { HttpWire } from "./http-wire.ts";
import { type EventOnSale, type Measurement, type Plan, sellsOut, type Target } from "./plan.ts";
import { RespWire } from "./resp-wire.ts";
import { type AnswerReader, Outcome, type Wire } from "./wire.ts";

/** A page of the listing arrives in one or two reads. */
const READ_BYTES = 32 * 1_024;
const LATENCY_US_MAX = 60_000_000;

process.on("message", (plan: Plan) => {
  drive(plan).then(
    (measured) => process.send!({ measured }),
    (error: unknown) => process.send!({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit(0));

/** @throws Error when an answer is neither a success nor a refusal, or a connection is lost. */
async function drive(plan: Plan): Promise<Measurement> {
  const wires = plan.events.map((event) => wireOf(plan, event));
  const crowd = new Crowd(plan, wires);
  const run = new Run(plan, crowd);
  const connections = Array.from(
    { length: plan.connections },
    (_, i) => new Connection(run, crowd.buyer(i), wires[0]!.reader(), plan.target),
  );
  await Promise.all(connections.map((connection) => connection.connected()));
  const cpuBefore = process.cpuUsage();
  run.start();
  await Promise.all(connections.map((connection) => connection.run()));
  const cpu = process.cpuUsage(cpuBefore);
  return { ...run.measured(), cpuSeconds: (cpu.user + cpu.system) / 1e6 };
}

function wireOf({ target }: Plan, event: EventOnSale): Wire {
  if (target.protocol === "resp") return new RespWire(event);
  return new HttpWire(event, target.protocol === "http-get");
}

/** The clock and the counters of all connections. */
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
    this.#durationMs = sellsOut(plan.mix) ? Infinity : plan.durationMs;
  }

  start(): void {
    this.#startedMs = performance.now();
    this.#endMs = this.#startedMs + this.#durationMs;
  }

  /** Answers after the end do not count, because the connections stop one after the other. */
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

  measured(): Omit<Measurement, "cpuSeconds"> {
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

/** A connection and its buyer. */
class Connection {
  readonly #run: Run;
  readonly #buyer: Buyer;
  readonly #reader: AnswerReader;
  readonly #socket: net.Socket;
  #sentMs = 0;
  #isFinished = false;

  constructor(run: Run, buyer: Buyer, reader: AnswerReader, { host, port }: Target) {
    this.#run = run;
    this.#buyer = buyer;
    this.#reader = reader;
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    const callback = (length: number): boolean => {
      this.#receive(buffer, length);
      return true;
    };
    this.#socket = net.connect({ host, port, noDelay: true, onread: { buffer, callback } });
  }

  async connected(): Promise<void> {
    await once(this.#socket, "connect");
  }

  /** Settles when the buyer has stopped and holds nothing. @throws The error of the socket. */
  async run(): Promise<void> {
    this.#ask(Outcome.PENDING);
    await once(this.#socket, "close");
    if (!this.#isFinished) throw new Error("the server closed a connection");
  }

  #ask(last: Outcome): void {
    const request = this.#buyer.next(last);
    if (request === null) this.#finish();
    else if (this.#buyer.pauseMs > 0) setTimeout(() => this.#send(request), this.#buyer.pauseMs);
    else this.#send(request);
  }

  #send(request: Buffer): void {
    this.#sentMs = performance.now();
    this.#socket.write(request);
  }

  #receive(buffer: Buffer, length: number): void {
    try {
      const outcome = this.#reader.read(buffer, length);
      if (outcome === Outcome.PENDING) return;
      if (outcome === Outcome.FAILED) throw new Error(buffer.toString("latin1", 0, length));
      const nowMs = performance.now();
      this.#run.count(outcome, this.#sentMs, nowMs);
      if (this.#buyer.isIdle && this.#run.isOver(nowMs)) this.#finish();
      else this.#ask(outcome);
    } catch (error) {
      this.#socket.destroy(error as Error);
    }
  }

  #finish(): void {
    this.#isFinished = true;
    this.#socket.destroy();
  }
}
