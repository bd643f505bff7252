/**
 * No space: a small file system fills up, and a limit on the size of files makes a write short.
 * Changes are refused before anything of them is applied, reads are answered, and once there is
 * space again, changes are accepted without intervention.
 */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import {
  FRAME_HEADER_BYTES,
  LOG_FOLDER,
  padToSector,
  SECTOR_BYTES,
} from "../../../persistence/log/frame.ts";
import { SEGMENT_SUFFIX } from "../../../persistence/log/log-reader.ts";
import { SmallDisk } from "../../support/disk/small-disk.ts";
import { ledgerDeviations, LedgerFold } from "../../support/ledger-check.ts";
import { missingPrograms, missingRoot } from "../../support/programs.ts";
import { type ServerProcess, sleep } from "../../support/server-process.ts";
import { type Campaign, type Outcome, type Run } from "../campaign.ts";
import { Crowd } from "../support/crowd.ts";
import { readFolder } from "../support/folder-state.ts";
import { faultOf, FiledHistory, Life, SMALL_SEGMENT_BYTES } from "../support/lives.ts";
import { type Scope, scoped } from "../support/scope.ts";
import { createHouse, type House, sizedPlan, startServer } from "../support/serving.ts";

const LINES = 8;
/** Enough to fill the small disk many times over. */
const RECORDS = 800;
const MEBIBYTE = 1024 * 1024;
/** Enough for two segments of 64 MiB and the other files, but not for a third segment. */
const SMALL_MIB = 140;
const LARGE_MIB = 400;
/** About 150 KB as a row, and again as the stored answer of its idempotency key. */
const FILLER_SEATS = 1_500;
const FILLERS_MAX = 2_000;
const WATCH_MS = 500;
const RESUME_MS_MAX = 10_000;
const READ_MS_MAX = 1_000;
const UNAVAILABLE = 503;

export const fullDisk: Campaign = {
  name: "full-disk",
  shows:
    "no space and short writes: changes are refused before they are applied, and nothing is lost",
  missing: () => missingRoot() ?? missingPrograms("mount", "prlimit"),
  run,
};

async function run({ isLong, seed, scope, tell }: Run): Promise<Outcome> {
  const history = new FiledHistory(scope, seed, RECORDS);
  const violations: string[] = [];
  const figures: Record<string, string | number> = {};
  const parts = {
    "log, small segments": () => scoped((inner) => fillSmall(inner, history)),
    snapshot: () => scoped((inner) => refuseSnapshot(inner, history)),
    "server, short writes": () => scoped((inner) => fallShort(inner, seed)),
    "server, full": () => scoped((inner) => fillServer(inner, seed, tell)),
  };
  for (const [name, part] of Object.entries(parts)) {
    if (name === "server, full" && !isLong) continue;
    tell(name);
    const outcome = await part();
    for (const [label, value] of Object.entries(outcome.figures)) {
      figures[`${name}: ${label}`] = value;
    }
    violations.push(...outcome.violations.map((line) => `${name}: ${line}`));
  }
  return { figures, violations };
}

/** A log fills its file system, and goes on after its growth. */
async function fillSmall(scope: Scope, history: FiledHistory): Promise<Outcome> {
  const disk = smallDisk(scope, "160k");
  const folder = path.join(disk.path, "data");
  const plan = { folder, until: history.length, snapshotBytes: 64 * MEBIBYTE, stays: true };
  const life = new Life(scope, history, plan);
  await fullAndRefused(life, disk, folder);
  const { acknowledged } = life;
  await sleep(WATCH_MS);
  const violations: string[] = [];
  if (life.acknowledged !== acknowledged) violations.push("it went on without space");
  disk.resize("8m");
  await said(life, "waiting");
  await life.kill("SIGKILL");
  const fault = faultOf(folder, history, life.acknowledged);
  if (fault !== null) violations.push(fault);
  return {
    figures: { "durable when refused": acknowledged, "durable in the end": life.acknowledged },
    violations,
  };
}

