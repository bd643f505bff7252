/** Tables for a terminal and a line of Markdown. */
import type { Conditions } from "./conditions.ts";
import { FRONTROW, type Goal, GOALS, isReached, ratioOf } from "./goals.ts";
import { isSoldOut } from "../load/plan.ts";
import type { Round, Row, Setting } from "./rounds.ts";
import { spreadOf } from "./statistics.ts";

/** Columns are as wide as their widest cell; the first is flush left, the others flush right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i]!.length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      .join("  ");
  return [line(head), widths.map((width) => "-".repeat(width)).join("  "), ...rows.map(line)]
    .map((text) => `${text.trimEnd()}\n`)
    .join("");
}

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

export function goalTable(rows: readonly Row[]): string {
  const lines = GOALS.map((goal) => {
    const ratio = ratioOf(goal, rows);
    if (ratio === null) return [goal.figure, bound(goal), "not measured", "", ""];
    const { median, low, high } = ratio;
    const verdict = isReached(goal, median) ? "reached" : "not reached";
    return [
      goal.figure,
      bound(goal),
      median.toFixed(2),
      `${low.toFixed(2)}-${high.toFixed(2)}`,
      verdict,
    ];
  });
  return table(["what it must show", "goal", "median", "rounds", ""], lines);
}

function bound({ atLeast, atMost }: Goal): string {
  return atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`;
}

/** For the README: what the lock does, beside what, and where that was. */
export function markdownLine(rows: readonly Row[], conditions: Conditions): string {
  const { date, commit, cpu, cores, kernel, node, disk } = conditions;
  const locks = rows
    .filter(({ name, mix }) => name === FRONTROW && mix === "lock")
    .map(({ connections, rounds }) => {
      const rate = spreadOf(rounds.map(({ requestsPerSecond }) => requestsPerSecond)).median;
      const p99 = spreadOf(rounds.map(({ latencyMs }) => latencyMs.p99)).median;
      return `${Math.round(rate).toLocaleString("en")}/s, p99 ${p99.toFixed(1)} ms at ${connections}`;
    });
  const ratios = GOALS.flatMap((goal) => {
    const ratio = ratioOf(goal, rows);
    return ratio === null ? [] : [`${goal.figure}: **${ratio.median.toFixed(2)}**`];
  });
  const where = `${cores} cores of ${cpu}, ${disk}, ${kernel}, Node ${node}, ${commit}, ${date}`;
  return `Durable two-seat locks: ${locks.join("; ")} connections. ${ratios.join("; ")}. (${where})\n`;
}
