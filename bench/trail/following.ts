/**
 * How fast the audit trail follows a log: it reads the segments, checks and decodes the records,
 * and commits their transitions to a new file, all on this thread.
 */
import { randomUUID } from "node:crypto";
import { rm, stat } from "node:fs/promises";
import path from "node:path";
import { AUDIT_FILE } from "../../persistence/audit/file.ts";
import { AuditKeeper } from "../../persistence/audit/keeper.ts";
import { readStore } from "../../persistence/disk/data-folder.ts";
import { realDisk } from "../../persistence/disk/disk.ts";
import { readSqlFile } from "../../persistence/disk/sqlite.ts";
import { readLog } from "../../persistence/log/read-log.ts";
import type { ChainMark } from "../../persistence/log/scan.ts";
import { openEngine } from "../../persistence/store/open-engine.ts";
import { durable, putOnSale } from "../in-process/bookings.ts";

/** Bookings that wait for the disk together. */
const PAIRS_PER_BATCH = 500;

export interface LogSize {
  readonly events: number;
  /** Of each event. */
  readonly seats: number;
  readonly records: number;
}

export interface Followed {
  readonly records: number;
  readonly transitions: number;
  readonly seconds: number;
  /** Processor time, of all threads of the process. */
  readonly cpuSeconds: number;
  /** Bytes of the file. */
  readonly bytes: number;
}

/** @returns The measures of each round. The first one is a warm-up and left out. */
export async function measureFollowing(
  folder: string,
  size: LogSize,
  rounds: number,
): Promise<Followed[]> {
  await fillLog(folder, size);
  const { storeId } = readStore(realDisk, folder);
  const { scan } = readLog({ disk: realDisk, folder, storeId, start: null, replay: () => {} });
  const measured: Followed[] = [];
  for (let round = 0; round <= rounds; round++) {
    measured.push(await follow(folder, storeId, scan.lastMark!));
  }
  return measured.slice(1);
}

/** Pairs of seats are locked, and unlocked or sold, each by a session of its own. */
async function fillLog(folder: string, { events, seats, records }: LogSize): Promise<void> {
  const store = await openEngine({ folder, snapshotBytes: Infinity });
  const { venue, eventIds } = await putOnSale(store, events, seats);
  const pairs = seats >> 1;
  for (let turn = 0; turn < records / 2; turn++) {
    const eventId = eventIds[turn % events]!;
    const round = Math.floor(turn / events);
    const isLast = turn + pairs * events >= records / 2;
    const sessionId = randomUUID();
    for (const kind of ["lock", isLast ? "sale" : "unlock"] as const) {
      const booking = venue.booking(kind, eventId, (round % pairs) * 2);
      venue.submit({ ...booking, body: { ...booking.body, sessionId } });
    }
    if (turn % PAIRS_PER_BATCH === 0) await durable(store);
  }
  await durable(store);
  await store.close();
}

async function follow(folder: string, storeId: string, mark: ChainMark): Promise<Followed> {
  const file = path.join(folder, AUDIT_FILE);
  const keeper = new AuditKeeper({
    disk: realDisk,
    folder,
    storeId,
    days: null,
    nowMs: () => Date.now(),
    onReport: (report) => {
      throw new Error(`the trail reports: ${JSON.stringify(report)}`);
    },
  });
  const [startMs, startCpu] = [performance.now(), process.cpuUsage()];
  keeper.follow(mark);
  const seconds = (performance.now() - startMs) / 1_000;
  const { user, system } = process.cpuUsage(startCpu);
  const records = keeper.sequence;
  keeper.close();
  const rows = readSqlFile(file, (sql) => sql.row("SELECT sum(rows) AS rows FROM blocks"));
  const { size: bytes } = await stat(file);
  for (const suffix of ["", "-wal", "-shm"]) await rm(file + suffix, { force: true });
  const transitions = Number(rows?.["rows"]);
  return { records, transitions, seconds, cpuSeconds: (user + system) / 1e6, bytes };
}
