/**
 * Which records changed an event in the catalog: the versions of its row, of its prices, and of its
 * organization's `bookingEnabled`.
 */
import type { EventStatus } from "../../../engine/catalog.ts";
import type { EventChange } from "../../../engine/queries/event-change.ts";
import type { SqlFile, SqlRow } from "../../disk/sqlite.ts";
import { nextBlock, nextHead } from "../blocks/block-file.ts";
import { timeOf } from "../file.ts";

/** An event in the trail. */
export interface TrailedEvent {
  readonly sql: SqlFile;
  readonly partition: number;
  readonly organizationId: number;
}

type CatalogChange = Pick<EventChange, "call" | "timeMs" | "status" | "bookable">;

const LAST_BLOCK = `SELECT last FROM blocks WHERE partition = ? AND last <= ?
  ORDER BY last DESC LIMIT 1`;
const LAST_MAP = `SELECT sequence FROM maps WHERE partition = ? AND sequence <= ?
  ORDER BY sequence DESC LIMIT 1`;
const LIFE = `SELECT min(sequence) AS first,
  min(CASE WHEN status IS NULL THEN sequence END) AS last FROM events WHERE partition = ?`;
const EVENT = "SELECT sequence FROM events WHERE partition = ? AND sequence";
const PRICES = "SELECT DISTINCT sequence FROM prices WHERE partition = ? AND sequence";
const SWITCHES = `SELECT sequence FROM switches
  WHERE owner = 'organization' AND ownerId = ? AND sequence`;
const UP_TO = "<= ? ORDER BY sequence DESC LIMIT 1";
const AFTER = "> ? ORDER BY sequence LIMIT ?";
const VERSIONS = `SELECT * FROM events WHERE partition = ? AND sequence <= ?
  ORDER BY sequence DESC LIMIT 2`;
const ENABLED = `SELECT isOn FROM switches WHERE owner = 'organization' AND ownerId = ?
  AND sequence <= ? ORDER BY sequence DESC LIMIT 1`;
const PRICED = `SELECT 1 FROM prices
  WHERE partition = ? AND sequence = ? AND name IS NOT NULL LIMIT 1`;

/** @returns The last record up to `at` that changed the event; 0 for none. */
export function lastChangeOf(event: TrailedEvent, at: number): number {
  const { sql, partition, organizationId } = event;
  const { first, last } = lifeOf(event);
  const switched = Math.min(at, last);
  const found = [
    sql.row(`${EVENT} ${UP_TO}`, partition, at),
    sql.row(`${PRICES} ${UP_TO}`, partition, at),
    sql.row(`${SWITCHES} ${UP_TO}`, organizationId, switched),
  ].map((row) => Number(row?.["sequence"] ?? 0));
  const newest = Math.max(...found, lastMoveOf(event, at));
  return newest < first ? 0 : newest;
}

function lastMoveOf({ sql, partition }: TrailedEvent, at: number): number {
  const head = nextHead(sql, partition, at);
  if (head !== undefined && head.first <= at) {
    const { block } = nextBlock(sql, partition, at)!;
    return block.sequenceOf(block.recordOf(at + 1) - 1);
  }
  const last = sql.row(LAST_BLOCK, partition, at)?.["last"];
  // When the retention has removed the blocks, a map has their last record, or a later one.
  return Number(last ?? sql.row(LAST_MAP, partition, at)?.["sequence"] ?? 0);
}

/** @returns The first records after `since` that changed the event in the catalog. */
export function nextVersions(event: TrailedEvent, since: number, limit: number): number[] {
  const { sql, partition, organizationId } = event;
  const { first, last } = lifeOf(event);
  const switches = sql.list(`${SWITCHES} ${AFTER}`, organizationId, Math.max(since, first), limit);
  const rows = [
    ...sql.list(`${EVENT} ${AFTER}`, partition, since, limit),
    ...sql.list(`${PRICES} ${AFTER}`, partition, since, limit),
    ...switches.filter(({ sequence }) => Number(sequence) < last),
  ];
  const sequences = new Set(rows.map(({ sequence }) => Number(sequence)));
  return [...sequences].sort((a, b) => a - b).slice(0, limit);
}

/** Records of the creation and of the deletion. */
function lifeOf({ sql, partition }: TrailedEvent): { first: number; last: number } {
  const { first, last } = sql.row(LIFE, partition)!;
  return { first: Number(first), last: Number(last ?? Infinity) };
}

/** @param sequence - One of `nextVersions`. */
export function catalogChange(event: TrailedEvent, sequence: number): CatalogChange {
  const { sql, partition, organizationId } = event;
  const [newest, second] = sql.list(VERSIONS, partition, sequence);
  const isVersion = newest!["sequence"] === sequence;
  const before = isVersion ? second : newest;
  const isEnabled = (at: number) => sql.row(ENABLED, organizationId, at)?.["isOn"] !== 0;
  const isBookable = (row: SqlRow | undefined, at: number) =>
    row?.["status"] === "PUBLISHED" && isEnabled(at);
  const call = callOf(event, sequence, isVersion ? newest! : null, before);
  const common = { call, timeMs: timeOf(sql, sequence) };
  if (call === "deleteevent") return { ...common, status: null, bookable: null };
  const status = newest!["status"] as EventStatus;
  const bookable = isBookable(newest, sequence);
  const wasBookable = before === undefined ? undefined : isBookable(before, sequence - 1);
  return {
    ...common,
    status: status === before?.["status"] ? null : status,
    bookable: bookable === wasBookable ? null : bookable,
  };
}

/** @param version - The version of the event that the record made; null when it made none. */
function callOf(
  { sql, partition, organizationId }: TrailedEvent,
  sequence: number,
  version: SqlRow | null,
  before: SqlRow | undefined,
): string {
  if (version !== null) {
    if (version["status"] === null) return "deleteevent";
    const isMoved = before !== undefined && version["layoutId"] !== before["layoutId"];
    return isMoved && version["schemaId"] === before["schemaId"] ? "layout" : "event";
  }
  const switched = `${SWITCHES} = ?`;
  if (sql.row(switched, organizationId, sequence) !== undefined) return "event";
  return sql.row(PRICED, partition, sequence) === undefined ? "deleteprice" : "prices";
}
