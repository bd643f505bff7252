/** A list of cells and of organizations that have moved, as the operator writes it. */
import { CELL_MAX } from "../../../engine/cells/ranges.ts";

/** A cell and where its server listens. */
export interface Cell {
  readonly cell: number;
  /** Host and port. */
  readonly address: string;
}

export interface CellList {
  readonly cells: readonly Cell[];
  /** By organization id: the cell to which it has moved. */
  readonly moved: ReadonlyMap<string, number>;
}

const CELL = /^(\d{1,4})=((?:[\w.-]+|\[[\da-f:]+\]):(\d{1,5}))$/i;
const PORT_MAX = 65_535;
const MOVED = /^([1-9]\d{0,15})=(\d{1,4})$/;

/** @throws Error that says what is wrong. */
export function readCellList(cells: readonly string[], moved: readonly string[]): CellList {
  const list: Cell[] = [];
  for (const text of cells) {
    const [, cell, address, port] = CELL.exec(text) ?? [];
    if (cell === undefined) throw new Error(`--cell ${text}: it must be like 7=10.0.0.7:8080`);
    if (Number(cell) > CELL_MAX) throw new Error(`--cell ${text}: the last cell is ${CELL_MAX}`);
    if (!isPort(Number(port))) throw new Error(`--cell ${text}: a port is from 1 to ${PORT_MAX}`);
    list.push({ cell: Number(cell), address: address! });
  }
  const numbers = new Set<number>();
  for (const { cell } of list) {
    if (numbers.has(cell)) throw new Error(`--cell ${cell}=...: the cell is named twice`);
    numbers.add(cell);
  }
  if (numbers.size === 0) throw new Error("no cell; name each one with --cell");
  const exceptions = new Map<string, number>();
  for (const text of moved) {
    const [, organization, cell] = MOVED.exec(text) ?? [];
    if (organization === undefined) throw new Error(`--moved ${text}: it must be like 48=7`);
    if (!numbers.has(Number(cell))) throw new Error(`--moved ${text}: there is no such --cell`);
    if (exceptions.has(organization)) {
      throw new Error(`--moved ${text}: the organization is named twice`);
    }
    exceptions.set(organization, Number(cell));
  }
  return { cells: list.sort((a, b) => a.cell - b.cell), moved: exceptions };
}

function isPort(port: number): boolean {
  return port >= 1 && port <= PORT_MAX;
}