/** The first refusal may be for a moment, while there is still room for the log's next file. */
async function fullAndRefused(life: Life, disk: SmallDisk, folder: string): Promise<void> {
  await said(life, "refused");
  let isFull = false;
  while (!isFull || life.lines.at(-1) !== "refused") {
    const hasRoom = disk.freeBytes >= SMALL_SEGMENT_BYTES;
    const hasSpare = fs
      .readdirSync(path.join(folder, LOG_FOLDER))
      .some((name) => !name.endsWith(SEGMENT_SUFFIX));
    isFull = !hasRoom && !hasSpare;
    // Output in between is heard.
    await going(life);
  }
}

/** A snapshot that has no room loses nothing, and comes by itself when there is some. */
async function refuseSnapshot(scope: Scope, history: FiledHistory): Promise<Outcome> {
  const disk = smallDisk(scope, "8m");
  const folder = path.join(disk.path, "data");
  const first = new Life(scope, history, { folder, until: 300, snapshotBytes: MEBIBYTE });
  await first.exited;
  // Room for a segment and its spare, not for a snapshot beside the one that is there.
  disk.resize(`${Math.ceil(disk.usedBytes / 1024) + (4 * SMALL_SEGMENT_BYTES) / 1024}k`);
  const plan = { folder, until: 600, stays: true, snapshotBytes: SMALL_SEGMENT_BYTES / 2 };
  const life = new Life(scope, history, plan);
  await said(life, "no snapshot: ");
  disk.resize("8m");
  await said(life, "waiting");
  const before = life.lines.length;
  while (!life.lines.slice(before).includes("snapshot")) await going(life);
  await life.kill("SIGKILL");
  const fault = faultOf(folder, history, life.acknowledged);
  const failed = life.lines.filter((line) => line.startsWith("no snapshot: "));
  return {
    figures: {
      "failed first": failed.length,
      reason: failed[0]!,
      "durable in the end": life.acknowledged,
    },
    violations: fault === null ? [] : [fault],
  };
}

/** The real program, whose file system fills up under load. */
async function fillServer(scope: Scope, seed: number, tell: Run["tell"]): Promise<Outcome> {
  const disk = smallDisk(scope, `${SMALL_MIB}m`);
  const folder = path.join(disk.path, "data");
  const server = await startServer(scope, { folder });
  const house = await createHouse(server);
  const fold = new LedgerFold();
  const crowd = new Crowd({ url: server.url, house, fold, seed, lines: LINES });
  const fillers = await fill(server, house, (count) => tell(`server, full: ${count} layouts put`));
  await sleep(WATCH_MS);
  const acknowledged = fold.answers;
  const refused = crowd.answersOf(UNAVAILABLE);
  const readMs = await timed(() => server.request("GET", seatsOf(house), undefined, house.key));
  await sleep(WATCH_MS);
  const violations: string[] = [];
  if (fold.answers > acknowledged) violations.push("changes were made without space");
  if (crowd.answersOf(UNAVAILABLE) === refused) violations.push("nothing was refused with 503");
  if (readMs > READ_MS_MAX) violations.push(`a read took ${readMs.toFixed(0)} ms`);
  disk.resize(`${LARGE_MIB}m`);
  const resumedMs = await timed(async () => {
    const endMs = performance.now() + RESUME_MS_MAX;
    while (fold.answers === acknowledged && performance.now() < endMs) await sleep(20);
  });
  if (fold.answers === acknowledged) violations.push("changes did not go on");
  await sleep(WATCH_MS);
  await server.kill("SIGKILL");
  await crowd.ended;
  violations.push(
    ...crowd.failures,
    ...ledgerDeviations(fold, readFolder(folder).state, house.eventId),
  );
  return {
    figures: {
      "layouts put until full": fillers,
      "acknowledged before": acknowledged,
      "refused with 503": crowd.answersOf(UNAVAILABLE),
      "a read meanwhile": `${readMs.toFixed(0)} ms`,
      "space to the next change": `${resumedMs.toFixed(0)} ms`,
      "acknowledged in the end": fold.answers,
    },
    violations,
  };
}

