/**
 * kill -9 of the real program at random moments under load, with snapshots and recovery. After each
 * kill its folder is compared with the clients' answers, and with the state from the whole log
 * without any snapshot.
 */
import fs from "node:fs";
import path from "node:path";
import { Random } from "../../../server/onsale/random.ts";
import { ledgerDeviations, LedgerFold } from "../../support/ledger-check.ts";
import { type ServerProcess, sleep } from "../../support/server-process.ts";
import { type Campaign, inLanes, type Outcome, type Run, spreadMs } from "../campaign.ts";
import { Crowd } from "../support/crowd.ts";
import { Archive, hasStoreFile, readFolder, storeIdOf } from "../support/folder-state.ts";
import { type Scope, scoped } from "../support/scope.ts";
import { createHouse, type House, spawnServer, startServer } from "../support/serving.ts";

const SHORT_KILLS = 6;
const LONG_KILLS = 1_000;
const SHORT_STORES = 1;
/** The holds of a store must not expire before its last check, even on a busy machine. */
const KILLS_PER_STORE = 20;
const LANES = 4;
const LINES = 16;
/** The load before a kill is counted in answers, so that slow machines test as much. */
const ANSWERS_MAX = 1_000;
const DELAY_MS_MAX = 20;
/** One in this many kills happens during a start. */
const EARLY_EVERY = 5;
const START_MS_MAX = 400;
/** At one in this many checks, the state is rebuilt from the whole log. */
const REPLAY_EVERY = 5;
const SERVE_ARGS = ["--snapshot-every", "0.05"];

export const kills: Campaign = {
  name: "kills",
  shows:
    "kill -9 at a random moment under load: no acknowledged change is lost or partially applied",
  missing: () => (process.platform === "win32" ? "needs signals" : null),
  run,
};

/** The counts of all stores. */
class Tally {
  kills = 0;
  killsAtStart = 0;
  acknowledged = 0;
  unknown = 0;
  withSnapshot = 0;
  snapshotsCut = 0;
  torn = 0;
  readonly startMs: number[] = [];
  readonly violations: string[] = [];
}

async function run({ isLong, seed, tell }: Run): Promise<Outcome> {
  const total = isLong ? LONG_KILLS : SHORT_KILLS;
  const stores = isLong ? LONG_KILLS / KILLS_PER_STORE : SHORT_STORES;
  const tally = new Tally();
  const numbers = Array.from({ length: stores }, (_, i) => i);
  await inLanes(LANES, numbers, async (number) => {
    await scoped(async (scope) => {
      const store = await Store.open(scope, seed + number, tally);
      for (let i = 0; i < total / stores; i++) {
        await store.cycle();
        tell(`${tally.kills} of ${total} kills`);
      }
      await store.finish();
    });
  });
  return {
    figures: {
      "kill -9 cycles": tally.kills,
      "of these while starting": tally.killsAtStart,
      "operations acknowledged": tally.acknowledged,
      "of unknown outcome": tally.unknown,
      "checks that began with a snapshot": tally.withSnapshot,
      "kills that cut a snapshot short": tally.snapshotsCut,
      "torn ends cut": tally.torn,
      "restart until ready": spreadMs(tally.startMs),
      lost: tally.violations.length,
    },
    violations: [...tally.violations, ...(tally.withSnapshot > 0 ? [] : ["no snapshot was made"])],
  };
}

/** One data folder and its processes. */
class Store {
  readonly #scope: Scope;
  readonly #folder: string;
  readonly #tally: Tally;
  readonly #random: Random;
  readonly #house: House;
  readonly #fold = new LedgerFold();
  readonly #archive: Archive;
  readonly #seed: number;
  #server: ServerProcess | null;
  #cycles = 0;
  /** Operations and baskets that are counted already. */
  #counted = 0;
  #unknown = 0;

  private constructor(parts: Parts) {
    this.#scope = parts.scope;
    this.#folder = parts.folder;
    this.#tally = parts.tally;
    this.#seed = parts.seed;
    this.#random = new Random(parts.seed);
    this.#house = parts.house;
    this.#server = parts.server;
    this.#archive = new Archive(parts.scope.folder(), storeIdOf(parts.folder));
  }

  static async open(scope: Scope, seed: number, tally: Tally): Promise<Store> {
    const folder = path.join(scope.folder(), "data");
    const server = await startServer(scope, { folder, args: SERVE_ARGS });
    const house = await createHouse(server);
    return new Store({ scope, folder, tally, seed, house, server });
  }

