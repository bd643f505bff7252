/** All links of gateways, on the side of the engine: their proofs, and the state that they hear. */
import type { Engine } from "../../../engine/engine.ts";
import { Result } from "../../../engine/results.ts";
import { bearerOf, type Credentials } from "../../auth/access.ts";
import { AnswerBuffers } from "../../commands/answer-buffer.ts";
import { Decider } from "../../commands/decider.ts";
import { Turns } from "../../commands/turns.ts";
import { KeyRounds } from "../../routing/key-rounds.ts";
import type { CommandFront, GatewayLinks, Services } from "../../routing/services.ts";
import { type Answer, type Problem, upgrade } from "../../wire/answers.ts";
import type { RequestHead } from "../../wire/front.ts";
import { EngineState, LINK_PROTOCOL } from "../link-layout.ts";
import { ProofCheck } from "../proof.ts";
import { Link, type LinkKey, type LinkShared } from "./link.ts";

/** A gateway that hears nothing for several of these knows that its engine is lost. */
const STATE_MS = 500;
/** Links that may be open; a gateway needs one. */
export const LINKS_MAX = 64;

const NOT_PROVEN: Problem = {
  refused: Result.ACCESS_DENIED,
  detail: "The proof of the gateway is missing, not valid, or too old.",
};
const TOO_MANY: Problem = { refused: Result.OVERLOADED, detail: "Too many gateways are linked." };

export class OpenLinks implements GatewayLinks, LinkShared {
  readonly buffers = new AnswerBuffers();
  readonly keys = new KeyRounds<LinkKey>((client) => this.decider.isAdmitted(client));
  readonly turns = new Turns<Link>();
  requests = 0;
  readonly #proofs: ProofCheck;
  readonly #open = new Set<Link>();
  #services: Services | null = null;
  #front: CommandFront | null = null;
  #decider: Decider | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(secret: string) {
    this.#proofs = new ProofCheck(secret);
  }

  get engine(): Engine {
    return this.#services!.engine;
  }

  get decider(): Decider {
    return this.#decider!;
  }

  get front(): CommandFront {
    return this.#front!;
  }

  /** Open links. */
  get count(): number {
    return this.#open.size;
  }

  get waiting(): Decider["waiting"] {
    return this.decider.waiting;
  }

  attach(front: CommandFront, services: Services): void {
    this.#services = services;
    this.#front = front;
    this.#decider = new Decider(services, front);
  }

  open(head: RequestHead): Answer | Problem {
    const { badKeys, engine } = this.#services!;
    if (!this.#proofs.accepts(bearerOf(head.authorization))) {
      badKeys.failed(head.address(), engine.nowMs());
      return NOT_PROVEN;
    }
    if (this.#open.size === LINKS_MAX) return TOO_MANY;
    const link = new Link(this);
    const sender = { name: "gateway", hasKey: true };
    return upgrade({ protocol: LINK_PROTOCOL, sender, handler: link });
  }

  opened(link: Link): void {
    this.#open.add(link);
    this.#timer ??= setInterval(() => this.#tellState(), STATE_MS).unref();
    link.tellState(this.#stateNow());
  }

  #tellState(): void {
    const state = this.#stateNow();
    for (const link of this.#open) link.tellState(state);
  }

  #stateNow(): EngineState {
    const { engine, isReady } = this.#services!;
    if (!isReady()) return EngineState.CLOSED;
    return engine.isWritable ? EngineState.TAKES_CHANGES : EngineState.TAKES_READS;
  }

  closed(link: Link): void {
    this.#open.delete(link);
    this.turns.delete(link);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer ?? undefined);
    this.#timer = null;
  }

  /** Whether the key of a client is that of an organization, or acts for one. */
  isAdmitted(client: Credentials): boolean {
    return this.decider.isAdmitted(client) === true;
  }
}
