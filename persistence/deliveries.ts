/**
 * The file of the deliveries of webhooks: the cursor in the log, the backlog of
 * each webhook, and the outcome of each delivery. A delivery is in the file before it is sent for
 * the first time, with its id and body. For use by one thread.
 *
 * A lane is a webhook and an event with something to send. It has pending deliveries, the first
 * of them in attempt, and the record up to which they were formed. Later changes are in the trail
 * until all of its deliveries have been sent.
 */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { setAside } from "./disk/data-folder.ts";
import { namesIn, realDisk } from "./disk/disk.ts";
import { Malformed, messageOf } from "./disk/faults.ts";
import { FORMATS } from "./disk/formats.ts";
import {
  inTransaction,
  openSqlWriter,
  SqlFault,
  type SqlFile,
  type SqlRow,
} from "./disk/sqlite.ts";

export const WEBHOOKS_FILE = "webhooks.sqlite";

/** A delivery to be formed. */
export interface NewDelivery {
  /** `webhook-id`. */
  readonly id: string;
  readonly type: string;
  /** Of its last change. */
  readonly sequence: number;
  readonly body: string;
}

/** Outcome of a delivery. The file keeps these words. */
export type DeliveryStatus = "PENDING" | "DELIVERED" | "FAILED" | "DISCARDED";

/** A delivery as its list shows it. */
export interface DeliveryRow {
  readonly id: string;
  readonly type: string;
  readonly sequence: number;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  /** The status of the last answer; null when there was none. */
  readonly lastStatus: number | null;
  /** Milliseconds since 1970; null when it is not tried again. */
  readonly nextAtMs: number | null;
}

export interface DeliveryPage {
  /** The newest first. */
  readonly rows: readonly DeliveryRow[];
  readonly total: number;
}

export interface Lane {
  readonly webhookId: number;
  readonly partition: number;
  /** The record up to which deliveries were formed. */
  readonly since: number;
}

/** The first delivery of a lane. */
export interface PendingDelivery {
  readonly number: number;
  readonly id: string;
  readonly body: string;
  readonly attempts: number;
  /** Milliseconds since 1970; null before the first try. */
  readonly firstTriedMs: number | null;
}

/** The `Retry-After` of a receiver, which files of earlier builds lack. */
const NOT_BEFORE = "notBeforeMs INTEGER NOT NULL DEFAULT 0";

const SCHEMA = `
CREATE TABLE position (format INTEGER NOT NULL, storeId TEXT NOT NULL, followed INTEGER NOT NULL);
CREATE TABLE lanes (
  webhookId INTEGER NOT NULL, partition INTEGER NOT NULL, since INTEGER NOT NULL,
  nextAtMs INTEGER NOT NULL, ${NOT_BEFORE},
  PRIMARY KEY (webhookId, partition)
) WITHOUT ROWID;
CREATE INDEX lanesByTime ON lanes (webhookId, nextAtMs);
CREATE TABLE deliveries (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL, webhookId INTEGER NOT NULL,
  partition INTEGER NOT NULL, type TEXT NOT NULL, sequence INTEGER NOT NULL, status TEXT NOT NULL,
  attempts INTEGER NOT NULL, lastStatus INTEGER, firstTriedMs INTEGER, nextAtMs INTEGER,
  createdAtMs INTEGER NOT NULL, body BLOB
);
CREATE INDEX deliveriesOfWebhook ON deliveries (webhookId, number);
CREATE INDEX waiting ON deliveries (webhookId, partition, number) WHERE status = 'PENDING';
CREATE TABLE failing (webhookId INTEGER PRIMARY KEY, sinceMs INTEGER NOT NULL);
`;

/** Failures for a shorter time make nothing due: the first try after a failure comes as late. */
const FAILING_MS_MIN = 2_000;

/** Goes from webhook to webhook in the index of the lanes. */
const BUSY = `WITH RECURSIVE each (id) AS (
  SELECT min(webhookId) FROM lanes UNION ALL
  SELECT (SELECT min(webhookId) FROM lanes WHERE webhookId > id) FROM each WHERE id IS NOT NULL
) SELECT id FROM each WHERE id IS NOT NULL`;
const FIRST_NUMBER = `SELECT number FROM deliveries
  WHERE webhookId = ? AND partition = ? AND status = 'PENDING' LIMIT 1`;
const FIRST = `SELECT * FROM deliveries
  WHERE webhookId = ? AND partition = ? AND status = 'PENDING' ORDER BY number LIMIT 1`;
const END = `UPDATE deliveries SET status = ?, lastStatus = coalesce(?, lastStatus),
  attempts = attempts + ?, nextAtMs = NULL, body = NULL`;

