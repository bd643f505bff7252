/** `frontrow verify`. */
import { drain } from "../../engine/inventory/steps.ts";
import type { IncomingMessage } from "node:http";
import path from "node:path";
import { text as textOfStream } from "node:stream/consumers";
import { visible } from "../../engine/names.ts";
import { STATE_NAMES } from "../../engine/inventory/states.ts";
import { ACTOR_NAMES, AUDIT_FILE } from "../../persistence/history/archive.ts";
import { type OpenHistory, readHistory } from "../../persistence/history/keeper.ts";
import { WEBHOOKS_FILE } from "../../persistence/deliveries.ts";
import { ensureStore, readStore, shareFolder } from "../../persistence/disk/data-folder.ts";
import { realDisk } from "../../persistence/disk/disk.ts";
import {
  DiskFault,
  ExitCode,
  FolderRefused,
  LogCorrupt,
  Malformed,
  only,
} from "../../persistence/disk/faults.ts";
import { SqlFault } from "../../persistence/disk/sqlite.ts";
import { readFileNow } from "../../persistence/disk/transfer.ts";
import {
  backupFolder,
  type Copied,
  type CopyOptions,
  restoreFolder,
} from "../../persistence/rescue/copy-store.ts";
import {
  type ChainAt,
  type Chains,
  chainsOf,
  compareChains,
  firstEnd,
  inspectFolder,
} from "../../persistence/rescue/inspect.ts";
import { ArrivingCopy } from "../../persistence/rescue/join.ts";
import type { LogRestart, Lost, RepairPlan } from "../../persistence/rescue/repair-plan.ts";
import {
  exportPathOf,
  type KnownLoss,
  losesRecords,
  type Preview,
  previewRepair,
  repairFolder,
} from "../../persistence/rescue/repair.ts";
import { type OnWork, textOf } from "../../persistence/rescue/survey.ts";
import { type Verified, verifyFolder } from "../../persistence/rescue/verify.ts";
import { COPY_PATH, COPY_PROTOCOL } from "../cluster/copies.ts";
import { NodeSocket, SILENT_MS_MAX } from "../client/node-socket.ts";
import { Progress } from "../observe/progress.ts";
import { UsageError } from "../program.ts";

/** @returns The exit code. @throws StoreFault. */
export function verify(given: string): number {
  const folder = path.resolve(given);
  const release = shareFolder(realDisk, folder);
  try {
    const verified = withProgress((onWork) => verifyFolder({ disk: realDisk, folder, onWork }));
    for (const finding of verified.findings) say(`damaged: ${textOf(finding)}`);
    describe(verified);
    if (verified.findings.length === 0) {
      say("all is well");
      return Exit.DONE;
    }
    const areOnly = (names: readonly string[]) =>
      verified.findings.every((one) => names.includes(path.basename(one.path)));
    say(
      `${count(verified.findings.length, "finding")}, nothing was changed: ` +
        (areOnly([AUDIT_FILE])
          ? "the next start keeps what is sound of the audit trail, or rebuilds an unreadable one"
          : areOnly([AUDIT_FILE, WEBHOOKS_FILE])
            ? "the next start keeps or rebuilds the trail, and sets damaged deliveries aside"
            : `frontrow repair ${given} shows what can be recovered`),
    );
    return Exit.DAMAGED;
  } finally {
    release();
  }
}

/** Prints what the folder contains. */
export function describe(verified: Verified): void {
  const { storeId, segments, snapshots, firstSequence, sequence, events, notes } = verified;
  const files = `${count(segments, "segment")}, ${count(snapshots, "good snapshot")}`;
  say(`store ${storeId}: ${files}`);
  if (verified.digest !== null) {
    say(
      `records up to ${sequence}, log from record ${firstSequence}; ${count(events, "event")}`,
      `state ${verified.digest}, identical for every way of recovery`,
    );
  }
  for (const note of notes) say(`note: ${note}`);
}

// `frontrow inspect`.

export interface InspectFlags {
  readonly from: number;
  readonly to?: number;
  readonly event?: string;
  readonly seat?: number;
}

/** @returns The exit code. @throws StoreFault, UsageError. */
export function inspect(folder: string, { from, to, event, seat }: InspectFlags): number {
  if (to !== undefined && to < from) throw new UsageError(`--to ${to} is before --from ${from}`);
  const output = new Output();
  const options = { from, to: to ?? Infinity, eventId: event, seatId: seat };
  const emit = (record: object) => output.line(JSON.stringify(record));
  try {
    const { firstSequence } = withProgress((onWork) =>
      inspectFolder({ disk: realDisk, folder: path.resolve(folder), ...options, emit, onWork }),
    );
    if (output.isOpen && Math.max(from, 1) < firstSequence) {
      process.stderr.write(`the log starts with record ${firstSequence}\n`);
    }
    return Exit.DONE;
  } finally {
    // Also after damage: the records before it are shown.
    output.flush();
  }
}

