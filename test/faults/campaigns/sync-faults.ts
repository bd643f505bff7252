/**
 * The k-th sync of the log fails, and every later one would succeed, as in a kernel. The process
 * must end at once and answer nothing more; the next start has every acknowledged change.
 */
import path from "node:path";
import { ledgerDeviations, LedgerFold } from "../../support/ledger-check.ts";
import { type Exit, sleep } from "../../support/server-process.ts";
import { type Campaign, inLanes, type Outcome, type Run, spreadMs } from "../campaign.ts";
import { Crowd } from "../support/crowd.ts";
import { hasStoreFile, readFolder } from "../support/folder-state.ts";
import { scoped, type Scope } from "../support/scope.ts";
import { createHouse, type House, spawnServer, startServer } from "../support/serving.ts";
import { missingShim, Shim } from "../support/shim.ts";

const LONG_CALLS = 200;
const SHORT_CALLS = 4;
const LINES = 32;
/** One after the other, so that no other process affects the time to the end. */
const LANES = 1;
const END_MS_MAX = 100;
/** The short form runs beside other tests. */
const END_MS_MAX_BUSY = 1_000;
/** Exit codes when the log has failed, and when it could not be started. */
const EXITS_SERVING = [70];
const EXITS_STARTING = [70, 74];
const WAIT_MS_MAX = 300_000;

export const syncFaults: Campaign = {
  name: "sync-faults",
  shows: `sync 1 to ${LONG_CALLS} fails: the process ends, and nothing of its batch is answered`,
  missing: missingShim,
  run,
};

interface Seen {
  readonly call: number;
  readonly acknowledged: number;
  /** Sends to clients: all of them, and those after the failed call. */
  readonly sent: number;
  readonly sentAfter: number;
  readonly endedAfterMs: number;
  readonly faults: readonly string[];
}

async function run({ isLong, seed, tell }: Run): Promise<Outcome> {
  const count = isLong ? LONG_CALLS : SHORT_CALLS;
  const numbers = Array.from({ length: count }, (_, i) => {
    return isLong || i === 0 ? i + 1 : 1 + ((seed * 7 + i * 37) % LONG_CALLS);
  });
  const seen: Seen[] = [];
  await inLanes(LANES, numbers, async (call) => {
    seen.push(await scoped((scope) => failAt(scope, call, seed)));
    tell(`${seen.length} of ${count} failed syncs`);
  });
  const endMsMax = isLong ? END_MS_MAX : END_MS_MAX_BUSY;
  const late = seen.filter(({ endedAfterMs }) => !(endedAfterMs < endMsMax));
  const sum = (of: (one: Seen) => number) => seen.reduce((total, one) => total + of(one), 0);
  return {
    figures: {
      "failed syncs": seen.length,
      "operations acknowledged before": sum(({ acknowledged }) => acknowledged),
      "answers sent before": sum(({ sent, sentAfter }) => sent - sentAfter),
      // Answers of the batch before, which is on disk; others would be missing at the restart.
      "answers sent after the failed call": sum(({ sentAfter }) => sentAfter),
      "from the failed call to the end": spreadMs(seen.map(({ endedAfterMs }) => endedAfterMs)),
      [`ends after more than ${endMsMax} ms`]: late.length,
      "lost, or ended otherwise": sum(({ faults }) => faults.length),
    },
    violations: [
      ...seen.flatMap(({ call, faults }) => faults.map((fault) => `call ${call}: ${fault}`)),
      ...late.map((one) => `call ${one.call}: it took ${one.endedAfterMs.toFixed(0)} ms`),
    ],
  };
}

async function failAt(scope: Scope, call: number, seed: number): Promise<Seen> {
  const folder = path.join(scope.folder(), "data");
  const shim = new Shim(scope, folder).set("failSyncAt", call);
  const server = spawnServer(scope, { folder, env: shim.env });
  const fold = new LedgerFold();
  const house = await Promise.race([prepared(), server.exited.then(() => null)]);
  async function prepared(): Promise<House | null> {
    try {
      await server.ready(false);
      return await createHouse(server);
    } catch {
      return null;
    }
  }
  const wasServing = server.url !== "";
  const failures: string[] = [];
  if (house !== null) {
    const crowd = new Crowd({ url: server.url, house, fold, seed: seed + call, lines: LINES });
    await Promise.race([Promise.all([server.exited, crowd.ended]), sleep(WAIT_MS_MAX)]);
    failures.push(...crowd.failures);
  }
  const exit = await Promise.race([server.exited, sleep(WAIT_MS_MAX)]);
  const { lock, unlock, sale } = fold.acknowledged;
  const faults = [...failures, ...faultsOfEnd(exit ?? null, shim, wasServing)];
  if (exit !== undefined) faults.push(...(await faultsOfRestart({ scope, folder, fold, house })));
  return {
    call,
    acknowledged: lock + unlock + sale,
    sent: shim.get("sent"),
    sentAfter: shim.get("sentAfter"),
    endedAfterMs: shim.endedAfterMs,
    faults,
  };
}

function faultsOfEnd(exit: Exit | null, shim: Shim, wasServing: boolean): string[] {
  if (shim.get("failedAtNs") === 0) return ["no sync failed"];
  if (exit === null) return ["the process did not end"];
  const allowed = wasServing ? EXITS_SERVING : EXITS_STARTING;
  const isAllowed = allowed.includes(exit.code ?? -1);
  return isAllowed ? [] : [`exit code ${exit.code}, signal ${exit.signal}`];
}

interface Left {
  readonly scope: Scope;
  readonly folder: string;
  readonly fold: LedgerFold;
  readonly house: House | null;
}

async function faultsOfRestart({ scope, folder, fold, house }: Left): Promise<readonly string[]> {
  if (house !== null) {
    const lost = ledgerDeviations(fold, readFolder(folder).state, house.eventId);
    if (lost.length > 0) return lost;
  }
  const server = await startServer(scope, { folder });
  const { code } = await server.kill("SIGTERM");
  if (code !== 0) return [`the next process exits with ${code}`];
  if (!hasStoreFile(folder)) return ["the next process made no store"];
  return house === null ? [] : ledgerDeviations(fold, readFolder(folder).state, house.eventId);
}
