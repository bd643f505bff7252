/**
 * What the audit trail and the rest of the log still know of the records that a repair loses:
 * counted for people, and exported as lines of JSON, so that the bookings can be made again.
 */
import { basename, dirname } from "node:path";
import { STATE_NAMES } from "../../engine/inventory/states.ts";
import {
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type Transition,
  type TransitionPage,
  type TransitionQuery,
} from "../../engine/queries/audit-trail.ts";
import { ACTOR_NAMES, AUDIT_FILE, readAuditFile } from "../audit/file.ts";
import { AuditReader } from "../audit/reading/reader.ts";
import { type Disk, namesIn, type ReadDisk } from "../disk/disk.ts";
import { only } from "../disk/faults.ts";
import { SqlFault } from "../disk/sqlite.ts";
import { createFileNow } from "../disk/transfer.ts";
import { findSegments } from "../log/read-log.ts";
import { segmentName } from "../log/segment-header.ts";
import { findSnapshots } from "../snapshot/file.ts";
import { readLost } from "./later-frames.ts";
import { RecordViewer } from "./record-view.ts";
import { bytesOf } from "./repair-from-snapshot.ts";
import type { RepairPlan } from "./repair-plan.ts";
import { misnamedSegments, rebuild, type SurveyOptions, without } from "./survey.ts";

/** What the trail has of the lost records. */
export interface KnownLoss {
  /** Transitions by event id; events without any are left out. */
  readonly byEvent: ReadonlyMap<string, number>;
  readonly total: number;
  /** Times of the first and the last one, in milliseconds since 1970; null when there is none. */
  readonly times: { readonly fromMs: number; readonly toMs: number } | null;
}

export interface Exported {
  readonly path: string;
  readonly transitions: number;
  /** Records that only the log has. */
  readonly records: number;
}

/** Records that are read from the trail at once, and transitions of them. */
const WINDOW = 5_000;
const PAGE = 10_000;
const LINES_PER_WRITE = 1_000;
const NEWEST_FIRST = [{ property: "sequence", descending: true }] as const;

/** @returns null without a trail that can be read. Cost: O(lost transitions). */
export function knownLoss(options: SurveyOptions, plan: RepairPlan): KnownLoss | null {
  return withTrail(options, (trail) => {
    if (trail === null) return null;
    const byEvent = new Map<string, number>();
    let [total, fromMs, toMs] = [0, Infinity, 0];
    const range = { fromSequence: plan.sequence + 1, toSequence: trail.lastSequence };
    for (const eventId of plan.lost.eventIds) {
      const first = trail.page(eventId, { ...range, sort: [], offset: 0, limit: 1 });
      if (first.total === 0) continue;
      const last = trail.page(eventId, { ...range, sort: NEWEST_FIRST, offset: 0, limit: 1 });
      byEvent.set(eventId, first.total);
      total += first.total;
      fromMs = Math.min(fromMs, first.transitions[0]!.timeMs);
      toMs = Math.max(toMs, last.transitions[0]!.timeMs);
    }
    return { byEvent, total, times: total === 0 ? null : { fromMs, toMs } };
  });
}

/**
 * Writes the lost transitions of the trail, and the readable lost records that it does not have, as
 * a new file, which is private to this user and on disk when this returns.
 * @param path - Of the file.
 */
export function exportLoss(
  options: SurveyOptions & { readonly disk: Disk },
  plan: RepairPlan,
  path: string,
): Exported {
  let counts = { transitions: 0, records: 0 };
  function* lines(trail: Trail | null): Generator<string> {
    counts = { transitions: 0, records: 0 };
    for (const line of trail === null ? [] : transitionsOf(trail, plan)) {
      counts.transitions += 1;
      yield line;
    }
    for (const line of recordsAfter(options, plan, trail?.lastSequence ?? 0)) {
      counts.records += 1;
      yield line;
    }
  }
  const { disk } = options;
  const folder = dirname(path);
  withTrail(options, (trail) => {
    // What was written before the trail turned out to be damaged.
    if (namesIn(disk, folder).includes(basename(path))) disk.removeNow(path);
    createFileNow(disk, path, chunksOf(lines(trail)));
  });
  disk.syncFolderNow(folder);
  return { path, ...counts };
}

