/** A tenant that sends whatever is expensive or harmful, each kind in a loop of its own. */
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import type { Outcome } from "../../campaign.ts";

/** First line of its program. */
export const STARTED = "started\n";
export const MEBIBYTE = 1_024 * 1_024;
const TIMEOUT_MS = 300_000;
/** Life of the sockets of one turn. */
const OPEN_MS = 1_000;
const SERVER_ERROR = 500;

export interface Asked {
  readonly method: "GET" | "POST" | "PUT";
  readonly target: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HostileForm {
  readonly seats: number;
  /** Connections that stay idle, and unfinished bodies. */
  readonly sockets: number;
  /** Of the largest body. */
  readonly bodyBytes: number;
  /** Between two turns of the same act. */
  readonly pauseMs: number;
}

/** A status, or what became of the request instead. */
type Answered = number | "closed";

/** Does one kind of harm once. @returns The answers that it waited for. */
export type Act = (tenant: HostileTenant) => Promise<readonly Answered[]>;

/** Objects of the acts. */
export interface Property {
  readonly schemaId: number;
  readonly eventId: string;
  readonly priceId: number;
  readonly sectorId: number;
  /** A schema whose layout is as large as the form says. */
  readonly paddedSchemaId: number;
  readonly paddedLayout: string;
  /** The layout of the schema, and the same with another name of a seat. */
  readonly layouts: readonly [string, string];
}

/** Input of the tenant's program. */
export interface HostilePlan {
  readonly url: string;
  readonly key: string;
  readonly form: HostileForm;
  readonly property: Property;
}

export class HostileTenant {
  readonly violations: string[] = [];
  readonly form: HostileForm;
  readonly property: Property;
  /** Turns of the acts so far; makes keys and accounts unique. */
  turn = 0;
  readonly #url: URL;
  readonly #key: string;
  readonly #agent = new Agent({ headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS });
  readonly #acts: Readonly<Record<string, Act>>;
  /** By act: how often it was done, and its answers by status. */
  readonly #turns = new Map<string, number>();
  readonly #answers = new Map<string, Map<Answered, number>>();
  #lanes: Promise<void>[] = [];
  #isOver = false;

  constructor({ url, key, form, property }: HostilePlan, acts: Readonly<Record<string, Act>>) {
    this.#url = new URL(url);
    this.#key = key;
    this.form = form;
    this.property = property;
    this.#acts = acts;
  }

  get figures(): Outcome["figures"] {
    const figures = Object.keys(this.#acts).map((name) => {
      const counts = [...(this.#answers.get(name) ?? [])].map(([what, n]) => `${n} × ${what}`);
      return [`  ${name}`, [`${this.#turns.get(name)} times`, ...counts].join(", ")];
    });
    return { "the hostile tenant": "its acts and the answers", ...Object.fromEntries(figures) };
  }

  start(): void {
    this.#lanes = Object.entries(this.#acts).map(([name, act]) => this.#lane(name, act));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#lanes);
    await this.#agent.destroy();
  }

  async ask({ method, target, body, headers = {} }: Asked): Promise<Answered> {
    try {
      const { statusCode, body: answer } = await this.#agent.request({
        origin: this.#url.origin,
        method,
        path: target,
        headers: { "X-API-Key": this.#key, "Content-Type": "application/json", ...headers },
        body: body ?? null,
      });
      await answer.dump({ limit: Infinity });
      if (statusCode === SERVER_ERROR) this.violations.push(`${method} ${target}: 500`);
      return statusCode;
    } catch {
      return "closed";
    }
  }

  /** Opens connections that never read, writes to each of them, and closes them a little later. */
  async open(count: number, text: (key: string) => string): Promise<readonly []> {
    const { port, hostname } = this.#url;
    const sockets = Array.from({ length: count }, () => {
      const socket = net.connect(Number(port), hostname).pause();
      socket.on("error", () => {});
      return socket;
    });
    for (const socket of sockets) socket.write(text(this.#key));
    await sleep(OPEN_MS);
    for (const socket of sockets) socket.destroy();
    return [];
  }

  async #lane(name: string, act: Act): Promise<void> {
    while (!this.#isOver) {
      this.turn += 1;
      const answers = await act(this);
      this.#turns.set(name, (this.#turns.get(name) ?? 0) + 1);
      const counts = this.#answers.get(name) ?? new Map<Answered, number>();
      this.#answers.set(name, counts);
      for (const answer of answers) counts.set(answer, (counts.get(answer) ?? 0) + 1);
      await sleep(this.form.pauseMs);
    }
  }
}
