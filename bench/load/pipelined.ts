/**
 * A fourth program: connections that send batches of commands before earlier ones have been
 * answered. Each batch locks pairs of seats of its own, and the next one unlocks them.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import {
  type Pair,
  type PipelinedMeasurement,
  type PipelinedPlan,
  type PipelinedWire,
  wireOf,
} from "./pipelined-wire.ts";

const BATCH_MAX = 64;
const MS_PER_SECOND = 1_000;

process.on("message", (plan: PipelinedPlan) => {
  drive(plan).then(
    (measured) => process.send!({ measured }),
    (error: unknown) => process.send!({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit(0));

/** What all connections count. */
interface Counts {
  readonly latenciesMs: number[];
  done: number;
  refused: number;
  isOver: boolean;
  /** Called when a connection ends too early. */
  readonly lose: (error: Error) => void;
}

/** @throws Error when a connection is lost. */
function drive(plan: PipelinedPlan): Promise<PipelinedMeasurement> {
  return new Promise((resolve, reject) => {
    const counts: Counts = { latenciesMs: [], done: 0, refused: 0, isOver: false, lose: reject };
    measure(plan, counts).then(resolve, reject);
  });
}

async function measure(plan: PipelinedPlan, counts: Counts): Promise<PipelinedMeasurement> {
  const connections = Array.from({ length: plan.connections }, (_, i) => {
    return new Pipeline(plan, i, counts);
  });
  await Promise.all(connections.map((connection) => connection.open()));
  const startMs = performance.now();
  const cpuBefore = process.cpuUsage();
  for (const connection of connections) connection.begin();
  await new Promise((resolve) => setTimeout(resolve, plan.durationMs));
  const { done } = counts;
  const seconds = (performance.now() - startMs) / MS_PER_SECOND;
  const { user, system } = process.cpuUsage(cpuBefore);
  counts.isOver = true;
  await Promise.all(connections.map((connection) => connection.end()));
  const sorted = counts.latenciesMs.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
  const { refused } = counts;
  const generatorShare = (user + system) / 1e6 / seconds;
  const times = { p50Ms: at(0.5), p99Ms: at(0.99) };
  return { commandsPerSecond: done / seconds, ...times, refused, generatorShare };
}

/** Commands that are sent together. */
interface Batch {
  readonly lock: Buffer;
  readonly unlock: Buffer;
  readonly size: number;
  isLock: boolean;
  sentMs: number;
  left: number;
}

class Pipeline {
  readonly #plan: PipelinedPlan;
  readonly #counts: Counts;
  readonly #wire: PipelinedWire;
  readonly #batches: readonly Batch[];
  /** Answers come in the order of the commands. */
  readonly #sent: Batch[] = [];
  #socket!: Socket;
  #onEnd: (() => void) | null = null;
  #hasEnded = false;

  constructor(plan: PipelinedPlan, number: number, counts: Counts) {
    this.#plan = plan;
    this.#counts = counts;
    this.#wire = wireOf(plan, `buyer-${number}`);
    const { seatIds } = plan.event;
    const { inFlight } = plan;
    const pairs = Array.from({ length: inFlight }, (_, i): Pair => {
      const at = (2 * (number * inFlight + i)) % seatIds.length;
      return [seatIds[at]!, seatIds[at + 1]!];
    });
    const size = Math.min(BATCH_MAX, inFlight);
    this.#batches = Array.from({ length: Math.ceil(inFlight / size) }, (_, i) => {
      const own = pairs.slice(i * size, (i + 1) * size);
      const [lock, unlock] = [this.#wire.batch("lock", own), this.#wire.batch("unlock", own)];
      return { lock, unlock, size: own.length, isLock: true, sentMs: 0, left: 0 };
    });
  }

  async open(): Promise<void> {
    const { host, port } = this.#plan.target;
    this.#socket = connect({ host, port, noDelay: true });
    await once(this.#socket, "connect");
    this.#socket.write(this.#wire.greeting);
    let heard = Buffer.alloc(0);
    let opening: Buffer | null = null;
    while (opening === null) {
      const [bytes] = (await once(this.#socket, "data")) as [Buffer];
      heard = Buffer.concat([heard, bytes]);
      opening = this.#wire.greeted(heard);
    }
    this.#socket.write(opening);
  }

  begin(): void {
    this.#socket.on("data", (bytes: Buffer) => {
      for (const isDone of this.#wire.read(bytes)) this.#answered(isDone);
    });
    // `close` follows.
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => {
      if (!this.#hasEnded) this.#counts.lose(new Error("the server closed a connection"));
    });
    for (const batch of this.#batches) this.#send(batch);
  }

  #send(batch: Batch): void {
    batch.sentMs = performance.now();
    batch.left = batch.size;
    this.#sent.push(batch);
    this.#socket.write(batch.isLock ? batch.lock : batch.unlock);
    batch.isLock = !batch.isLock;
  }

  #answered(isDone: boolean): void {
    const counts = this.#counts;
    const batch = this.#sent[0]!;
    counts.done += 1;
    if (!isDone) counts.refused += 1;
    batch.left -= 1;
    if (batch.left > 0) return;
    this.#sent.shift();
    counts.latenciesMs.push(performance.now() - batch.sentMs);
    // Every batch ends with its seats free.
    if (!counts.isOver || !batch.isLock) this.#send(batch);
    else if (this.#sent.length === 0) this.#onEnd?.();
  }

  /** Waits for the last answers. */
  async end(): Promise<void> {
    if (this.#sent.length > 0) await new Promise<void>((resolve) => (this.#onEnd = resolve));
    this.#hasEnded = true;
    this.#socket.destroy();
  }
}
