/** A member of etcd, called from another thread: both sides of the thread. */
import { assert } from "../../engine/assert.ts";
import {
  emitterOf,
  LATER,
  serve,
  type StartWorker,
  type ThreadPort,
  type ToWorker,
  WorkerClient,
  workerThread,
} from "../disk/worker.ts";
import type {
  Answer,
  CallName,
  Etcd,
  KeyValue,
  LeaseGrant,
  MemberStatus,
  OnReply,
  RangeRequest,
  RangeResult,
  Reply,
  Transaction,
  TransactionResult,
  WatchEvent,
  WatchRequest,
} from "./etcd.ts";

interface Call {
  readonly name: CallName;
  readonly args: readonly unknown[];
}

interface Watch {
  readonly id: number;
  readonly request: Pick<WatchRequest, "from" | "to" | "startRevision">;
}

export interface EtcdProgram {
  readonly data: {
    /** Host and port of the member. */
    readonly address: string;
  };
  readonly requests: {
    readonly call: (call: Call) => Reply<unknown>;
    readonly watch: (watch: Watch) => void;
    /** @param id - Of a watch. */
    readonly cancel: (id: number) => void;
  };
  readonly events: {
    readonly watched: { readonly id: number; readonly events: readonly WatchEvent[] };
    readonly ended: {
      readonly id: number;
      readonly refusal: Parameters<WatchRequest["onEnd"]>[0];
      readonly reason: string;
    };
  };
}

const ENDED = "the thread of etcd has ended";

/** The side of the engine. */
class ThreadedEtcd implements Etcd {
  readonly #worker: WorkerClient<EtcdProgram>;
  readonly #onReply: OnReply;
  readonly #watches = new Map<number, WatchRequest>();
  #nextId = 1;
  #hasEnded = false;
  #isClosed = false;

  constructor(address: string, start: StartWorker<EtcdProgram>, onReply: OnReply = () => {}) {
    this.#onReply = onReply;
    this.#worker = new WorkerClient({
      start,
      data: () => ({ address }),
      on: {
        watched: ({ id, events }) => this.#watches.get(id)?.onEvents(events.map(revivedEvent)),
        ended: ({ id, refusal, reason }) => {
          const watch = this.#watches.get(id);
          this.#watches.delete(id);
          watch?.onEnd(refusal, reason);
        },
      },
      onExit: () => this.#end(),
    });
    this.#worker.start();
    this.#worker.keepAlive(true);
  }

  grant(ttlMs: number, deadlineMs: number, answer: Answer<LeaseGrant>): void {
    this.#call("grant", [ttlMs, deadlineMs], answer);
  }

  keepAlive(leaseId: string, deadlineMs: number, answer: Answer<{ readonly ttlMs: number }>): void {
    this.#call("keepAlive", [leaseId, deadlineMs], answer);
  }

  revoke(leaseId: string, deadlineMs: number, answer: Answer<null>): void {
    this.#call("revoke", [leaseId, deadlineMs], answer);
  }

  transact(change: Transaction, deadlineMs: number, answer: Answer<TransactionResult>): void {
    // The memory of a frame is used again, and only a part of it is the frame.
    const puts = change.puts.map((put) => ({ ...put, value: new Uint8Array(put.value) }));
    const memory = puts.map(({ value }) => value.buffer);
    this.#call("transact", [{ ...change, puts }, deadlineMs], answer, memory);
  }

  range(request: RangeRequest, deadlineMs: number, answer: Answer<RangeResult>): void {
    this.#call("range", [request, deadlineMs], answer);
  }

  compact(revision: number, deadlineMs: number, answer: Answer<null>): void {
    this.#call("compact", [revision, deadlineMs], answer);
  }

  status(deadlineMs: number, answer: Answer<MemberStatus>): void {
    this.#call("status", [deadlineMs], answer);
  }

  watch(request: WatchRequest): () => void {
    const id = this.#nextId++;
    const { from, to, startRevision } = request;
    this.#watches.set(id, request);
    this.#worker.tell("watch", { id, request: { from, to, startRevision } });
    return () => {
      if (this.#watches.delete(id)) this.#worker.tell("cancel", id);
    };
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#watches.clear();
    return this.#worker.terminate();
  }

  #call<Value>(
    name: CallName,
    args: readonly unknown[],
    answer: Answer<Value>,
    memory: ArrayBuffer[] = [],
  ): void {
    const heard = (reply: Reply<unknown>) => {
      if (this.#isClosed) return;
      this.#onReply(name, reply);
      answer(reply as Reply<Value>);
    };
    const ended = () => heard({ kind: "unknown", reason: ENDED });
    if (this.#hasEnded) setImmediate(ended);
    else {
      this.#worker.ask(
        "call",
        { name, args },
        (reply) => (reply.failure === null ? heard(revived(reply.result)) : ended()),
        memory,
      );
    }
  }

  #end(): void {
    this.#hasEnded = true;
    const watches = [...this.#watches.values()];
    this.#watches.clear();
    for (const { onEnd } of watches) onEnd(null, ENDED);
  }
}

