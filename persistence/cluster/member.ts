/** A member of etcd whose calls another thread makes: what both sides of the thread say. */
import { assert } from "../../engine/assert.ts";
import { type StartThread, type Thread, type ThreadPort, workerThread } from "../disk/worker.ts";
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

/** Host and port of the member. */
export interface EtcdThreadData {
  readonly address: string;
}

/** Messages to the thread. */
type ToEtcd =
  | {
      readonly kind: "call";
      readonly id: number;
      readonly name: CallName;
      readonly args: unknown[];
    }
  | {
      readonly kind: "watch";
      readonly id: number;
      readonly request: Pick<WatchRequest, "from" | "to" | "startRevision">;
    }
  | { readonly kind: "cancel"; readonly id: number };

/** Messages from the thread. */
type FromEtcd =
  | { readonly kind: "reply"; readonly id: number; readonly reply: Reply<unknown> }
  | { readonly kind: "events"; readonly id: number; readonly events: readonly WatchEvent[] }
  | {
      readonly kind: "end";
      readonly id: number;
      readonly refusal: Parameters<WatchRequest["onEnd"]>[0];
      readonly reason: string;
    };

export type StartEtcdThread = StartThread<EtcdThreadData, ToEtcd, FromEtcd>;

const ENDED = "the thread of etcd has ended";

/** The side of the engine. */
class ThreadedEtcd implements Etcd {
  readonly #thread: Thread<ToEtcd>;
  readonly #onReply: OnReply;
  readonly #answers = new Map<number, Answer<unknown>>();
  readonly #watches = new Map<number, WatchRequest>();
  #nextId = 1;
  #hasEnded = false;

  constructor(address: string, startThread: StartEtcdThread, onReply: OnReply = () => {}) {
    this.#onReply = onReply;
    this.#thread = startThread(
      { address },
      {
        message: (message) => this.#hear(message),
        // `exit` follows, and everything is answered then.
        error: () => {},
        exit: () => this.#end(),
      },
    );
    this.#thread.keepAlive(true);
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
    this.#thread.post({ kind: "watch", id, request: { from, to, startRevision } });
    return () => {
      if (this.#watches.delete(id)) this.#thread.post({ kind: "cancel", id });
    };
  }

  async close(): Promise<void> {
    this.#answers.clear();
    this.#watches.clear();
    await this.#thread.terminate();
  }

  #call<Value>(
    name: CallName,
    args: unknown[],
    answer: Answer<Value>,
    memory: ArrayBuffer[] = [],
  ): void {
    const id = this.#nextId++;
    this.#answers.set(id, (reply) => {
      this.#onReply(name, reply);
      answer(reply as Reply<Value>);
    });
    if (this.#hasEnded) setImmediate(() => this.#end());
    else this.#thread.post({ kind: "call", id, name, args }, memory);
  }

  #hear(message: FromEtcd): void {
    const { id } = message;
    if (message.kind === "reply") {
      const answer = this.#answers.get(id);
      this.#answers.delete(id);
      answer?.(revived(message.reply));
    } else if (message.kind === "events") {
      this.#watches.get(id)?.onEvents(message.events.map(revivedEvent));
    } else {
      const watch = this.#watches.get(id);
      this.#watches.delete(id);
      watch?.onEnd(message.refusal, message.reason);
    }
  }

  #end(): void {
    this.#hasEnded = true;
    const answers = [...this.#answers.values()];
    const watches = [...this.#watches.values()];
    this.#answers.clear();
    this.#watches.clear();
    for (const answer of answers) answer({ kind: "unknown", reason: ENDED });
    for (const { onEnd } of watches) onEnd(null, ENDED);
  }
}

/** The side of the thread. */
export function serveEtcd(port: ThreadPort<ToEtcd>, etcd: Etcd): void {
  const cancels = new Map<number, () => void>();
  const say = (message: FromEtcd) => port.postMessage(message);
  port.on("message", (message) => {
    const { id } = message;
    if (message.kind === "call") {
      const call = etcd[message.name].bind(etcd) as (...args: unknown[]) => void;
      call(...message.args, (reply: Reply<unknown>) => {
        say({ kind: "reply", id, reply: compacted(reply) });
      });
    } else if (message.kind === "watch") {
      const cancel = etcd.watch({
        ...message.request,
        onEvents: (events) => say({ kind: "events", id, events: events.map(compactedEvent) }),
        onEnd: (refusal, reason) => say({ kind: "end", id, refusal, reason }),
      });
      cancels.set(id, cancel);
    } else {
      cancels.get(id)?.();
      cancels.delete(id);
    }
  });
}

/** What has pairs: the results of a range and of a transaction. */
type Paired = Partial<Pick<RangeResult, "pairs"> & Pick<TransactionResult, "found">> | null;

/** A message copies the whole memory that a value is a part of. */
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
  return new ThreadedEtcd(
    address,
    workerThread<EtcdThreadData, ToEtcd, FromEtcd>(program, "frontrow etcd"),
    onReply,
  );
}