// `frontrow history`.

export interface HistoryFlags {
  readonly event?: string;
}

/** @returns The exit code. @throws StoreFault. */
export function history(given: string, { event }: HistoryFlags): number {
  const folder = path.resolve(given);
  ensureStore(realDisk, folder);
  const { storeId } = readStore(realDisk, folder);
  const output = new Output();
  let opened: OpenHistory | null = null;
  try {
    opened = readHistory({ disk: realDisk, folder, storeId });
    for (const entry of entriesOf(opened, event)) {
      if (!output.line(JSON.stringify(entry))) break;
    }
    return Exit.DONE;
  } catch (error) {
    only(error, SqlFault, Malformed, LogCorrupt);
    const reason = `its history cannot be read: ${error.message}`;
    throw new FolderRefused(folder, reason, ExitCode.CONFIGURATION, error);
  } finally {
    opened?.close();
    // Also after damage: the transitions before it are shown.
    output.flush();
  }
}

/** Events in the order of their creation, each with its transitions in order. */
function* entriesOf({ histories }: OpenHistory, eventId?: string): Generator<object> {
  for (const event of histories.allEvents()) {
    if (eventId !== undefined && event.eventId !== eventId) continue;
    for (const span of histories.spansOf(event)) {
      const block = drain(histories.block(event, span));
      for (let record = 0, row = 0; record < block.recordCount; record++) {
        for (; row < block.rowsFrom(record + 1); row++) {
          const { timeMs, actor, isArea: _, from, to, ...rest } = block.transition(record, row);
          yield {
            eventId: event.eventId,
            ...rest,
            // In UTC.
            time: new Date(timeMs).toISOString().slice(0, -1),
            actor: ACTOR_NAMES[actor.kind],
            actorId: actor.id,
            fromState: from === null ? null : STATE_NAMES[from],
            toState: to === null ? null : STATE_NAMES[to],
          };
        }
      }
    }
  }
}

// `frontrow compare`: whether the log of one host of a cluster is the beginning of another's.

/**
 * @param other - A data folder, or a file with what `compare` printed for one; undefined to print.
 * @returns The exit code. @throws StoreFault.
 */
export function compare(folder: string, other: string | undefined): number {
  const own = chainsAt(path.resolve(folder));
  if (other === undefined) {
    say(JSON.stringify(own()));
    return Exit.DONE;
  }
  const place = path.resolve(other);
  const printed = () => JSON.parse(readFileNow(realDisk, place).toString("utf8")) as Chains;
  const theirs = isFolder(place) ? chainsAt(place) : printed;
  return judge(own, theirs);
}

/** @param wholeSegment - As for `chainsOf`; a file has the newest segments alone. */
type ReadChains = (wholeSegment?: number) => Chains;

function chainsAt(folder: string): ReadChains {
  return (wholeSegment) => chainsOf(realDisk, folder, wholeSegment);
}

function isFolder(place: string): boolean {
  try {
    return realDisk.listNow(place) !== null;
  } catch (error) {
    // It is a file.
    only(error, DiskFault);
    return false;
  }
}

function judge(readOwn: ReadChains, readTheirs: ReadChains): number {
  let [own, theirs] = [readOwn(), readTheirs()];
  const ends = [own, theirs].map(({ chains }) => chains.at(-1)?.sequence ?? 0);
  say(`the first log ends with record ${ends[0]}, the second with record ${ends[1]}`);
  if (own.storeId !== theirs.storeId) {
    say(`they are different stores: ${own.storeId} and ${theirs.storeId}`);
    return Exit.DAMAGED;
  }
  const end = firstEnd(own, theirs);
  // The longer log may have gone on by many segments.
  if (!compareChains(own, theirs).isPrefix) {
    [own, theirs] = [readOwn(end.segment), readTheirs(end.segment)];
  }
  const { same, different, isPrefix } = compareChains(own, theirs);
  if (same !== null) say(`they are the same up to record ${same.sequence}`);
  if (isPrefix) return Exit.DONE;
  const at = ({ segment, offset, sequence }: ChainAt) =>
    `record ${sequence}, segment ${segment}, byte ${offset}`;
  if (different !== null) say(`they differ at ${at(different)}`);
  else say(`one log ends at ${at(end)}; the other is not known to go on from there`);
  say("so neither is the beginning of the other: keep both folders, and start one of them alone");
  return Exit.DAMAGED;
}

