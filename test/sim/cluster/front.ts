/** The front of a leading host: as the server's, with the calls of the clients here. */
import type { Engine } from "../../../engine/engine.ts";
import { SeatState, STATE_NAMES } from "../../../engine/inventory/states.ts";
import { Result } from "../../../engine/results.ts";
import type { OpenStore } from "../../../persistence/store/open-store.ts";
import { Idempotency } from "../../../server/dispatch.ts";
import { ReplyBodies, type Services } from "../../../server/api/services.ts";
import { jsonAnswer } from "../../../server/http/answers.ts";
import { type Booking, lockedBy } from "../../support/linearizable.ts";
import type { Stage } from "./stage.ts";

export type HostRequest =
  | { readonly kind: "read"; readonly seat: number }
  | {
      readonly kind: Booking;
      readonly seat: number;
      readonly session: string;
      readonly key: string | null;
    };

/** The answer to a client. */
export type HostAnswer =
  | { readonly kind: "booked"; readonly isGranted: boolean }
  | { readonly kind: "state"; readonly state: string }
  /** Nothing was done; another host or a later attempt may do it. */
  | { readonly kind: "unavailable" };

const OK_STATUS = 200;
const UNAVAILABLE_STATUS = 503;
const UNAVAILABLE: HostAnswer = { kind: "unavailable" };

export class ClusterFront {
  readonly #store: OpenStore;
  readonly #stage: Stage;
  readonly #idempotency: Idempotency;

  constructor(store: OpenStore, stage: Stage) {
    const { engine } = store;
    const replies = new ReplyBodies({ replyMemory: 1, replyDisk: 1 });
    const keys = { seal: (text: string) => text, unseal: (text: string) => text };
    this.#store = store;
    this.#stage = stage;
    this.#idempotency = new Idempotency({ engine, keys, replies } as unknown as Services);
  }

  handle(request: HostRequest, answer: (given: HostAnswer) => void): void {
    if (!this.#store.cluster!.mayRead) return answer(UNAVAILABLE);
    if (request.kind === "read") return this.#read(request.seat, answer);
    const { key } = request;
    if (key === null) {
      const given = this.#submit(request);
      return this.#engine.afterDurable(() => answer(given));
    }
    const keyed = { caller: this.#stage.caller, idempotencyKey: key };
    const fingerprint = () => `${request.kind} ${request.seat} ${request.session}`;
    const begun = this.#idempotency.begin({ ...keyed, fingerprint });
    if ("fingerprint" in begun) {
      const given = this.#submit(request);
      const status = given.kind === "booked" ? OK_STATUS : UNAVAILABLE_STATUS;
      this.#idempotency.store(begun, jsonAnswer(status, JSON.stringify(given)));
      return this.#engine.afterDurable(() => {
        this.#idempotency.end(begun);
        answer(given);
      });
    }
    const given = "body" in begun ? (JSON.parse(String(begun.body)) as HostAnswer) : UNAVAILABLE;
    this.#engine.afterDurable(() => answer(given));
  }

  get #engine(): Engine {
    return this.#store.engine;
  }

  #submit(request: Exclude<HostRequest, { readonly kind: "read" }>): HostAnswer {
    const { kind, seat, session } = request;
    const outcome = this.#engine.submit(this.#stage.booking(kind, seat, session));
    const { refused } = outcome;
    if (refused === Result.OVERLOADED || refused === Result.LOG_UNAVAILABLE) return UNAVAILABLE;
    return { kind: "booked", isGranted: refused === Result.OK };
  }

  #read(seat: number, answer: (given: HostAnswer) => void): void {
    const { state } = this.#engine;
    const event = state.catalog.events.get(this.#stage.eventId)!;
    const partition = state.partitionOf(event);
    const index = partition.layout.seatIndexes.get(this.#stage.seatIds[seat]!)!;
    const seatState = partition.state[index] as SeatState;
    const shown =
      seatState === SeatState.LOCKED
        ? lockedBy(partition.holds.get(partition.holdOf(index)).session)
        : STATE_NAMES[seatState]!;
    this.#engine.afterDurable(() => answer({ kind: "state", state: shown }));
  }
}
