/**
 * The end of the process at every single call that changes the folder, in the life of a store:
 * first start, recovery, commits, segment changes, snapshots in their thread, pruning, an end in
 * order. Each write is also done by half. After each end the folder is held against what was said
 * to be durable; then the next life must go on from there, to the end.
 */
import fs from "node:fs";
import path from "node:path";
import { type Campaign, inLanes, type Outcome, type Run } from "../campaign.ts";
import { liveAndDie, NEVER } from "../support/corpus.ts";
import { faultOf, FiledHistory, Life, type LifePlan } from "../support/lives.ts";
import { type Scope, scoped } from "../support/scope.ts";
import { missingShim, Shim } from "../support/shim.ts";

const SHORT_POINTS = 5;
const LANES = 2;
/** Records of a life: enough for some segments and two snapshots. */
const LIFE_RECORDS = 220;
const SNAPSHOT_RECORDS = 60;

export const systemCalls: Campaign = {
  name: "system-calls",
  shows: "death at every call that changes the folder, also in the middle of each write",
  missing: missingShim,
  run,
};

/** Initial folder of a life. */
interface Beginning {
  readonly name: string;
  /** Copied for each life; null for none at all. */
  readonly folder: string | null;
  readonly until: number;
}

interface Point {
  readonly beginning: Beginning;
  readonly killAt: number;
  readonly isTorn: boolean;
}

async function run({ isLong, seed, scope, tell }: Run): Promise<Outcome> {
  const history = new FiledHistory(scope, seed, 2 * LIFE_RECORDS);
  const killed = await killedFolder(scope, history);
  const beginnings: readonly Beginning[] = [
    { name: "first start", folder: null, until: LIFE_RECORDS },
    { name: "after a kill", folder: killed, until: 2 * LIFE_RECORDS },
  ];
  const points: Point[] = [];
  const figures: Record<string, number> = {};
  for (const beginning of beginnings) {
    const count = await callsOf(history, beginning);
    figures[`calls of a life, ${beginning.name}`] = count;
    points.push(...pointsOf(beginning, { count, isLong, seed }));
  }
  const violations: string[] = [];
  const calls = new Map<string, number>();
  let done = 0;
  await inLanes(LANES, points, async (point) => {
    const { fault, call } = await dieAt(history, point);
    const { beginning, killAt, isTorn } = point;
    const where = `${beginning.name}, call ${killAt}${isTorn ? " by half" : ""} (${call})`;
    if (fault !== null) violations.push(`${where}: ${fault}`);
    const kind = kindOf(call);
    calls.set(kind, (calls.get(kind) ?? 0) + 1);
    done += 1;
    tell(`${done} of ${points.length} deaths`);
  });
  const kinds = [...calls].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    figures: {
      ...figures,
      deaths: points.length,
      ...Object.fromEntries(kinds.map(([kind, count]) => [`  before ${kind}`, count])),
      "lost or half": violations.length,
    },
    violations,
  };
}

/** A folder with two snapshots and a log, whose process was killed in the middle of a commit. */
async function killedFolder(scope: Scope, history: FiledHistory): Promise<string> {
  const folder = path.join(scope.folder(), "data");
  await liveAndDie(scope, history, { folder, until: LIFE_RECORDS });
  return folder;
}

/** Number of calls of an undisturbed life. */
function callsOf(history: FiledHistory, beginning: Beginning): Promise<number> {
  return scoped(async (scope) => {
    const { shim, life } = begin(scope, history, beginning);
    const { code } = await life.exited;
    if (code !== 0) throw new Error(`an undisturbed life exits with ${code}: ${life.stderr}`);
    return shim.get("changes");
  });
}

/** Every call, once before it and once by half; in the short form a few, from all over. */
function pointsOf(
  beginning: Beginning,
  { count, isLong, seed }: { count: number; isLong: boolean; seed: number },
): Point[] {
  const stride = isLong ? 1 : count / SHORT_POINTS;
  const offset = isLong ? 0 : (seed % 97) / 97;
  const points: Point[] = [];
  for (let at = 1 + offset * (stride - 1); at <= count; at += stride) {
    const killAt = Math.floor(at);
    const isTorn = !isLong && points.length % 2 === 1;
    points.push({ beginning, killAt, isTorn });
    if (isLong) points.push({ beginning, killAt, isTorn: true });
  }
  return points;
}

/** @returns What is wrong with what is left; null when nothing is. */
function dieAt(
  history: FiledHistory,
  point: Point,
): Promise<{ fault: string | null; call: string }> {
  return scoped(async (scope) => {
    const { shim, life, plan } = begin(scope, history, point.beginning, point);
    const { signal, code } = await life.exited;
    const call = shim.last;
    // The count of calls varies a little from life to life: the last point may lie behind the end.
    if (signal !== "SIGKILL" && code !== 0) {
      return { fault: `exit ${code} ${signal}: ${life.stderr}`, call };
    }
    const fault = faultOf(plan.folder, history, life.acknowledged);
    if (fault !== null) return { fault, call };
    const next = new Life(scope, history, plan);
    const end = await next.exited;
    if (end.code !== 0)
      return { fault: `the next life exits with ${end.code}: ${next.stderr}`, call };
    return { fault: faultOf(plan.folder, history, plan.until), call };
  });
}

interface Begun {
  readonly shim: Shim;
  readonly life: Life;
  readonly plan: LifePlan;
}

function begin(
  scope: Scope,
  history: FiledHistory,
  { folder: source, until }: Beginning,
  point?: Point,
): Begun {
  const folder = path.join(scope.folder(), "data");
  if (source !== null) fs.cpSync(source, folder, { recursive: true });
  const shim = new Shim(scope, folder);
  shim.set("killAt", point?.killAt ?? 0).set("isTorn", point?.isTorn === true ? 1 : 0);
  const plan = { folder, until, snapshotBytes: NEVER, snapshotRecords: SNAPSHOT_RECORDS };
  const life = new Life(scope, history, { ...plan, env: shim.env });
  return { shim, life, plan };
}

/** `write wal/segment` from `write /wal/0000000000000001-0000000000000001.log`. */
function kindOf(call: string): string {
  if (call === "") return "its end in order";
  return call
    .replace(" /", " ")
    .replace(/[0-9a-f]{16}-[0-9a-f]{16}\.log/, "segment")
    .replace(/[0-9a-f]{16}\.sqlite/, "snapshot")
    .replace(/(spare|epoch)-\d+\.tmp/, "$1");
}