// `frontrow backup` and `frontrow restore`, and `frontrow join` from a folder.

/** @returns The exit code. @throws StoreFault. */
export function backup(folder: string, target: string): number {
  return copy(backupFolder, folder, target);
}

/** @returns The exit code. @throws StoreFault. */
export function restore(source: string, folder: string): number {
  return copy(restoreFolder, source, folder);
}

function copy(act: (options: CopyOptions) => Copied, from: string, to: string): number {
  const paths = { from: path.resolve(from), to: path.resolve(to) };
  const copied = withProgress((onWork) => act({ disk: realDisk, ...paths, onWork }));
  return tellCopied(copied, paths.to);
}

/** @returns The exit code. */
export function tellCopied(copied: Copied, to: string): number {
  for (const finding of copied.leftOut) say(`damaged, not copied: ${textOf(finding)}`);
  describe(copied);
  say(`copied to ${to} and checked; keep it as secret as the store`);
  return Exit.DONE;
}

// `frontrow repair`.

export interface RepairFlags {
  readonly yes?: boolean;
  readonly cutAfter?: number;
}

/** @returns The exit code. @throws StoreFault. */
export function repair(given: string, { yes, cutAfter }: RepairFlags): number {
  const folder = path.resolve(given);
  const options = { disk: realDisk, folder, cutAfter };
  if (yes !== true) {
    const preview = withProgress((onWork) => previewRepair({ ...options, onWork }));
    describePreview(preview);
    if (isEmpty(preview.plan)) return Exit.DONE;
    if (losesRecords(preview)) {
      say(`export: what is still known of them, to ${exportPathOf(realDisk, folder)}`);
    }
    const flag = cutAfter === undefined ? "" : ` --cut-after ${cutAfter}`;
    say(`nothing was changed; to do this, run: frontrow repair ${given}${flag} --yes`);
    return Exit.DAMAGED;
  }
  const repaired = withProgress((onWork) => repairFolder({ ...options, onWork }));
  const { exported, aside, verified } = repaired;
  describePreview(repaired);
  if (exported !== null) {
    const { transitions, records } = exported;
    const counts = `${count(transitions, "transition")}, ${count(records, "record")} of the log`;
    say(`exported: ${exported.path}: ${counts}`);
  }
  for (const one of aside) say(`kept: ${one}`);
  for (const finding of verified.findings) say(`still damaged: ${textOf(finding)}`);
  describe(verified);
  return verified.findings.length === 0 ? Exit.DONE : Exit.DAMAGED;
}

function isEmpty({ findings, snapshots, segments, cut, restart }: RepairPlan): boolean {
  const isUntouched = cut === null && restart === null;
  return findings.length + snapshots.length + segments.length === 0 && isUntouched;
}

function describePreview({ plan, known }: Preview): void {
  if (isEmpty(plan)) return say("nothing to repair");
  const { findings, sequence, snapshots, segments, cut, restart, lost } = plan;
  for (const finding of findings) say(`damaged: ${textOf(finding)}`);
  for (const name of snapshots) say(`set aside: snapshot ${name}`);
  for (const name of segments) say(`set aside: segment ${name}`);
  if (cut !== null) say(`cut: segment ${cut.name} after byte ${cut.bytes}`);
  if (restart !== null) describeRestart(restart, sequence);
  else say(`keep: all records up to ${sequence}`);
  say(...describeLost(lost), ...describeKnown(known));
}

function describeRestart({ base, mark, isRewritten, segment }: LogRestart, sequence: number): void {
  if (isRewritten) say(`rewrite: snapshot ${base}, as of record ${mark.sequence}`);
  const log = segment === null ? "remaining segments" : "new segment";
  say(
    `keep: the content of snapshot ${base}`,
    `the log continues after record ${mark.sequence}, in the ${log}, up to record ${sequence}`,
  );
}

function describeLost(lost: Lost): string[] {
  const { range } = lost;
  if (range === null) return ["lose: no known record"];
  const parts = [...lost.byEvent].map(([event, number]) => `${number} of event ${event}`);
  if (lost.catalog > 0) parts.push(`${lost.catalog} of the catalog`);
  if (lost.unreadable > 0) parts.push(`${lost.unreadable} unreadable`);
  const numbers = `in the range ${range.from} to ${range.to}`;
  return [
    `lose: at least ${count(lost.total, "record")}, ${numbers}${period(lost.times)}`,
    ...parts.map((part) => `  ${part}`),
  ];
}

function describeKnown(known: KnownLoss | null): string[] {
  if (known === null) return ["the audit trail cannot be read, or there is none"];
  if (known.total === 0) return ["the audit trail has no transition after the kept records"];
  const events = [...known.byEvent].map(([event, number]) => `  ${number} of event ${event}`);
  const transitions = count(known.total, "transition");
  return [`the audit trail has ${transitions} of them${period(known.times)}`, ...events];
}