/** Puts layouts until one is refused for lack of space. @returns How many were put. */
async function fill(
  server: ServerProcess,
  house: House,
  told: (count: number) => void,
): Promise<number> {
  const v2 = "/api/private/v2.0";
  const venue = await idOf(server.request("POST", `${v2}/venues/`, { name: "Fill" }, house.key));
  const plan = { name: "Fill", venueId: venue };
  const schema = await idOf(server.request("POST", `${v2}/schemas/`, plan, house.key));
  const layout = sizedPlan(FILLER_SEATS);
  for (let count = 0; count < FILLERS_MAX; count++) {
    const target = `${v2}/schemas/${schema}/layout`;
    const who = { "X-API-Key": house.key, "Idempotency-Key": `filler-${count}` };
    const { status } = await server.request("PUT", target, layout, who);
    if (status === UNAVAILABLE) return count;
    if (status !== 200) throw new Error(`a layout was answered with ${status}`);
    told(count);
  }
  throw new Error("the file system does not fill");
}

async function idOf(asked: Promise<Response>): Promise<number> {
  return ((await (await asked).json()) as { id: number }).id;
}

/** The real program, with a limit on file sizes that a write to its segment crosses. */
async function fallShort(scope: Scope, seed: number): Promise<Outcome> {
  const folder = path.join(scope.folder(), "data");
  const server = await startServer(scope, { folder });
  const house = await createHouse(server);
  const fold = new LedgerFold();
  const crowd = new Crowd({ url: server.url, house, fold, seed, lines: LINES });
  await crowd.answered(50);
  // Only a little more than the header of a frame fits before the limit.
  const limit = usedBytes(folder) + 20 * SECTOR_BYTES + FRAME_HEADER_BYTES + (seed % 32);
  const { status, stderr } = spawnSync(
    "prlimit",
    ["--pid", String(server.pid), `--fsize=${limit}:${limit}`],
    { encoding: "utf8" },
  );
  if (status !== 0) throw new Error(stderr);
  const exit = await server.exited;
  await crowd.ended;
  const violations: string[] = [...crowd.failures];
  if (exit.code !== 70) violations.push(`exit code ${exit.code}, signal ${exit.signal}`);
  const check = () => ledgerDeviations(fold, readFolder(folder).state, house.eventId);
  violations.push(...check());
  const next = await startServer(scope, { folder });
  const recovered = next.logLines.find(({ msg }) => msg === "recovered");
  const { code } = await next.kill("SIGTERM");
  if (code !== 0) violations.push(`the next process exits with ${code}`);
  violations.push(...check());
  const { fatal = "nothing" } = { fatal: server.stderr.match(/cannot write[^;"]*/)?.[0] };
  return {
    figures: {
      acknowledged: fold.answers,
      "torn bytes cut": Number(recovered?.["tornBytes"]),
      said: fatal.replace(folder, "…"),
    },
    violations,
  };
}

/** The used bytes of the newest segment, in whole sectors. */
function usedBytes(folder: string): number {
  const wal = path.join(folder, "wal");
  const newest = fs
    .readdirSync(wal)
    .filter((name) => name.endsWith(".log"))
    .toSorted()
    .at(-1)!;
  const bytes = fs.readFileSync(path.join(wal, newest));
  return padToSector(bytes.findLastIndex((byte) => byte !== 0) + 1);
}

const seatsOf = ({ eventId }: House) => `/api/private/v2.0/events/${eventId}/seats/?size=100`;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

async function said(life: Life, start: string): Promise<void> {
  while (!life.lines.some((line) => line.startsWith(start))) await going(life);
}

/** Waits a little. @throws Error when the life has ended meanwhile. */
async function going(life: Life): Promise<void> {
  const ended = await Promise.race([life.exited, sleep(5)]);
  if (ended !== undefined) throw new Error(`it ended with ${ended.code}: ${life.stderr}`);
}

function smallDisk(scope: Scope, size: string): SmallDisk {
  const disk = new SmallDisk(scope.folder(), size);
  scope.defer(() => disk.unmount());
  return disk;
}
