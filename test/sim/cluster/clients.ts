/**
 * Clients: they book seats and look at them. When an answer is missing, a call with an idempotency
 * key is repeated, perhaps at another host; without one its outcome remains unknown.
 */
import type { Booking, SeatCall } from "../../support/linearizable.ts";
import type { Timeline } from "../timeline.ts";
import { Random } from "../workload/random.ts";
import type { HostAnswer, HostRequest } from "./front.ts";
import type { ClusterPlan } from "./plan.ts";
import type { Counts } from "./promises.ts";
import type { SimHost } from "./sim-host.ts";

export interface ClusterClientsOptions {
  readonly plan: ClusterPlan;
  readonly timeline: Timeline;
  readonly hosts: readonly SimHost[];
  readonly counts: Counts;
}

type Wanted = Booking | "read";

/** A call, until it is answered or given up. */
interface Call {
  readonly request: HostRequest;
  begunAt: number;
  attempts: number;
  readonly done: () => void;
}

const WANTED: readonly Wanted[] = [
  ...(["lock", "lock", "lock", "read", "read", "read"] as const),
  ...(["unlock", "unlock", "sale", "revertsale"] as const),
];
const MESSAGE_US_SPREAD = 1_500;
const ANSWER_MS_MIN = 300;
const ANSWER_MS_SPREAD = 1_200;
const RETRY_MS_SPREAD = 400;
/** One call in so many has no idempotency key. */
const UNKEYED_ONCE = 4;

export class ClusterClients {
  /** All calls, those of unknown outcome included. */
  readonly history: SeatCall[] = [];
  readonly #options: ClusterClientsOptions;
  readonly #random: Random;
  /** The host each client asks next. */
  readonly #host: number[] = [];
  #at = 0;
  #keys = 0;
  #busy = 0;

  constructor(options: ClusterClientsOptions) {
    this.#options = options;
    this.#random = Random.stream(options.plan.seed, "cluster clients");
  }

  /** Every call is answered or given up. */
  get isOver(): boolean {
    return this.#busy === 0;
  }

  begin(): void {
    const { clients, calls } = this.#options.plan;
    for (let client = 0; client < clients; client++) {
      this.#host[client] = 0;
      this.#busy += 1;
      this.#next(client, calls);
    }
  }

  /** Reads every seat. */
  readAll(): void {
    for (let seat = 0; seat < this.#options.plan.seats; seat++) {
      this.#busy += 1;
      this.#call(0, { kind: "read", seat }, () => {
        this.#busy -= 1;
      });
    }
  }

  #next(client: number, left: number): void {
    const { plan, timeline } = this.#options;
    if (left === 0) {
      this.#busy -= 1;
      return;
    }
    const random = this.#random;
    timeline.later(random.below(plan.thinkMsMax), () => {
      const kind = random.pick(WANTED);
      const seat = random.below(plan.seats);
      const done = () => this.#next(client, left - 1);
      if (kind === "read") return this.#call(client, { kind, seat }, done);
      this.#keys += 1;
      const key = random.once(UNKEYED_ONCE) ? null : `key ${this.#keys}`;
      this.#call(client, { kind, seat, session: `c${client}`, key }, done);
    });
  }

  #call(client: number, request: HostRequest, done: () => void): void {
    this.#options.counts.add(`asked: ${request.kind}`);
    this.#attempt(client, { request, begunAt: this.#tick(), attempts: 0, done });
  }

  #attempt(client: number, call: Call): void {
    const { timeline, hosts, counts, plan } = this.#options;
    const random = this.#random;
    call.attempts += 1;
    // Some reads come to a former leader without knowledge of its end.
    const isAnywhere = call.request.kind === "read" && call.attempts === 1 && random.once(2);
    const number = isAnywhere ? random.below(hosts.length) : this.#host[client]!;
    if (call.attempts > 1) counts.add("a call was repeated");
    let isOpen = true;
    const finish = (answer: HostAnswer | null) => {
      if (!isOpen) return;
      isOpen = false;
      cancel();
      if (answer === null || answer.kind === "unavailable") {
        this.#host[client] = (number + 1) % hosts.length;
        this.#failed(client, call, answer);
      } else {
        this.#answered(call, answer);
        call.done();
      }
    };
    const patienceMs = ANSWER_MS_MIN + random.below(ANSWER_MS_SPREAD);
    const cancel = timeline.later(patienceMs, () => finish(null));
    timeline.after(random.below(MESSAGE_US_SPREAD), () => {
      const host = hosts[number]!;
      if (call.request.kind !== "read" && !host.isReachable) return;
      if (host.process === null) return finish({ kind: "unavailable" });
      host.receive(call.request, (answer) => {
        if (plan.dropOnce < Infinity && random.once(plan.dropOnce)) return;
        timeline.after(random.below(MESSAGE_US_SPREAD), () => finish(answer));
      });
    });
  }

  /** @param answer - Null when there was none. */
  #failed(client: number, call: Call, answer: HostAnswer | null): void {
    const { counts } = this.#options;
    const { request } = call;
    counts.add(answer === null ? "an answer was missing" : "a host was not available");
    if (answer === null && request.kind !== "read" && request.key === null) {
      counts.add("the outcome of a call remained unknown");
      const { kind, seat, session } = request;
      const { begunAt } = call;
      const isGranted = false;
      this.history.push({ kind, seat, session, begunAt, answeredAt: Infinity, isGranted });
      return call.done();
    }
    // A read begins anew: an earlier one has had no effect.
    if (request.kind === "read") call.begunAt = this.#tick();
    this.#options.timeline.later(this.#random.below(RETRY_MS_SPREAD), () => {
      this.#attempt(client, call);
    });
  }

  #answered({ request, begunAt }: Call, answer: HostAnswer): void {
    const { seat } = request;
    const answeredAt = this.#tick();
    if (request.kind === "read") {
      if (answer.kind !== "state") throw new Error("a read was answered with something else");
      this.history.push({ kind: "read", seat, begunAt, answeredAt, state: answer.state });
    } else {
      if (answer.kind !== "booked") throw new Error("a booking was answered with something else");
      const { kind, session } = request;
      const { isGranted } = answer;
      this.#options.counts.add(isGranted ? "a booking was granted" : "a booking was refused");
      this.history.push({ kind, seat, session, begunAt, answeredAt, isGranted });
    }
  }

  #tick(): number {
    this.#at += 1;
    return this.#at;
  }
}
