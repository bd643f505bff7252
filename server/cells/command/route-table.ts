/**
 * Route tables for proxies. A key reads `fro_<organization id>_...`, and the id shows the cell that
 * gave it out, so a proxy needs to know only the cells and the organizations that have moved.
 */
import { CELL_IDS } from "../../../engine/cells/ranges.ts";
import type { CellList } from "./cell-list.ts";

/** The digits of a place in a cell. */
const DIGITS = String(CELL_IDS).length - 1;

/** A map file: organizations that have moved by their id, cells by `cell:` and their number. */
export function haproxyMap({ cells, moved }: CellList): string {
  const lines = [
    "# Written by frontrow routes. Keys: the id of an organization that has moved, or its cell.",
    ...[...moved].map(([organization, cell]) => `${organization} cell${cell}`),
    ...cells.map(({ cell }) => `cell:${cell} cell${cell}`),
  ];
  return `${lines.join("\n")}\n`;
}

/** Maps and upstreams for the `http` block. nginx looks for an exact id before the patterns. */
export function nginxMaps({ cells, moved }: CellList): string {
  const first = cells[0]!;
  const upstreams = cells.flatMap(({ cell, address }) => [
    `upstream cell${cell} {`,
    `    server ${address};`,
    "    keepalive 64;",
    "    keepalive_timeout 5s;",
    "}",
  ]);
  const lines = [
    "# Written by frontrow routes.",
    ...upstreams,
    "map $http_authorization $frontrow_bearer {",
    '    "~^[Bb]earer +(?<bearer>\\S+)$" $bearer;',
    '    default "";',
    "}",
    "map $http_x_api_key$frontrow_bearer $frontrow_key_organization {",
    '    "~^fro_(?<organization>[0-9]+)_" $organization;',
    "    default $http_x_organization_id;",
    "}",
    "map $frontrow_key_organization $frontrow_cell {",
    ...[...moved].map(([organization, cell]) => `    "${organization}" cell${cell};`),
    ...cells.map(({ cell }) => `    "${patternOf(cell)}" cell${cell};`),
    `    default cell${first.cell};`,
    "}",
  ];
  return `${lines.join("\n")}\n`;
}

function patternOf(cell: number): string {
  return cell === 0 ? `~^[0-9]{1,${DIGITS}}$` : `~^${cell}[0-9]{${DIGITS}}$`;
}
