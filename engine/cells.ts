/**
 * Cells. Each cell is a server with a store of its own, and has a range of ids and of sequence
 * numbers, so no number of one cell is ever given out in another. Cell 0 begins at 1, like a server
 * without cells. An organization can move to another cell and keeps all its ids.
 */
import { assert } from "./assert.ts";

/** Ids, and records, of a cell. A round number, so proxies can match it. */
export const CELL_IDS = 1_000_000_000_000;
/** The last cell whose ids are all exact as a double. */
export const CELL_MAX = 9_006;

assert(Number.isSafeInteger((CELL_MAX + 1) * CELL_IDS), "the ids of the last cell are exact");

/** The issuing cell of an id or a sequence number. */
export function cellOf(number: number): number {
  return Math.floor(number / CELL_IDS);
}

/** The number before the first id, and before the first record, of a cell. */
export function baseOfCell(cell: number): number {
  return cell * CELL_IDS;
}

/** The position of an id in the range of its cell, from 1. Partitions are numbered by it. */
export function placeInCell(id: number): number {
  return id % CELL_IDS;
}

/**
 * The move of an organization to another cell. LEAVING: it is in this cell, but its changes are
 * refused. LEFT: it is in another cell. ARRIVING: it is not yet in this cell.
 */
export interface OrganizationMove {
  readonly phase: "LEAVING" | "LEFT" | "ARRIVING";
  /** The last record of the left cell at the start of the move: different for each move. */
  readonly id: number;
  /** The only cell to accept it. */
  readonly toCell: number;
  /** Base URL of the target cell. */
  readonly address: string;
  /** ARRIVING: everything has arrived. */
  readonly isWhole?: true;
}
