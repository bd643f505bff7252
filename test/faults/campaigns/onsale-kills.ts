/**
 * The real program under a flash sale, killed with SIGKILL at random moments and started again each
 * time. After each kill a copy of the data folder is opened in this process and held against what
 * the crowd was told; the crowd waits, and then goes on to the last place.
 */
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { checkState } from "../../../engine/verify/check.ts";
import { openEngine } from "../../../persistence/store/open-engine.ts";
import { Random } from "../../../server/onsale/random.ts";
import type { Report } from "../../../server/onsale/report.ts";
import { readLayoutFile } from "../../../server/onsale/setup.ts";
import { isCertain, ledgerDeviations, type LedgerFold } from "../../support/ledger-check.ts";
import {
  type Exit,
  type ServerProcess,
  sleep,
  startServer,
  temporaryFolder,
} from "../../support/server-process.ts";
import { LedgerReader } from "../support/ledger-reader.ts";
import { Player } from "../support/player.ts";

/** Below the ports that the system gives to clients: the crowd must not connect to itself. */
const PORT_MIN = 20_000;
const PORT_COUNT = 10_000;
const POLL_MS = 5;
/** The crowd is quiet when its ledger has not grown for so long. */
const QUIET_MS = 250;
const SHARE_MIN = 0.02;
const SHARE_MAX = 0.95;
const DELAY_MS_MAX = 50;
const TENANT_TOKEN = "token-of-the-kill-test";

export interface KillPlan {
  /** Path of the layout file. */
  readonly layout: string;
  readonly buyers: number;
  readonly thinkMs: number;
  readonly kills: number;
  /** Draws the moments of the kills and the crowd. */
  readonly seed: number;
  readonly preventsOrphans: boolean;
  /** Time limit of the sale. */
  readonly seconds: number;
}

/** A kill is due when so much of the house has been sold, and a little later. */
interface Moment {
  readonly share: number;
  readonly delayMs: number;
}

/** What a state was held against. */
export interface Checked {
  /** Locks, unlocks and sales that had been acknowledged. */
  readonly acknowledged: number;
  readonly soldSeats: number;
  readonly soldPlaces: number;
  /** Baskets that had to be held. */
  readonly held: number;
  /** Baskets with a request of unknown outcome. */
  readonly unknown: number;
  readonly deviations: readonly string[];
}

export interface Kill extends Moment {
  readonly checked: Checked;
  /** From the start of the process to its ready line. */
  readonly restartSeconds: number;
  /** As the server logged it: records replayed, seconds, bytes cut off. */
  readonly recovered: Readonly<Record<string, unknown>>;
}

export interface Outcome {
  readonly kills: readonly Kill[];
  /** After the sale and an orderly stop. */
  readonly final: Checked;
  readonly stopped: Exit;
  readonly exitCode: number | null;
  readonly report: Report;
  /** Seats and places of the layout. */
  readonly capacity: number;
}

/** Plays the plan to its end; whatever is found is in the outcome. @throws Error if it cannot. */
export async function playWithKills(plan: KillPlan): Promise<Outcome> {
  const run = await KillRun.start(plan);
  const kills: Kill[] = [];
  for (const moment of momentsOf(plan)) kills.push(await run.kill(moment));
  return { kills, ...(await run.finish()) };
}

export function momentsOf({ seed, kills }: Pick<KillPlan, "seed" | "kills">): readonly Moment[] {
  const random = new Random(seed);
  const range = SHARE_MAX - SHARE_MIN;
  const shares = Array.from(
    { length: kills },
    () => SHARE_MIN + (random.below(1_000) / 1e3) * range,
  );
  return shares
    .toSorted((a, b) => a - b)
    .map((share) => ({ share, delayMs: random.between(0, DELAY_MS_MAX) }));
}

class KillRun {
  readonly #root: string;
  readonly #port: number;
  readonly #player: Player;
  readonly #ledger: LedgerReader;
  readonly #eventId: string;
  readonly #capacity: number;
  #server: ServerProcess;

  private constructor(parts: Parts) {
    this.#root = parts.root;
    this.#port = parts.port;
    this.#server = parts.server;
    this.#player = parts.player;
    this.#ledger = parts.ledger;
    this.#eventId = parts.eventId;
    this.#capacity = parts.capacity;
  }

  /** A server on an empty folder, an organization, and a crowd that has begun. */
  static async start(plan: KillPlan): Promise<KillRun> {
    const { kills: _, preventsOrphans, ...play } = plan;
    const root = temporaryFolder();
    const port = await freePort();
    const server = await startServer({
      folder: dataFolder(root),
      args: ["--port", String(port)],
      env: { FRONTROW_TENANT_TOKEN: TENANT_TOKEN },
    });
    const key = await createOrganization(server, preventsOrphans);
    const ledgerPath = path.join(root, "ledger.jsonl");
    const player = new Player({ ...play, url: server.url, key, ledger: ledgerPath });
    await until(player, () => player.eventId !== undefined && existsSync(ledgerPath));
    const ledger = new LedgerReader(ledgerPath);
    const capacity = capacityOf(plan.layout);
    return new KillRun({ root, port, server, player, ledger, capacity, eventId: player.eventId! });
  }