function* transitionsOf(trail: Trail, { sequence, lost }: RepairPlan): Generator<string> {
  const last = trail.lastSequence;
  for (let fromSequence = sequence + 1; fromSequence <= last; fromSequence += WINDOW) {
    const toSequence = Math.min(last, fromSequence + WINDOW - 1);
    for (const eventId of lost.eventIds) {
      for (let [offset, total] = [0, 1]; offset < total; offset += PAGE) {
        const page = { fromSequence, toSequence, sort: [], offset, limit: PAGE };
        const { transitions, total: found } = trail.page(eventId, page);
        total = found;
        for (const one of transitions) yield JSON.stringify(viewOf(eventId, one));
      }
    }
  }
}

function viewOf(eventId: string, transition: Transition): object {
  const { timeMs, actor, placeId, isArea, from, to, ...rest } = transition;
  return {
    source: "trail",
    eventId,
    time: new Date(timeMs).toISOString(),
    actor: { kind: ACTOR_NAMES[actor.kind], id: actor.id },
    ...(isArea ? { areaId: placeId } : { seatId: placeId }),
    from: from === null ? null : STATE_NAMES[from],
    to: to === null ? null : STATE_NAMES[to],
    ...rest,
  };
}

/** Views of the readable lost records after `sequence`, from all segments. */
function* recordsAfter(
  options: SurveyOptions,
  plan: RepairPlan,
  sequence: number,
): Generator<string> {
  const { folder } = options;
  const disk = without(options.disk, misnamedSegments(options.disk, folder));
  const newest = findSnapshots(disk, folder).find((name) => !plan.snapshots.includes(name));
  // The names of seats and events before the first lost record.
  const { state } = rebuild({ ...options, disk }, plan.restart?.base ?? newest ?? null);
  const viewer = new RecordViewer(state);
  for (const place of findSegments(disk, folder)) {
    const segment = { name: segmentName(place), place, isIntact: false };
    const views: string[] = [];
    readLost(bytesOf(options, segment), 0, (record, number, timeMs) => {
      if (number <= Math.max(sequence, plan.sequence)) return;
      const step = { state, sequence: number, timeMs, record, isExact: false };
      views.push(JSON.stringify({ source: "log", ...viewer.view(step, {}) }));
    });
    yield* views;
  }
}

interface Trail {
  /** The last record that the trail has. */
  readonly lastSequence: number;
  readonly page: (eventId: string, query: TransitionQuery) => TransitionPage;
}

/** @param use - Gets null when there is no trail, or none that can be read. */
function withTrail<T>(
  { disk, folder, storeId }: SurveyOptions,
  use: (trail: Trail | null) => T,
): T {
  if (!isReadable(disk, folder)) return use(null);
  // The outer connection removes the files that SQLite keeps beside.
  return readAuditFile(disk, folder, () => {
    let outcome: AuditOutcome<unknown> = NO_ANSWER;
    const reader = new AuditReader({
      folder,
      storeId,
      send: (message) => {
        if (message.kind === "answer") outcome = message.outcome;
      },
    });
    const ask = (question: AuditQuestion): AuditOutcome<unknown> => {
      reader.ask({ kind: "ask", id: 0, asker: "repair", question, opened: 1 });
      for (let isWaiting = true; isWaiting;) isWaiting = reader.step();
      return outcome;
    };
    try {
      const { extent } = ask({ about: "owner", eventId: "" });
      if (extent === null) return use(null);
      const page: Trail["page"] = (eventId, query) => {
        const answer = ask({ about: "transitions", eventId, query });
        if (answer.gap === AuditGap.UNAVAILABLE) throw new TrailUnreadable();
        return answer.gap === null ? (answer.value as TransitionPage) : NO_TRANSITIONS;
      };
      return use({ lastSequence: extent.lastSequence, page });
    } catch (error) {
      if (!(error instanceof TrailUnreadable)) throw error;
      return use(null);
    } finally {
      reader.close();
    }
  });
}

/** The trail is damaged where its transitions are. */
class TrailUnreadable extends Error {}

const NO_ANSWER = { gap: AuditGap.UNAVAILABLE, extent: null };
const NO_TRANSITIONS: TransitionPage = { transitions: [], total: 0 };

function isReadable(disk: ReadDisk, folder: string): boolean {
  if (!namesIn(disk, folder).includes(AUDIT_FILE)) return false;
  try {
    readAuditFile(disk, folder, (sql) => sql.row("SELECT 1 FROM sqlite_schema"));
    return true;
  } catch (error) {
    only(error, SqlFault);
    return false;
  }
}

function* chunksOf(lines: Iterable<string>): Generator<Buffer> {
  let text = "";
  let count = 0;
  for (const line of lines) {
    text += `${line}\n`;
    count += 1;
    if (count % LINES_PER_WRITE !== 0) continue;
    yield Buffer.from(text);
    text = "";
  }
  yield Buffer.from(text);
}