/** The side of the thread. */
export function serveEtcd(port: ThreadPort<ToWorker<EtcdProgram>>, etcd: Etcd): void {
  const cancels = new Map<number, () => void>();
  const emit = emitterOf<EtcdProgram>(port);
  serve<EtcdProgram>(port, {
    call({ name, args }, answering) {
      const call = etcd[name].bind(etcd) as (...given: unknown[]) => void;
      call(...args, (reply: Reply<unknown>) => answering.done(compacted(reply)));
      return LATER;
    },
    watch({ id, request }) {
      const cancel = etcd.watch({
        ...request,
        onEvents: (events) => emit("watched", { id, events: events.map(compactedEvent) }),
        onEnd: (refusal, reason) => emit("ended", { id, refusal, reason }),
      });
      cancels.set(id, cancel);
    },
    cancel(id) {
      cancels.get(id)?.();
      cancels.delete(id);
    },
  });
}

/** Results with pairs: of a range and of a transaction. */
type Paired = Partial<Pick<RangeResult, "pairs"> & Pick<TransactionResult, "found">> | null;

/** A message would copy all memory around a value. */
function compacted(reply: Reply<unknown>): Reply<unknown> {
  return mapPairs(reply, compactedPair);
}

function compactedPair(pair: KeyValue): KeyValue {
  return { ...pair, value: new Uint8Array(pair.value) as Buffer };
}

function compactedEvent(event: WatchEvent): WatchEvent {
  return event.kind === "put" ? { kind: "put", pair: compactedPair(event.pair) } : event;
}

/** A buffer arrives as an array of bytes. */
function revived(reply: Reply<unknown>): Reply<unknown> {
  return mapPairs(reply, revivedPair);
}

function revivedPair(pair: KeyValue): KeyValue {
  const { buffer, byteOffset, length } = pair.value as Uint8Array;
  assert(buffer instanceof ArrayBuffer, "a message has memory of its own");
  return { ...pair, value: Buffer.from(buffer, byteOffset, length) };
}

function revivedEvent(event: WatchEvent): WatchEvent {
  return event.kind === "put" ? { kind: "put", pair: revivedPair(event.pair) } : event;
}

function mapPairs(reply: Reply<unknown>, map: (pair: KeyValue) => KeyValue): Reply<unknown> {
  if (reply.kind !== "done") return reply;
  const value = reply.value as Paired;
  if (value?.pairs !== undefined) {
    return { kind: "done", value: { ...value, pairs: value.pairs.map(map) } };
  }
  if (value?.found === undefined) return reply;
  return { kind: "done", value: { ...value, found: value.found.map(map) } };
}

// Opens a member of etcd in a thread of its own.

/** @param address - Host and port of the member beside this host. */
export function openEtcd(address: string, onReply?: OnReply): Etcd {
  const program = new URL("./worker.js", import.meta.url);
  return new ThreadedEtcd(address, workerThread(program, "frontrow etcd"), onReply);
}