  async kill(moment: Moment): Promise<Kill> {
    await until(this.#player, () => {
      this.#ledger.readOn();
      return this.#ledger.fold.soldCount >= moment.share * this.#capacity;
    });
    await sleep(moment.delayMs);
    await this.#server.kill("SIGKILL");
    await this.#quiet();
    const checked = await this.#check();
    const startedMs = performance.now();
    this.#server = await startServer({
      folder: dataFolder(this.#root),
      args: ["--port", String(this.#port)],
    });
    const restartSeconds = (performance.now() - startedMs) / 1_000;
    const recovered = this.#server.logLines.find(({ msg }) => msg === "recovered") ?? {};
    return { ...moment, checked, restartSeconds, recovered };
  }

  async finish(): Promise<Omit<Outcome, "kills">> {
    const { exitCode, report } = await this.#player.ended;
    const stopped = await this.#server.kill("SIGTERM");
    this.#ledger.readOn();
    const final = await this.#check();
    this.#ledger.close();
    return { final, stopped, exitCode, report, capacity: this.#capacity };
  }

  async #quiet(): Promise<void> {
    do await sleep(QUIET_MS);
    while (this.#ledger.readOn() > 0);
  }

  /** On a copy, since opening a folder writes to it. */
  async #check(): Promise<Checked> {
    const { fold } = this.#ledger;
    const copy = mkdtempSync(path.join(this.#root, "copy-"));
    cpSync(dataFolder(this.#root), copy, { recursive: true });
    const store = await openEngine({ folder: copy });
    const deviations = await store.read((state) => {
      checkState(state);
      return ledgerDeviations(fold, state, this.#eventId);
    });
    await store.close();
    rmSync(copy, { recursive: true });
    return { ...countsOf(fold), deviations };
  }
}

interface Parts {
  readonly root: string;
  readonly port: number;
  readonly server: ServerProcess;
  readonly player: Player;
  readonly ledger: LedgerReader;
  readonly eventId: string;
  readonly capacity: number;
}

function countsOf({ acknowledged, soldSeats, soldPlaces, baskets }: LedgerFold) {
  const held = [...baskets.values()].filter(isCertain).length;
  return {
    acknowledged: acknowledged.lock + acknowledged.unlock + acknowledged.sale,
    soldSeats: soldSeats.size,
    soldPlaces: [...soldPlaces.values()].reduce((sum, places) => sum + places, 0),
    held,
    unknown: baskets.size - held,
  };
}

const dataFolder = (root: string) => path.join(root, "data");

interface LayoutFile {
  readonly sectors: readonly { readonly ga: boolean; readonly gaCapacity?: number }[];
  readonly seats: readonly object[];
}

function capacityOf(layout: string): number {
  const { sectors, seats } = JSON.parse(readLayoutFile(layout)) as LayoutFile;
  const areas = sectors.filter(({ ga }) => ga);
  return areas.reduce((sum, { gaCapacity = 0 }) => sum + gaCapacity, seats.length);
}

/** @returns Its secret key. */
async function createOrganization(
  server: ServerProcess,
  orphanPrevention: boolean,
): Promise<string> {
  const target = "/api/private/management/v2.0/organizations/";
  const created = await server.request("POST", target, ORGANIZATION, TENANT_TOKEN);
  const { id, secretKey } = (await created.json()) as { id: number; secretKey: string };
  const settings = { orphanPrevention };
  const changed = await server.request("PUT", `${target}${id}/settings`, settings, TENANT_TOKEN);
  if (!changed.ok) throw new Error(`the settings were refused: ${await changed.text()}`);
  return secretKey;
}

const ORGANIZATION = {
  name: "Kill test",
  email: "kill@test.example",
  firstName: "Ann",
  lastName: "Lee",
  password: "a long password",
};

/** @throws Error when the on-sale ends before. */
async function until(player: Player, isDue: () => boolean): Promise<void> {
  while (!isDue()) {
    if (player.hasEnded) {
      const { exitCode } = await player.ended;
      throw new Error(`the on-sale ended with ${exitCode} before its time`);
    }
    await sleep(POLL_MS);
  }
}

/** A port that nobody listens on now; the same server has it again after each kill. */
async function freePort(): Promise<number> {
  for (let port = PORT_MIN + (process.pid % PORT_COUNT); ; port++) {
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
