/**
 * The real program during an on-sale, killed with SIGKILL at random moments and started again each
 * time. After each kill its folder is compared with what the buyers were told; they wait, and then
 * buy up to the last place.
 */
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Random } from "../../../server/onsale/random.ts";
import { freePorts } from "../../support/cluster/etcd-members.ts";
import { ledgerDeviations } from "../../support/ledger-check.ts";
import { type ServerProcess, sleep } from "../../support/server-process.ts";
import { type Campaign, type Outcome, type Run, spreadMs } from "../campaign.ts";
import { readFolder } from "../support/folder-state.ts";
import { LedgerReader } from "../support/ledger-reader.ts";
import { Player } from "../support/player.ts";
import type { Scope } from "../support/scope.ts";
import { createOrganization, sizedPlan, startServer } from "../support/serving.ts";

const SHORT = { seats: 1_200, places: 400, buyers: 40, kills: 2, seconds: 150 };
const LONG = { seats: 20_000, places: 4_000, buyers: 3_000, kills: 5, seconds: 600 };
/** The buyers are quiet when their ledger has not grown for so long. */
const QUIET_MS = 250;
/** A kill comes when at least so much of the house is sold, and at most so much. */
const SHARE_MIN = 0.02;
const SHARE_MAX = 0.95;
const DELAY_MS_MAX = 50;

export const onsaleKills: Campaign = {
  name: "onsale-kills",
  shows: "kill -9 during an on-sale: no answered lock or sale is lost, and it sells out",
  missing: () => (process.platform === "win32" ? "needs signals" : null),
  run,
};

async function run({ isLong, seed, scope, tell }: Run): Promise<Outcome> {
  const form = isLong ? LONG : SHORT;
  const sale = await Sale.start(scope, form, seed);
  const random = new Random(seed);
  const shares = Array.from({ length: form.kills }, () => {
    return SHARE_MIN + (random.below(1_000) / 1_000) * (SHARE_MAX - SHARE_MIN);
  });
  for (const share of shares.toSorted((a, b) => a - b)) {
    tell(`a kill when ${(share * 100).toFixed(0)} % are sold`);
    await sale.kill(share, random.below(DELAY_MS_MAX));
  }
  return sale.finish();
}

class Sale {
  readonly #scope: Scope;
  readonly #folder: string;
  readonly #args: readonly string[];
  readonly #player: Player;
  readonly #ledger: LedgerReader;
  readonly #capacity: number;
  #server: ServerProcess;
  readonly #startMs: number[] = [];
  readonly #violations: string[] = [];

  private constructor(parts: Parts) {
    this.#scope = parts.scope;
    this.#folder = parts.folder;
    this.#args = parts.args;
    this.#player = parts.player;
    this.#ledger = parts.ledger;
    this.#capacity = parts.capacity;
    this.#server = parts.server;
  }

  /** A server on an empty folder, and buyers who have begun. */
  static async start(scope: Scope, form: typeof SHORT, seed: number): Promise<Sale> {
    const { seats, places, buyers, seconds } = form;
    const root = scope.folder();
    const [folder, layout, file] = ["data", "layout.json", "ledger.jsonl"].map((name) => {
      return path.join(root, name);
    }) as [string, string, string];
    writeFileSync(layout, JSON.stringify(sizedPlan(seats, places)));
    // The same server has it again after each kill.
    const args = ["--port", String((await freePorts(1))[0])];
    const server = await startServer(scope, { folder, args });
    const { secretKey: key } = await createOrganization(server, {
      orphanPrevention: seed % 2 === 1,
    });
    const sells = { url: server.url, key, layout, ledger: file, buyers, seconds, seed };
    const play = { ...sells, ...(seed % 4 > 1 && { best: true as const }) };
    const player = new Player(scope, play);
    await player.until(() => player.eventId !== undefined && existsSync(file));
    const ledger = new LedgerReader(file);
    scope.defer(() => ledger.close());
    return new Sale({ scope, folder, args, player, ledger, capacity: seats + places, server });
  }

  async kill(share: number, delayMs: number): Promise<void> {
    await this.#player.until(() => {
      this.#ledger.readOn();
      return this.#ledger.fold.soldCount >= share * this.#capacity;
    });
    await sleep(delayMs);
    await this.#server.kill("SIGKILL");
    do await sleep(QUIET_MS);
    while (this.#ledger.readOn() > 0);
    this.#check(`killed at ${(share * 100).toFixed(1)} %`);
    const startedMs = performance.now();
    this.#server = await startServer(this.#scope, { folder: this.#folder, args: this.#args });
    this.#startMs.push(performance.now() - startedMs);
  }

  /** Lets the buyers come to an end. */
  async finish(): Promise<Outcome> {
    const { exitCode, report } = await this.#player.ended();
    const { code } = await this.#server.kill("SIGTERM");
    if (code !== 0) this.#violations.push(`an orderly end exits with ${code}`);
    this.#ledger.readOn();
    this.#check("at the end");
    const { soldCount, baskets, answers } = this.#ledger.fold;
    if (exitCode !== 0) this.#violations.push(`the on-sale exits with ${exitCode}`);
    if (!report.soldOut) this.#violations.push("it is not sold out");
    if (soldCount !== this.#capacity) this.#violations.push(`${soldCount} are sold`);
    if (baskets.size > 0) this.#violations.push(`${baskets.size} baskets are left`);
    const { latency, outages, unknownOutcomes } = report;
    return {
      figures: {
        kills: this.#startMs.length,
        "operations acknowledged": answers,
        "outages that the buyers noticed": outages,
        "unknown outcomes that they resolved": unknownOutcomes,
        "seconds, with all kills": report.seconds.toFixed(1),
        "p99 of a lock": `${(report.isBest ? latency.best : latency.lock).p99Ms} ms`,
        "restart until ready": spreadMs(this.#startMs),
        lost: this.#violations.length,
      },
      violations: this.#violations,
    };
  }

  #check(when: string): void {
    const { fold } = this.#ledger;
    if (fold.acknowledged.lock === 0) this.#violations.push(`${when}: nothing is acknowledged`);
    const { state } = readFolder(this.#folder);
    const deviations = ledgerDeviations(fold, state, this.#player.eventId!);
    this.#violations.push(...deviations.map((line) => `${when}: ${line}`));
  }
}

interface Parts {
  readonly scope: Scope;
  readonly folder: string;
  readonly args: readonly string[];
  readonly player: Player;
  readonly ledger: LedgerReader;
  readonly capacity: number;
  readonly server: ServerProcess;
}
