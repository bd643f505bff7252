/**
 * The program of the load generator, a process of its own so that it does not slow the server. Each
 * connection has one request in flight and sends the next one when the answer has arrived. There is
 * no HTTP library and no stream, and each connection has one buffer, so the generator costs less
 * than the servers that it measures.
 */
import { build } from "hdr-histogram-js";
import { once } from "node:events";
import net from "node:net";
import { type Buyer, Crowd } from "./buyers.ts";
import { HttpWire, Outcome, RespWire, type Wire } from "./wire.ts";
import { type EventOnSale, type Measurement, type Plan, sellsOut, type Target } from "./plan.ts";

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
  const wires = plan.events.map((event) => wireOf(plan.target, event));
  const crowd = new Crowd(plan, wires);
  const run = new Run();
  const connections = Array.from(
    { length: plan.connections },
    (_, i) => new Connection(run, crowd.buyer(i), wires[0]!, plan.target),
  );
  await Promise.all(connections.map((connection) => connection.connected()));
  const cpuBefore = process.cpuUsage();
  run.start(sellsOut(plan.mix) ? Infinity : plan.durationMs);
  await Promise.all(connections.map((connection) => connection.run()));
  const cpu = process.cpuUsage(cpuBefore);
  const { soldPairs } = crowd;
  return { ...run.measured(), soldPairs, cpuSeconds: (cpu.user + cpu.system) / 1e6 };
}

function wireOf({ protocol }: Target, event: EventOnSale): Wire {
  return protocol === "resp" ? new RespWire(event) : new HttpWire(event, protocol === "http-get");
}

/** The clock and the counters of all connections. */
class Run {
  readonly #latency = build({ highestTrackableValue: LATENCY_US_MAX });
  #startedMs = 0;
  #endMs = 0;
  #lastMs = 0;
  #done = 0;
  #refused = 0;

  start(durationMs: number): void {
    this.#startedMs = performance.now();
    this.#endMs = this.#startedMs + durationMs;
  }

  /** Answers after the end do not count, because the connections stop one after the other. */
  count(outcome: Outcome, sentMs: number, nowMs: number): void {
    if (this.isOver(nowMs)) return;
    this.#lastMs = nowMs;
    this.#latency.recordValue(Math.round((nowMs - sentMs) * 1_000));
    if (outcome === Outcome.DONE) this.#done += 1;
    else this.#refused += 1;
  }

  isOver(nowMs: number): boolean {
    return nowMs >= this.#endMs;
  }

  measured() {
    const [done, refused] = [this.#done, this.#refused];
    const seconds = (this.#lastMs - this.#startedMs) / 1_000;
    const atMs = (percentile: number) => this.#latency.getValueAtPercentile(percentile) / 1_000;
    const latencyMs = { p50: atMs(50), p99: atMs(99), p999: atMs(99.9) };
    return { requestsPerSecond: (done + refused) / seconds, seconds, latencyMs, done, refused };
  }
}

/** A connection and its buyer. */
class Connection {
  readonly #run: Run;
  readonly #buyer: Buyer;
  readonly #wire: Wire;
  readonly #socket: net.Socket;
  /** The first part of an answer that has not arrived whole. */
  #early = "";
  #sentMs = 0;
  #isLast = false;
  #isFinished = false;

  constructor(run: Run, buyer: Buyer, wire: Wire, { host, port }: Target) {
    this.#run = run;
    this.#buyer = buyer;
    this.#wire = wire;
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    const callback = (length: number): boolean => {
      this.#receive(buffer.toString("latin1", 0, length));
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
    const { value: step } = this.#buyer.next(last);
    if (step === undefined) return this.#finish();
    this.#isLast = step.isLast;
    if (step.pauseMs > 0) setTimeout(() => this.#send(step.request), step.pauseMs);
    else this.#send(step.request);
  }

  #send(request: Buffer): void {
    this.#sentMs = performance.now();
    this.#socket.write(request);
  }

  #receive(text: string): void {
    try {
      const answer = this.#early + text;
      const outcome = this.#wire.read(answer);
      this.#early = outcome === Outcome.PENDING ? answer : "";
      if (outcome === Outcome.PENDING) return;
      const nowMs = performance.now();
      this.#run.count(outcome, this.#sentMs, nowMs);
      if (this.#isLast && this.#run.isOver(nowMs)) this.#finish();
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
