/**
 * A server on a store of its own, in this process, with what requests can name in it, and a gateway
 * before it in another process.
 */
import fs from "node:fs";
import path from "node:path";
import { pino } from "pino";
import { openEngine, type Store } from "../../persistence/store/open-engine.ts";
import { Copies } from "../../server/cluster/copies.ts";
import { bootstrap, servicesOf } from "../../server/main.ts";
import { OpenLinks } from "../../server/gateway/link.ts";
import { StoreReports } from "../../server/observe/progress.ts";
import { routeTable } from "../../server/routes/table.ts";
import type { Services } from "../../server/api/services.ts";
import type { Webhooks } from "../../server/webhooks/webhooks.ts";
import { type HttpServer, listen } from "../../server/http/server.ts";
import { StartingFront } from "../../server/http/front.ts";
import { createHouse, TENANT_TOKEN } from "../faults/support/serving.ts";
import { ROOT } from "../sim/seed.ts";
import { FuzzedGateway } from "./gateway/fuzzed-gateway.ts";
import { LATER } from "./grammar.ts";
import type { Pools } from "./values.ts";
import { Records, WatchedDispatch } from "./watch.ts";

const HOST = "127.0.0.1";
const SEATS = 100;
/** Organizations whose keys are used: the first, and the next that a request creates. */
const ORGANIZATIONS = 2;
const PASSWORD = "a long password";
const PLATFORM_TOKEN = "platform-token-of-the-fuzzer";
const GATEWAY_SECRET = "5e".repeat(32);
const SILENT = pino({ level: "silent" });
/** Far above what a round asks: each bad key and password is to be looked at. */
const MANY_PER_MINUTE = 1_000_000_000;
const MANY = 40;
/** In MiB. */
const REPLIES = { replyMemory: 64, replyDisk: 64 };
/** Values of answers that later requests may name, by their member. */
const LEARNED = /"(ticket|receipt|content)":"([^"]+)"/g;
const LEARNED_MAX = 8;

/** Ids of requests that no recipe names. */
export const OWN_ID = /^own-\d+$/;

interface Parts {
  readonly store: Store;
  readonly services: Services & { readonly webhooks: Webhooks };
  readonly http: HttpServer;
  readonly gateway: FuzzedGateway;
  readonly dispatch: WatchedDispatch;
  readonly folder: string;
}

export class Stage {
  readonly port: number;
  readonly dispatch: WatchedDispatch;
  readonly #parts: Parts;
  #requests = 0;
  /** By member of an answer, the newest last. */
  readonly #learned = new Map<string, readonly string[]>();

  private constructor(parts: Parts) {
    this.#parts = parts;
    this.dispatch = parts.dispatch;
    this.port = parts.http.port;
  }

  get gateway(): FuzzedGateway {
    return this.#parts.gateway;
  }

  /** @param onBroken - Called with what would end the process of a server. */
  static async open(onBroken: (error: unknown) => void): Promise<Stage> {
    const folder = fs.mkdtempSync(path.join(ROOT, "frontrow-fuzz-"));
    const records = new Records();
    const audit = { days: null, onReport: () => {} };
    const options = { folder: path.join(folder, "data"), audit, onFailure: onBroken };
    const store = await openEngine(options, records);
    const http = await listen(new StartingFront(), { host: HOST, port: 0, onBroken });
    const services = servicesOf(store, {
      accessLog: null,
      badKeysPerMinute: MANY_PER_MINUTE,
      badLoginsPerMinute: MANY_PER_MINUTE,
      platformToken: PLATFORM_TOKEN,
      webhookPrivateAddresses: true,
      reports: new StoreReports(SILENT),
      http: http.stats,
      ...REPLIES,
      recent: records,
      copies: new Copies(folder, undefined),
      gateways: new OpenLinks(GATEWAY_SECRET),
      isReady: () => true,
    });
    await bootstrap(store.engine, services, {
      FRONTROW_TENANT_TOKEN: TENANT_TOKEN,
      FRONTROW_ADMIN_EMAIL: "admin@fuzz.example",
      FRONTROW_ADMIN_PASSWORD: PASSWORD,
    });
    const dispatch = new WatchedDispatch(records, services, routeTable("0.0.0-fuzz", true), SILENT);
    http.front = dispatch;
    services.webhooks.begin();
    const gateway = await FuzzedGateway.start(http.port, GATEWAY_SECRET, folder);
    const stage = new Stage({ store, services, http, gateway, dispatch, folder });
    await createHouse(stage, SEATS);
    return stage;
  }

