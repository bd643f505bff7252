/** Tables for a terminal and a line of Markdown. */
import { isSoldOut } from "../load/plan.ts";
import { FRONTROW } from "./goals.ts";
import type { Result } from "./results.ts";
import type { Round, Row, Setting } from "./rounds.ts";
import { spreadOf } from "./statistics.ts";
import { table } from "./table.ts";

const HEAD = [
  "requests a second",
  "spread",
  "p50 ms",
  "p99 ms",
  "p99.9 ms",
  "server",
  "its busiest thread",
  "generator",
  "strangers",
];

/** The rows of one setting. */
export function settingTable({ mix, connections }: Setting, rows: readonly Row[]): string {
  const isPlayedOut = isSoldOut(mix);
  const head = [
    `${mix}, ${connections} connections`,
    ...HEAD,
    ...(isPlayedOut ? ["sold out s"] : []),
  ];
  const lines = rows
    .filter((row) => row.mix === mix && row.connections === connections)
    .map((row) => [row.name, ...cellsOf(row), ...(isPlayedOut ? [secondsOf(row)] : [])]);
  return table(head, lines);
}

function cellsOf({ rounds }: Row): string[] {
  const median = (of: (round: Round) => number) => spreadOf(rounds.map(of)).median;
  const { median: rate, low, high } = spreadOf(rounds.map((round) => round.requestsPerSecond));
  const share = (of: (cpu: NonNullable<Round["cpu"]>) => number) =>
    rounds.every(({ cpu }) => cpu !== null) ? median(({ cpu }) => of(cpu!)).toFixed(2) : "?";
  return [
    Math.round(rate).toLocaleString("en"),
    `±${Math.round(((high - low) / 2 / rate) * 100)} %`,
    median(({ latencyMs }) => latencyMs.p50).toFixed(2),
    median(({ latencyMs }) => latencyMs.p99).toFixed(2),
    median(({ latencyMs }) => latencyMs.p999).toFixed(2),
    share(({ server }) => server),
    share(({ busiestThread }) => busiestThread),
    share(({ generator }) => generator),
    share(({ strangers }) => strangers),
  ];
}

function secondsOf({ rounds }: Row): string {
  return spreadOf(rounds.map(({ seconds }) => seconds)).median.toFixed(2);
}

/** For the README: what the lock does, beside what, and where that was. */
export function markdownLine(rows: readonly Row[], { conditions, verdicts }: Result): string {
  const { date, commit, cpu, cores, kernel, node, disk } = conditions;
  const locks = rows
    .filter(({ name, mix }) => name === FRONTROW && mix === "lock")
    .map(({ connections, rounds }) => {
      const rate = spreadOf(rounds.map(({ requestsPerSecond }) => requestsPerSecond)).median;
      const p99 = spreadOf(rounds.map(({ latencyMs }) => latencyMs.p99)).median;
      const figures = `${Math.round(rate).toLocaleString("en")}/s, p99 ${p99.toFixed(1)} ms`;
      return `${figures} at ${connections} connections`;
    });
  const ratios = verdicts.flatMap(({ figure, value }) =>
    value === null ? [] : [`${figure}: **${value.toFixed(2)}**`],
  );
  const where = `${cores} cores of ${cpu}, ${disk}, ${kernel}, Node ${node}, ${commit}, ${date}`;
  return `Durable two-seat locks: ${locks.join("; ")}. ${ratios.join("; ")}. (${where})\n`;
}

const STRANGERS_MAX = 0.1;

/** @returns A warning when others worked on the machine meanwhile; empty when it was quiet. */
export function disturbance(rows: readonly Row[]): string {
  const rounds = rows.flatMap((row) => row.rounds);
  const disturbed = rounds.filter(({ cpu }) => cpu !== null && cpu.strangers > STRANGERS_MAX);
  if (disturbed.length === 0) return "";
  const share = `${disturbed.length} of ${rounds.length} rounds`;
  return `In ${share} other processes took more than ${STRANGERS_MAX} of a processor.\n`;
}