function period(times: KnownLoss["times"]): string {
  if (times === null) return "";
  const [from, to] = [times.fromMs, times.toMs].map((timeMs) => new Date(timeMs).toISOString());
  return `, from ${from} to ${to}`;
}

// `frontrow join`: from the folder of a peer or a backup, or over the network.

/** The peer did not send a whole copy. */
class PeerLost extends Error {
  override readonly name = "PeerLost";
  readonly exitCode = ExitCode.TEMPORARY;
}

/**
 * @param source - A folder, or the base URL of a peer.
 * @param token - The platform token of the peer.
 * @returns The exit code. @throws StoreFault, PeerLost, UsageError.
 */
export async function join(source: string, folder: string, token?: string): Promise<number> {
  if (!/^https?:\/\//.test(source)) return backup(source, folder);
  if (token === undefined) throw new UsageError("no token; set FRONTROW_PLATFORM_TOKEN");
  const to = path.resolve(folder);
  const progress = new Progress(process.stderr);
  const onWork: OnWork = (what, done, total) => progress.tell(what, done, total);
  try {
    const arriving = new ArrivingCopy({ disk: realDisk, to, onWork });
    try {
      await receive(new URL(source), token, arriving);
      return tellCopied(arriving.finish(), to);
    } catch (error) {
      arriving.abandon();
      throw error;
    }
  } finally {
    progress.stop();
  }
}

/** Settles when the whole copy has come. */
function receive(server: URL, token: string, arriving: ArrivingCopy): Promise<void> {
  const { origin } = server;
  const headers = { Authorization: `Bearer ${token}`, "Sec-WebSocket-Protocol": COPY_PROTOCOL };
  return new Promise((resolve, reject) => {
    const socket = new NodeSocket(
      { server, path: COPY_PATH, headers },
      {
        opened: () => socket.limitSilence(SILENT_MS_MAX),
        message: (payload, isBinary) => {
          try {
            arriving.take(isBinary ? payload : payload.toString());
          } catch (error) {
            reject(error instanceof Malformed ? lostPeer(origin, error.message) : error);
            socket.destroy();
          }
        },
        refused: (response) => void refusalOf(origin, response).then(reject),
        closed: (_, reason) => {
          if (arriving.isWhole) resolve();
          else reject(lostPeer(origin, reason === "" ? "the connection broke off" : reason));
        },
      },
    );
  });
}

function lostPeer(peer: string, reason: string): PeerLost {
  return new PeerLost(`no copy from ${peer}: ${reason}; nothing was kept, so try again`);
}

async function refusalOf(peer: string, response: IncomingMessage): Promise<Error> {
  const body = await textOfStream(response).catch(() => "");
  const detail = /"detail":"([^"]*)"/.exec(body)?.[1] ?? "it is not a server of Frontrow";
  const status = response.statusCode ?? 0;
  if (status === 404) {
    return new UsageError(`${peer} sends no copies: start it with FRONTROW_PLATFORM_TOKEN`);
  }
  const reason = `it answers ${status}: ${detail}`;
  return status === 503
    ? lostPeer(peer, reason)
    : new UsageError(`no copy from ${peer}: ${reason}`);
}

// Output and exit codes that the tools share.

const Exit = { DONE: 0, DAMAGED: 78 } as const;

/** Lines are buffered up to about this many UTF-16 units. */
const CHUNK_UNITS = 64 * 1024;

/** Writes lines to standard output. */
function say(...lines: readonly string[]): void {
  for (const line of lines) process.stdout.write(`${visible(line)}\n`);
}

/** Shows the progress that long work reports. */
function withProgress<T>(
  work: (onWork: (what: string, done: number, total: number) => void) => T,
): T {
  const progress = new Progress(process.stderr);
  try {
    return work((what, done, total) => progress.tell(what, done, total));
  } finally {
    progress.stop();
  }
}

/** "1 segment", "2 segments". */
function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** Standard output, whose reader may close it at any time: `frontrow inspect … | head`. */
class Output {
  #text = "";

  constructor() {
    process.stdout.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  }

  get isOpen(): boolean {
    return process.stdout.errored === null;
  }

  /** @returns False once the reader has closed the stream. */
  line(text: string): boolean {
    this.#text += `${visible(text)}\n`;
    if (this.#text.length >= CHUNK_UNITS) this.flush();
    return this.isOpen;
  }

  flush(): void {
    if (this.isOpen && this.#text !== "") process.stdout.write(this.#text);
    this.#text = "";
  }
}
