/**
 * Converts a trail of format 1, which has a row for each transition and each record, into blocks.
 * It is one transaction: if the process is killed, the old trail remains.
 */
import type { SeatState } from "../../engine/inventory/states.ts";
import type { Actor, ActorKind } from "../../engine/records.ts";
import type { SqlFile, SqlRow } from "../disk/sqlite.ts";
import { codeOfCall, type Move } from "./blocks/rows.ts";
import { AUDIT_FORMAT, TABLES_OF_BLOCKS, type TrailRow } from "./file.ts";
import { AuditPlaces } from "./places.ts";

/** Rows that are in memory at a time. */
const PAGE_ROWS = 50_000;

/** Transitions before the beginning of the trail have no record. */
const PAGE = `SELECT t.*, r.call, r.actorKind, r.actorId FROM transitions t
  LEFT JOIN records r ON r.sequence = t.sequence
  WHERE t.partition = ? AND (t.sequence, t.ordinal) > (?, ?)
  ORDER BY t.sequence, t.ordinal LIMIT ${PAGE_ROWS}`;

/** @returns How many transitions were converted. Cost: O(transitions). */
export function convertRows(sql: SqlFile, trail: TrailRow): number {
  sql.execute("BEGIN IMMEDIATE");
  sql.execute(TABLES_OF_BLOCKS);
  sql.execute("INSERT INTO times SELECT timeMs, max(sequence) FROM records GROUP BY timeMs");
  const places = new AuditPlaces(sql);
  for (const { partition } of sql.list("SELECT DISTINCT partition FROM transitions")) {
    convertEvent(sql, places, { partition: Number(partition), first: trail.firstSequence });
  }
  sql.execute("DROP VIEW IF EXISTS history; DROP TABLE transitions; DROP TABLE records");
  sql.run("UPDATE trail SET format = ?", AUDIT_FORMAT);
  sql.execute("COMMIT");
  return places.written;
}

/** @param first - The first record of the trail. */
function convertEvent(
  sql: SqlFile,
  places: AuditPlaces,
  { partition, first }: { readonly partition: number; readonly first: number },
): void {
  const event = places.event(partition);
  let [last, call] = [{ sequence: 0, ordinal: -1 }, 0];
  for (;;) {
    const rows = sql.list(PAGE, partition, last.sequence, last.ordinal);
    for (const row of rows) {
      const [sequence, ordinal] = [Number(row["sequence"]), Number(row["ordinal"])];
      const [timeMs, isArea] = [Number(row["timeMs"]), row["places"] !== null];
      const placeId = Number(row["placeId"]);
      const slot = isArea ? event.area(placeId) : event.seat(placeId);
      if (sequence < first) {
        event.table.put(slot, timeMs, moveOf(row));
      } else {
        if (sequence !== last.sequence) {
          places.end(call);
          if (last.sequence < first) places.storeMap(event, first - 1);
          if (event.rows.rowCount >= PAGE_ROWS) places.flush();
          places.begin({ sequence, timeMs }, actorOf(row));
          call = codeOfCall(String(row["call"]));
        }
        places.write(event, slot, moveOf(row));
      }
      last = { sequence, ordinal };
    }
    if (rows.length < PAGE_ROWS) break;
  }
  places.end(call);
  if (last.sequence < first) places.storeMap(event, first - 1);
  places.flush();
  places.drop(partition);
}

function actorOf(row: SqlRow): Actor {
  return { kind: row["actorKind"] as ActorKind, id: Number(row["actorId"]) };
}

function moveOf(row: SqlRow): Move {
  const { active, locked, sold, blocked } = row as Record<string, number>;
  return {
    from: row["fromState"] as SeatState | null,
    state: row["toState"] as SeatState | null,
    priceId: Number(row["priceId"]),
    hold: Number(row["hold"]),
    session: String(row["session"]),
    holdType: String(row["holdType"]),
    places: row["places"] as number | null,
    counts: row["active"] === null ? null : [active!, locked!, sold!, blocked!],
  };
}
