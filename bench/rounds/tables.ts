/** The figures of the rounds as tables. */
import { medianOf, spreadOf } from "../harness/measure.ts";
import { table, withCommas } from "../harness/table.ts";
import { sellsOut } from "../load/plan.ts";
import type { Round, Row, Setting } from "./rounds.ts";

type Column = readonly [name: string, cellOf: (row: Row) => string];

const rateOf = ({ requestsPerSecond }: Round) => requestsPerSecond;
const median = (of: (round: Round) => number) => (row: Row) =>
  medianOf(row.rounds.map(of)).toFixed(2);
const share = (of: (cpu: NonNullable<Round["cpu"]>) => number) => (row: Row) =>
  row.rounds.every(({ cpu }) => cpu !== null) ? median(({ cpu }) => of(cpu!))(row) : "?";

const COLUMNS: readonly Column[] = [
  ["requests/s", ({ rounds }) => withCommas(medianOf(rounds.map(rateOf)))],
  ["spread", ({ rounds }) => halfRange(rounds.map(rateOf))],
  ["p50 ms", median(({ latencyMs }) => latencyMs.p50)],
  ["p99 ms", median(({ latencyMs }) => latencyMs.p99)],
  ["p99.9 ms", median(({ latencyMs }) => latencyMs.p999)],
  ["server CPU", share(({ server }) => server)],
  ["busiest thread", share(({ busiestThread }) => busiestThread)],
  ["generator CPU", share(({ generator }) => generator)],
  ["other CPU", share(({ others }) => others)],
];
const SELL_OUT_COLUMNS: readonly Column[] = [
  ...COLUMNS,
  ["seconds to sell out", median(({ seconds }) => seconds)],
];

function halfRange(rates: readonly number[]): string {
  const { median: middle, low, high } = spreadOf(rates);
  return `±${Math.round(((high - low) / 2 / middle) * 100)} %`;
}

/** The rows of one setting. */
export function settingTable({ mix, connections }: Setting, rows: readonly Row[]): string {
  const columns = sellsOut(mix) ? SELL_OUT_COLUMNS : COLUMNS;
  const head = [`${mix}, ${connections} connections`, ...columns.map(([name]) => name)];
  const lines = rows
    .filter((row) => row.mix === mix && row.connections === connections)
    .map((row) => [row.name, ...columns.map(([, cellOf]) => cellOf(row))]);
  return table(head, lines);
}

const OTHERS_MAX = 0.1;

/** @returns A warning if other processes used the machine; empty if it was idle otherwise. */
export function disturbanceWarning(rows: readonly Row[]): string {
  const rounds = rows.flatMap((row) => row.rounds);
  const disturbed = rounds.filter(({ cpu }) => cpu !== null && cpu.others > OTHERS_MAX);
  if (disturbed.length === 0) return "";
  const count = `${disturbed.length} of ${rounds.length} rounds`;
  return `Other processes used more than ${OTHERS_MAX} of a processor in ${count}.\n`;
}
