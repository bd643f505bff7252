/**
 * The clients of a run: each sends a request, waits for the answer, thinks, and sends the next one.
 * Requests in flight at the end of a process are sent again with the same key, or given up.
 */
import type { Front, Keyed } from "../front.ts";
import type { Life } from "../life.ts";
import type { Oracle } from "../model/oracle.ts";
import { openHouses } from "../setup.ts";
import type { Timeline } from "../timeline.ts";
import { askOf } from "./asks.ts";
import { anyOf, type Ask, type House, type Scene } from "./ask.ts";
import { bagOf, type Group, type Plan } from "./plan.ts";
import { Random } from "./random.ts";

const THINK_US_MAX = 1_500;
/** The longest time of an answer without faults. */
const ASK_US_MAX = 5_000_000;

interface Client {
  /** The unanswered request. */
  pending: Keyed | null;
  /** The request to send again. */
  retry: Keyed | null;
}

export interface ClientsOptions {
  readonly plan: Plan;
  readonly oracle: Oracle;
  readonly timeline: Timeline;
}

export class Clients {
  readonly #options: ClientsOptions;
  readonly #random: Random;
  readonly #bag: Group[];
  #clients: Client[] = [];
  #houses: readonly House[] = [];
  #names = 0;
  #left = 0;
  #life!: Life;
  #front!: Front;

  constructor(options: ClientsOptions) {
    const { plan } = options;
    this.#options = options;
    this.#random = Random.stream(plan.seed, "clients");
    this.#bag = bagOf(plan.groups);
  }

  /** They send no more requests to this process. */
  get isOver(): boolean {
    return this.#left <= 0;
  }

  setUp(life: Life, front: Front): void {
    this.#life = life;
    this.#front = front;
    const { timeline } = this.#options;
    const must = (ask: Ask) => {
      const before = life.engine.sequence;
      const latestUs = timeline.nowUs + ASK_US_MAX;
      // It is sent again as long as it is refused for lack of space.
      while (front.waiting > 0 || life.engine.sequence === before) {
        if (front.waiting === 0) front.ask({ ask, key: null }, () => {});
        const isLate = !timeline.step() || timeline.nowUs > latestUs;
        this.#options.oracle.tally.holds("I21", !isLate, () => ask.command.kind);
      }
    };
    this.#houses = openHouses({ must, scene: this.#scene() }, this.#options.plan);
  }

  begin(life: Life, front: Front): void {
    const { plan } = this.#options;
    this.#life = life;
    this.#front = front;
    this.#left = this.#random.below(plan.requestsMax + 1);
    while (this.#clients.length < plan.clients) this.#clients.push({ pending: null, retry: null });
    for (const client of this.#clients) this.#thinkThenAsk(client);
  }

  /** The process has ended, and answers no more. */
  processEnded(): void {
    for (const client of this.#clients) {
      const { pending } = client;
      client.pending = null;
      if (pending?.key != null && !this.#random.once(4)) client.retry = pending;
    }
  }

  #thinkThenAsk(client: Client): void {
    const { timeline } = this.#options;
    timeline.after(this.#random.below(THINK_US_MAX), () => this.#ask(client));
  }

  #ask(client: Client): void {
    this.#left -= 1;
    if (this.#left < 0 || this.#life.failure !== null) return;
    this.#passTime();
    const { oracle } = this.#options;
    const again = client.retry;
    client.retry = null;
    const done = () => {
      client.pending = null;
      this.#thinkThenAsk(client);
    };
    const group = this.#random.pick(this.#bag);
    if (again === null && group === "reads") {
      const eventId = anyOf(this.#random, oracle.model.events.keys());
      return eventId === undefined ? done() : this.#front.read(eventId, done);
    }
    const keyed = again ?? this.#next(group);
    if (again !== null) oracle.tally.count("a request was asked again after a crash");
    if (keyed === null) return done();
    client.pending = keyed;
    this.#front.ask(keyed, done);
  }

  #next(group: Group): Keyed | null {
    const random = this.#random;
    const ask = askOf(group, this.#scene(), random.pick(this.#houses));
    if (ask === null) return null;
    const isKeyed = random.once(group === "booking" ? 3 : 6);
    return { ask, key: isKeyed ? `key ${this.#nextName()}` : null };
  }

  #scene(): Scene {
    const { oracle } = this.#options;
    return {
      random: this.#random,
      model: oracle.model,
      state: this.#life.engine.state,
      houses: this.#houses,
      hasLimits: true,
      hasGuards: true,
      nextName: () => this.#nextName(),
    };
  }

  #nextName(): string {
    this.#names += 1;
    return String(this.#names);
  }

  /** The machine sleeps for a while, and holds expire. */
  #passTime(): void {
    const random = this.#random;
    if (random.once(12)) this.#life.leaptMs += random.below(20_000);
    if (random.once(60)) this.#life.leaptMs += random.below(1_200_000);
  }
}
