/** A tenant that sends whatever is expensive or harmful, each kind in a loop of its own. */
import net from "node:net";
import { Agent } from "undici";
import { largeLayout } from "../../../bench/stalls/large-layout.ts";
import { type ServerProcess, sleep } from "../../support/server-process.ts";
import type { Outcome } from "../campaign.ts";
import type { Disturber } from "./neighbour.ts";
import { createOrganization } from "./serving.ts";

const V2 = "/api/private/v2.0";
const TIMES = { start: "2030-01-01T20:00:00", endDate: "2030-01-01T22:00:00" };
const TIMEOUT_MS = 300_000;
/** How long sockets of one turn stay open. */
const OPEN_MS = 1_000;
const SERVER_ERROR = 500;
/** Drawing members of a seat, which the service keeps up to 2 KiB. */
const PADDING = "x".repeat(1_700);
const PADDED_SEAT_BYTES = 1_950;

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

/** What the acts work on. */
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

export class HostileTenant implements Disturber {
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

  private constructor(parts: Parts) {
    this.#url = new URL(parts.server.url);
    this.#key = parts.key;
    this.form = parts.form;
    this.property = parts.property;
    this.#acts = parts.acts;
  }

  static async create(
    server: ServerProcess,
    form: HostileForm,
    acts: Readonly<Record<string, Act>>,
  ): Promise<HostileTenant> {
    const { secretKey: key } = await createOrganization(server, {}, "Hostile");
    const property = await build(server, key, form);
    return new HostileTenant({ server, key, form, acts, property });
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

interface Parts {
  readonly server: ServerProcess;
  readonly key: string;
  readonly form: HostileForm;
  readonly acts: Readonly<Record<string, Act>>;
  readonly property: Property;
}

interface Created {
  readonly id: number;
}

/** A large layout, and an event with prices on it. */
async function build(
  server: ServerProcess,
  key: string,
  { seats, bodyBytes }: HostileForm,
): Promise<Property> {
  const call = async <T>(method: string, target: string, body: unknown) => {
    const response = await server.request(method, V2 + target, body, key);
    if (!response.ok) throw new Error(`${method} ${target}: ${await response.text()}`);
    return (await response.json()) as T;
  };
  const venue = await call<Created>("POST", "/venues/", { name: "Hostile" });
  const plan = { name: "Hostile", venueId: venue.id };
  const { id: schemaId } = await call<Created>("POST", "/schemas/", plan);
  const { sectors, rows, seats: drawn } = largeLayout(seats);
  const layout = { sectors, rows, seats: drawn };
  const put = `/schemas/${schemaId}/layout`;
  const stored = await call<{ sectors: Created[] }>("PUT", put, layout);
  const event = { name: "Hostile", schemaId, ...TIMES };
  const { id: eventId } = await call<{ id: string }>("POST", "/events/", event);
  const price = { name: "Full", eventId };
  const [{ id: priceId }] = await call<[Created]>("POST", `/event/${eventId}/prices/`, [price]);
  const groupOfSeats = stored.sectors.map(({ id }) => ({ objectId: id, assignmentId: priceId }));
  await call("POST", `/event/${eventId}/prices/assignments/`, { groupOfSeats });
  const renamed = { ...layout, seats: [{ ...drawn[0]!, name: "Renamed" }, ...drawn.slice(1)] };
  const layouts = [JSON.stringify(layout), JSON.stringify(renamed)] as const;
  const padded = await call<Created>("POST", "/schemas/", { ...plan, name: "Padded" });
  return {
    schemaId,
    eventId,
    priceId,
    sectorId: stored.sectors[0]!.id,
    layouts,
    paddedSchemaId: padded.id,
    paddedLayout: paddedLayout(bodyBytes),
  };
}

/** A layout whose JSON has about so many bytes. */
function paddedLayout(bytes: number): string {
  const { sectors, rows, seats } = largeLayout(Math.floor(bytes / PADDED_SEAT_BYTES));
  const padded = seats.map((seat) => ({ ...seat, padding: PADDING }));
  return JSON.stringify({ sectors, rows, seats: padded });
}