  nextRequestId(): string {
    this.#requests += 1;
    return `own-${this.#requests}`;
  }

  /** Faults of the server since the last call. */
  takeFaults(): readonly string[] {
    return [...this.dispatch.takeFaults(), ...this.gateway.takeFaults()];
  }

  request(method: string, target: string, body: unknown, key: unknown): Promise<Response> {
    const headers = { "Content-Type": "application/json", "X-API-Key": String(key) };
    const url = `http://${HOST}:${this.port}${target}`;
    return fetch(url, { method, headers, body: JSON.stringify(body) });
  }

  readonly pools: Pools = (name) => {
    if (name.startsWith("Bearer ")) {
      return this.pools(name.slice("Bearer ".length)).map((key) => `Bearer ${key}`);
    }
    if (name === "forbiddenPorts") return [this.gateway.forbiddenPort];
    if (name.startsWith(LATER)) return this.pools(name.slice(LATER.length)).slice(1);
    return POOLS[name]?.(this.#parts.services) ?? this.#learned.get(name) ?? [];
  };

  /** Remembers what later requests may name. */
  learn(body: string): void {
    for (const [, name, value] of body.matchAll(LEARNED)) {
      const known = this.#learned.get(name!) ?? [];
      this.#learned.set(name!, [...known, value!].slice(-LEARNED_MAX));
    }
  }

  async close(): Promise<void> {
    const { http, gateway, services, store, folder } = this.#parts;
    await gateway.close();
    http.close();
    await services.webhooks.close();
    await store.close();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** The oldest, which everything is made for, and the newest. */
function ends<T>(ids: readonly T[]): readonly T[] {
  return ids.length <= MANY ? ids : [...ids.slice(0, MANY / 2), ...ids.slice(-MANY / 2)];
}

type Pool = (services: Services) => readonly (string | number)[];

const numbered = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${prefix}${i + 1}`);

const GUIDS = Array.from(
  { length: MANY },
  (_, i) => `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`,
);

const POOLS: Readonly<Record<string, Pool>> = {
  ...Object.fromEntries(
    (
      [
        "events",
        "schemas",
        "venues",
        "series",
        "prices",
        "zones",
        "organizations",
        "tenants",
        "webhooks",
      ] as const
    ).map((table): [string, Pool] => [
      table,
      ({ engine }) => ends([...engine.state.catalog[table].keys()]),
    ]),
  ),
  objects: ({ engine }) =>
    [...engine.state.layouts.values()].flatMap(({ seatIds, groups }) => [
      ...seatIds.slice(0, MANY),
      ...[...groups.keys()].slice(0, MANY),
    ]),
  organizationKeys: organizationKeys,
  tenantTokens: () => [TENANT_TOKEN],
  platformTokens: () => [PLATFORM_TOKEN],
  allKeys: (services) => [...organizationKeys(services), TENANT_TOKEN, PLATFORM_TOKEN],
  badKeys: () => ["", "x", "fro_1_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "é"],
  sessions: () => numbered("session ", 4),
  holdTypes: () => ["vip", "phone"],
  names: () => numbered("Name ", MANY),
  sorts: () => ["name", "name,desc", "id,asc", "start", "seatName,desc", "rowName"],
  guids: () => GUIDS,
  keys: () => numbered("Stalls;;row 1;;", 20),
  moments: ({ engine }) => [1, engine.sequence, engine.sequence + 1, "2026-01-01T00:00:00"],
  refreshTokens: () => ["x".repeat(43)],
  emails: () => [
    "admin@fuzz.example",
    ...numbered("user", 9).map((name) => `${name}@fuzz.example`),
  ],
  urls: () => ["http://127.0.0.1:9", "https://hooks.example/in", "http://127.0.0.1:9/a?b=c"],
  passwords: () => [PASSWORD, "another password"],
};

function organizationKeys({ engine, keys }: Services): string[] {
  const rows = [...engine.state.catalog.organizations.values()];
  return rows.slice(0, ORGANIZATIONS).map((row) => keys.organizationKey(row));
}