export class DeliveryFile {
  readonly #sql: SqlFile;
  /** Cursor: the last followed record. */
  #followed: number;

  /** @param start - Cursor of a new file. @throws Malformed, SqlFault. */
  constructor(path: string, storeId: string, start: number) {
    this.#sql = openSqlWriter(path);
    try {
      this.#sql.execute("PRAGMA cache_size = -8192");
      if (this.#sql.row("SELECT 1 FROM sqlite_schema") === undefined) {
        inTransaction(this.#sql, () => {
          this.#sql.execute(SCHEMA);
          const insert = "INSERT INTO position VALUES (?, ?, ?)";
          this.#sql.run(insert, FORMATS.deliveries.version, storeId, start);
        });
      }
      this.#followed = readPosition(this.#sql, storeId);
      const columns = this.#sql.list("SELECT name FROM pragma_table_info('lanes')");
      if (!columns.some(({ name }) => name === "notBeforeMs")) {
        this.#sql.execute(`ALTER TABLE lanes ADD COLUMN ${NOT_BEFORE}`);
      }
    } catch (error) {
      this.#sql.close();
      throw error;
    }
  }

  /** All records up to this one have been followed. */
  get followed(): number {
    return this.#followed;
  }

  /** Runs `act` in a transaction, durable on return. */
  transaction<Value>(act: () => Value): Value {
    try {
      return inTransaction(this.#sql, act);
    } catch (error) {
      this.#followed = Number(this.#sql.row("SELECT followed FROM position")!["followed"]);
      throw error;
    }
  }

  follow(sequence: number): void {
    this.#followed = sequence;
    this.#sql.run("UPDATE position SET followed = ?", sequence);
  }

  /** After a repair has cut the log: later records differ from the followed ones. */
  cut(sequence: number): void {
    if (this.#followed <= sequence) return;
    const gone = "sequence > ? AND status = 'PENDING'";
    this.#sql.run(`${END} WHERE ${gone}`, "DISCARDED", null, 0, sequence);
    this.#sql.run("UPDATE lanes SET since = min(since, ?)", sequence);
    this.follow(sequence);
  }

  /** The event has changed; an existing lane stays as it is. */
  addLane({ webhookId, partition, since }: Lane, nowMs: number): void {
    const insert = "INSERT OR IGNORE INTO lanes VALUES (?, ?, ?, ?, 0)";
    this.#sql.run(insert, webhookId, partition, since, nowMs);
  }

  /** @returns Webhooks with lanes. Cost: O(their number). */
  busyWebhooks(): number[] {
    return this.#sql.list(BUSY).map(({ id }) => Number(id));
  }

  /** @returns Due lanes of a webhook, the longest waiting first. */
  dueLanes(webhookId: number, nowMs: number, limit: number): Lane[] {
    const due =
      "SELECT * FROM lanes WHERE webhookId = ? AND nextAtMs <= ? ORDER BY nextAtMs LIMIT ?";
    return this.#sql.list(due, webhookId, nowMs, limit) as unknown as Lane[];
  }

  /** The lane is in the file, as it was read. */
  hasLane({ webhookId, partition, since }: Lane): boolean {
    const select = "SELECT 1 FROM lanes WHERE webhookId = ? AND partition = ? AND since = ?";
    return this.#sql.row(select, webhookId, partition, since) !== undefined;
  }

  /** The lane has a pending delivery. */
  isWaiting({ webhookId, partition }: Lane): boolean {
    return this.#sql.row(FIRST_NUMBER, webhookId, partition) !== undefined;
  }

  /** @returns The first pending delivery of the lane; null for none. */
  pending({ webhookId, partition }: Lane): PendingDelivery | null {
    const row = this.#sql.row(FIRST, webhookId, partition);
    if (row === undefined) return null;
    const { number, id, attempts, firstTriedMs, body } = row;
    return {
      number: Number(number),
      id: String(id),
      body: inflateRawSync(body as Uint8Array).toString("utf8"),
      attempts: Number(attempts),
      firstTriedMs: firstTriedMs === null ? null : Number(firstTriedMs),
    };
  }

  /** Adds deliveries in sending order. @returns Their bytes. */
  form(lane: Lane, deliveries: readonly NewDelivery[], nowMs: number): number {
    const { webhookId, partition, since } = lane;
    const values = "NULL, ?, ?, ?, ?, ?, 'PENDING', 0, NULL, NULL, ?, ?, ?";
    let bytes = 0;
    for (const { id, type, sequence, body } of deliveries) {
      const content = deflateRawSync(body);
      bytes += content.length;
      const facts = [id, webhookId, partition, type, sequence] as const;
      this.#sql.run(`INSERT INTO deliveries VALUES (${values})`, ...facts, nowMs, nowMs, content);
    }
    const update = "UPDATE lanes SET since = ?, nextAtMs = ? WHERE webhookId = ? AND partition = ?";
    this.#sql.run(update, since, nowMs, webhookId, partition);
    return bytes;
  }

  /**
   * The lane is tried again at that time.
   *
   * @param notBeforeMs - Only `hasten` may make it due before; by default a success may, too.
   */
  delay({ webhookId, partition }: Lane, nextAtMs: number, notBeforeMs = 0): void {
    const update =
      "UPDATE lanes SET nextAtMs = ?, notBeforeMs = ? WHERE webhookId = ? AND partition = ?";
    this.#sql.run(update, nextAtMs, notBeforeMs, webhookId, partition);
  }

  /** The lane has nothing to send. */
  removeLane({ webhookId, partition }: Lane): void {
    this.#sql.run("DELETE FROM lanes WHERE webhookId = ? AND partition = ?", webhookId, partition);
  }

  /** A delivery ended with a try. */
  end(number: number, status: DeliveryStatus, lastStatus: number | null): void {
    this.#sql.run(`${END} WHERE number = ? AND status = 'PENDING'`, status, lastStatus, 1, number);
  }

  /** A try has failed, and there will be another one. */
  retry(
    number: number,
    failed: { lastStatus: number | null; nowMs: number; nextAtMs: number },
  ): void {
    const { lastStatus, nowMs, nextAtMs } = failed;
    this.#sql.run(
      `UPDATE deliveries SET attempts = attempts + 1, lastStatus = ?, nextAtMs = ?,
       firstTriedMs = coalesce(firstTriedMs, ?) WHERE number = ? AND status = 'PENDING'`,
      lastStatus,
      nextAtMs,
      nowMs,
      number,
    );
  }

  /** Discards the webhook's backlog. */
  discard(webhookId: number): void {
    const waiting = "webhookId = ? AND status = 'PENDING'";
    this.#sql.run(`${END} WHERE ${waiting}`, "DISCARDED", null, 0, webhookId);
    this.#sql.run("DELETE FROM lanes WHERE webhookId = ?", webhookId);
    this.#sql.run("DELETE FROM failing WHERE webhookId = ?", webhookId);
  }

  /** Removes everything about a deleted webhook. */
  remove(webhookId: number): void {
    for (const table of ["lanes", "failing", "deliveries"]) {
      this.#sql.run(`DELETE FROM ${table} WHERE webhookId = ?`, webhookId);
    }
  }

  /** @returns Webhooks with rows in the file. */
  get webhookIds(): number[] {
    const rows = this.#sql.list(
      `SELECT webhookId FROM lanes UNION SELECT webhookId FROM deliveries
       UNION SELECT webhookId FROM failing`,
    );
    return rows.map(({ webhookId }) => Number(webhookId));
  }

  /** @returns Since when all tries for the webhook have failed, this one included. */
  failingSince(webhookId: number, nowMs: number): number {
    this.#sql.run("INSERT OR IGNORE INTO failing VALUES (?, ?)", webhookId, nowMs);
    const row = this.#sql.row("SELECT sinceMs FROM failing WHERE webhookId = ?", webhookId);
    return Number(row!["sinceMs"]);
  }

  /**
   * A try has succeeded. After two seconds of failures everything else that waits is due, because it
   * may succeed too, but not before the end of a `Retry-After`. Earlier, a receiver that refuses one
   * event would hear of it without a rest.
   */
  succeeded(webhookId: number, nowMs: number): void {
    const failing = this.#sql.row("SELECT sinceMs FROM failing WHERE webhookId = ?", webhookId);
    if (failing === undefined || nowMs - Number(failing["sinceMs"]) < FAILING_MS_MIN) return;
    this.#sql.run("DELETE FROM failing WHERE webhookId = ?", webhookId);
    this.#advance(webhookId, nowMs);
  }

  /** All that waits for the webhook is due, also before the end of a `Retry-After`. */
  hasten(webhookId: number, nowMs: number): void {
    this.#sql.run("UPDATE lanes SET notBeforeMs = 0 WHERE webhookId = ?", webhookId);
    this.#advance(webhookId, nowMs);
  }

  /** Cost: O(lanes and pending deliveries of the webhook). */
  #advance(webhookId: number, nowMs: number): void {
    const waiting = "webhookId = ? AND nextAtMs > ?";
    // Deliveries first: the lanes tell which of them wait.
    this.#sql.run(
      `UPDATE deliveries SET nextAtMs = max(?, (SELECT notBeforeMs FROM lanes
         WHERE lanes.webhookId = deliveries.webhookId AND lanes.partition = deliveries.partition))
       WHERE ${waiting} AND status = 'PENDING'`,
      nowMs,
      webhookId,
      nowMs,
    );
    const lanes = `UPDATE lanes SET nextAtMs = max(?, notBeforeMs) WHERE ${waiting}`;
    this.#sql.run(lanes, nowMs, webhookId, nowMs);
  }

  /**
   * @param except - Numbers of deliveries.
   * @returns Pending deliveries of the webhook. Cost: O(their number).
   */
  pendingCount(webhookId: number, except: readonly number[]): number {
    const count = `SELECT count(*) AS count FROM deliveries WHERE webhookId = ?
      AND status = 'PENDING' AND number NOT IN (SELECT value FROM json_each(?))`;
    return Number(this.#sql.row(count, webhookId, JSON.stringify(except))!["count"]);
  }

  /** @returns Bytes of the pending bodies, by webhook. Cost: O(pending deliveries). */
  pendingBytes(): Map<number, number> {
    const rows = this.#sql.list(
      `SELECT webhookId, sum(octet_length(body)) AS bytes FROM deliveries
       WHERE status = 'PENDING' GROUP BY webhookId`,
    );
    return new Map(rows.map(({ webhookId, bytes }) => [Number(webhookId), Number(bytes)]));
  }

  /** Lanes with something to send. */
  get laneCount(): number {
    return Number(this.#sql.row("SELECT count(*) AS count FROM lanes")!["count"]);
  }

  list(webhookId: number, offset: number, limit: number): DeliveryPage {
    const where = "FROM deliveries WHERE webhookId = ?";
    const total = Number(this.#sql.row(`SELECT count(*) AS count ${where}`, webhookId)!["count"]);
    const page = `SELECT * ${where} ORDER BY number DESC LIMIT ? OFFSET ?`;
    return { rows: this.#sql.list(page, webhookId, limit, offset).map(rowOf), total };
  }

  /** Removes ended deliveries: those before a time, and all but the newest. */
  prune(beforeMs: number, newest: number): void {
    const ended = "status <> 'PENDING'";
    this.#sql.run(`DELETE FROM deliveries WHERE createdAtMs < ? AND ${ended}`, beforeMs);
    for (const webhookId of this.webhookIds) {
      this.#sql.run(
        `DELETE FROM deliveries WHERE webhookId = ? AND ${ended} AND number <= (
           SELECT number FROM deliveries WHERE webhookId = ?
           ORDER BY number DESC LIMIT 1 OFFSET ?)`,
        webhookId,
        webhookId,
        newest,
      );
    }
  }

  close(): void {
    this.#sql.close();
  }
}

/** @returns The last followed record. @throws Malformed, SqlFault. */
export function readPosition(sql: SqlFile, storeId: string): number {
  const row = sql.row("SELECT * FROM position");
  const { version } = FORMATS.deliveries;
  if (row?.["format"] !== version) {
    throw new Malformed(`deliveries of format ${version}`, String(row?.["format"]));
  }
  if (row["storeId"] !== storeId) throw new Malformed(`store ${storeId}`, String(row["storeId"]));
  return Number(row["followed"]);
}

function rowOf(row: SqlRow): DeliveryRow {
  const { id, type, sequence, status, attempts, lastStatus, nextAtMs } = row;
  return { id, type, sequence, status, attempts, lastStatus, nextAtMs } as DeliveryRow;
}

// Opens the file of the deliveries; an unusable one is renamed and replaced.

interface OpenOptions {
  /** The data folder. */
  readonly folder: string;
  readonly storeId: string;
  /** The last record of the log. */
  readonly sequence: number;
  /** Called when an operator should know something. */
  readonly report: (message: string) => void;
}

/** @throws SqlFault when the file is sound and cannot be used, for example on a full disk. */
export function openDeliveries({ folder, storeId, sequence, report }: OpenOptions): DeliveryFile {
  const path = `${folder}/${WEBHOOKS_FILE}`;
  const isNew = !namesIn(realDisk, folder).includes(WEBHOOKS_FILE);
  // SQLite would create it readable for others.
  if (isNew) realDisk.createNow(path).closeNow();
  const open = (start: number) => {
    const file = new DeliveryFile(path, storeId, start);
    file.transaction(() => file.cut(sequence));
    return file;
  };
  try {
    return open(0);
  } catch (error) {
    const isDamaged = error instanceof SqlFault ? error.isDamage : error instanceof Malformed;
    if (!isDamaged) throw error;
    const name = setAside(realDisk, folder, WEBHOOKS_FILE);
    realDisk.createNow(path).closeNow();
    const reason = messageOf(error);
    report(`the deliveries of webhooks could not be read and are now in ${name}: ${reason}`);
    // The backlog is lost; nothing is sent twice.
    return open(sequence);
  }
}