  /** Load, a kill, and the check of the folder. */
  async cycle(): Promise<void> {
    this.#cycles += 1;
    this.#tally.kills += 1;
    if (this.#cycles % EARLY_EVERY === 0) await this.#killStarting();
    else await this.#killServing();
    this.#check();
  }

  /** Ends the process in an orderly way, and checks the folder a last time. */
  async finish(): Promise<void> {
    const server = this.#server ?? (await this.#start());
    const { code } = await server.kill("SIGTERM");
    if (code !== 0) this.#violate(`an orderly end exits with ${code}`);
    this.#check(true);
  }

  async #start(): Promise<ServerProcess> {
    const startedMs = performance.now();
    const server = await startServer(this.#scope, { folder: this.#folder, args: SERVE_ARGS });
    this.#tally.startMs.push(performance.now() - startedMs);
    const recovered = server.logLines.find(({ msg }) => msg === "recovered");
    if (Number(recovered?.["tornBytes"]) > 0) this.#tally.torn += 1;
    return server;
  }

  async #killServing(): Promise<void> {
    const server = this.#server ?? (await this.#start());
    const seed = this.#seed * KILLS_PER_STORE + this.#cycles;
    const load = { url: server.url, house: this.#house, fold: this.#fold, seed, lines: LINES };
    const crowd = new Crowd(load);
    await Promise.race([crowd.answered(this.#random.between(1, ANSWERS_MAX)), crowd.ended]);
    await sleep(this.#random.below(DELAY_MS_MAX));
    await server.kill("SIGKILL");
    this.#server = null;
    await crowd.ended;
    for (const failure of crowd.failures) this.#violate(failure);
  }

  async #killStarting(): Promise<void> {
    if (this.#server !== null) await this.#server.kill("SIGKILL");
    const server = spawnServer(this.#scope, { folder: this.#folder, args: SERVE_ARGS });
    this.#tally.killsAtStart += 1;
    await sleep(this.#random.below(START_MS_MAX));
    await server.kill("SIGKILL");
    this.#server = null;
  }

  #check(isLast = false): void {
    if (!hasStoreFile(this.#folder)) return this.#violate("the store is gone");
    const { eventId } = this.#house;
    try {
      const found = readFolder(this.#folder);
      for (const line of ledgerDeviations(this.#fold, found.state, eventId)) this.#violate(line);
      this.#archive.add(this.#folder, found.log);
      const isDue = this.#cycles % REPLAY_EVERY === 0;
      if ((isDue || isLast) && this.#archive.digest() !== found.digest) {
        this.#violate("a snapshot and the log after it give another state than the whole log");
      }
      if (found.snapshot !== null) this.#tally.withSnapshot += 1;
      if (isInTheMaking(this.#folder)) this.#tally.snapshotsCut += 1;
      for (const reason of found.passedOver) this.#violate(`a snapshot is damaged: ${reason}`);
    } catch (error) {
      this.#violate(String(error));
    }
    this.#count();
  }

  #count(): void {
    const { acknowledged, baskets } = this.#fold;
    const { lock, unlock, sale } = acknowledged;
    this.#tally.acknowledged += lock + unlock + sale - this.#counted;
    this.#counted = lock + unlock + sale;
    const open = [...baskets.values()];
    const unknown = open.filter((b) => !b.isLocked || b.salesOpen + b.unlocksOpen > 0).length;
    this.#tally.unknown += unknown - this.#unknown;
    this.#unknown = unknown;
  }

  #violate(what: string): void {
    this.#tally.violations.push(`store ${this.#seed}, kill ${this.#cycles}: ${what}`);
    this.#keep();
  }

  /** Keeps a copy of the folder, to look for the cause. */
  #keep(): void {
    const target = `${this.#folder}-kept-${process.pid}`;
    if (!fs.existsSync(target)) fs.cpSync(this.#folder, target, { recursive: true });
  }
}

function isInTheMaking(folder: string): boolean {
  const snapshots = path.join(folder, "snapshots");
  return (
    fs.existsSync(snapshots) && fs.readdirSync(snapshots).some((name) => name.endsWith(".tmp"))
  );
}

interface Parts {
  readonly scope: Scope;
  readonly folder: string;
  readonly tally: Tally;
  readonly seed: number;
  readonly house: House;
  readonly server: ServerProcess;
}
