/** Charts of the booking servers: bars for a terminal, and SVG files for the README. */
import { BOOKING_SERVERS, FRONTROW } from "../contenders/names.ts";
import { medianOf, type Spread, spreadOf } from "../harness/measure.ts";
import { type Result, withCommas } from "../harness/results.ts";
import type { Row, Setting } from "./rounds.ts";

type Conditions = Result["conditions"];

/** Rounds of the booking servers in this setting, the fastest first. */
export function bookingRows({ mix, connections }: Setting, rows: readonly Row[]): Row[] {
  return byRate(rows).filter((row) => {
    return row.mix === mix && row.connections === connections && isBooking(row);
  });
}

export function byRate(rows: readonly Row[]): Row[] {
  return rows.toSorted((a, b) => rateOf(b).median - rateOf(a).median);
}

function isBooking({ name }: Row): boolean {
  return BOOKING_SERVERS.includes(name);
}

function rateOf({ rounds }: Row): Spread {
  return spreadOf(rounds.map((round) => round.requestsPerSecond));
}

function p99Of({ rounds }: Row): number {
  return medianOf(rounds.map(({ latencyMs }) => latencyMs.p99));
}

// For a terminal.

const BAR_COLUMNS = 28;
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** Bars of the rates of one setting; empty unless two or more booking servers took part. */
export function terminalChart(setting: Setting, rows: readonly Row[]): string {
  const played = bookingRows(setting, rows);
  if (played.length < 2) return "";
  const longest = Math.max(...played.map(({ name }) => name.length));
  const most = rateOf(played[0]!).median;
  const lines = played.map((row) => {
    const { median } = rateOf(row);
    const eighths = Math.round((median / most) * BAR_COLUMNS * 8);
    const bar = "█".repeat(eighths >> 3) + EIGHTHS[eighths & 7]!;
    return `${row.name.padEnd(longest)}  ${bar} ${withCommas(median)}\n`;
  });
  return lines.join("");
}

// For the README. A chart brings its own background, so that it is legible on any page.

const WIDTH = 890;
const MARGIN = 24;
/** Colours of the lines beside Frontrow's, in light and in dark: 4.5 to 1 on their background. */
const LINES = [
  ["#1d5fd1", "#7fb0ff"],
  ["#0b766c", "#4fd1c0"],
  ["#965400", "#f0b04f"],
  ["#7338d6", "#bda0ff"],
  ["#5b5e68", "#9da1ac"],
] as const;

const STYLE = `text{font:14px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#1b1c20}
.paper{fill:#fff;stroke:#e2e3e8}.title{font-size:17px;font-weight:650}.faint{fill:#5b5e68;font-size:12.5px}
.bar{fill:#83868f}.own{fill:#b3123f}.range{stroke:#1b1c20;stroke-width:1.5}.grid{stroke:#e2e3e8}
.line{fill:none;stroke-width:2}.line.own{fill:none;stroke:#b3123f;stroke-width:3.5}.strong{font-weight:650}
${linesStyle(0)}
@media (prefers-color-scheme:dark){text{fill:#e6e7ea}.paper{fill:#0f0f0f;stroke:#2d2d30}.faint{fill:#9da1ac}
.bar{fill:#6f737d}.own{fill:#ff7d9b}.range{stroke:#e6e7ea}.grid{stroke:#2d2d30}.line.own{stroke:#ff7d9b}
${linesStyle(1)}}`;

function linesStyle(look: 0 | 1): string {
  return LINES.map(
    (colors, i) => `.s${i}{stroke:${colors[look]}}.t${i}{fill:${colors[look]}}`,
  ).join("");
}

type Anchor = "start" | "middle" | "end";

type Point = readonly [x: number, y: number];

function text([x, y]: Point, content: string, kind = "", anchor: Anchor = "start"): string {
  const escaped = content.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const end = anchor === "start" ? "" : ` text-anchor="${anchor}"`;
  return `<text x="${short(x)}" y="${short(y)}"${end}${kind && ` class="${kind}"`}>${escaped}</text>`;
}

function short(value: number): string {
  return String(Math.round(value * 10) / 10);
}

interface Frame {
  readonly title: string;
  readonly subtitle: string;
  readonly height: number;
  readonly footer: string;
}

function svg({ title, subtitle, height, footer }: Frame, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${title}">`,
    `<style>${STYLE}</style>`,
    `<rect class="paper" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8"/>`,
    text([MARGIN, 36], title, "title"),
    text([MARGIN, 58], subtitle, "faint"),
    ...parts,
    text([MARGIN, height - 18], footer, "faint"),
    "</svg>\n",
  ].join("\n");
}

function footerOf({ cores, cpu, node, kernel, disk, date }: Conditions): string {
  const machine = `${cores} cores of ${cpu.replaceAll(/\(R\)/g, "")}, shared with the load`;
  const [system] = kernel.split("-");
  return `${machine} · ${system} · ${disk.split(" ")[0]} · Node ${node.slice(1)} · ${date.slice(0, 10)}`;
}

const BARS = { left: 340, right: 796, top: 78, step: 34, thickness: 20 };

/** Connections of the bars, and of the figures that the README quotes. */
const CONNECTIONS = 256;

/** Locks and unlocks a second beside the alternatives; null unless Frontrow took part. */
export function throughputChart(conditions: Conditions, rows: readonly Row[]): string | null {
  const played = bookingRows({ mix: "lock", connections: CONNECTIONS }, rows);
  if (!played.some(({ name }) => name === FRONTROW)) return null;
  const most = Math.max(...played.map((row) => rateOf(row).high));
  const at = (rate: number) => BARS.left + (rate / most) * (BARS.right - BARS.left);
  const parts = played.flatMap((row, i) => {
    const { median, low, high } = rateOf(row);
    const top = BARS.top + i * BARS.step;
    const middle = top + BARS.thickness / 2;
    const own = row.name === FRONTROW;
    const width = short(at(median) - BARS.left);
    return [
      text([BARS.left - 12, middle + 5], row.name, own ? "strong" : "", "end"),
      `<rect class="bar${own ? " own" : ""}" x="${BARS.left}" y="${top}" width="${width}" height="${BARS.thickness}" rx="3"/>`,
      `<path class="range" d="M${short(at(low))} ${middle}H${short(at(high))}"/>`,
      text([at(high) + 8, middle + 5], withCommas(median), own ? "strong" : ""),
    ];
  });
  const frame = {
    title: "Atomic locks and unlocks of two seats per second",
    subtitle: `${CONNECTIONS} connections · ${roundsOf(played)}; the thin line spans all of them · on disk before the answer`,
    height: BARS.top + played.length * BARS.step + 42,
    footer: footerOf(conditions),
  };
  return svg(frame, parts);
}

function roundsOf(rows: readonly Row[]): string {
  const { length } = rows[0]!.rounds;
  return length === 1 ? "one round" : `median of ${length} rounds`;
}

const PLOT = { left: 74, right: 546, top: 84, bottom: 356 };
const LABEL_GAP = 18;

/** The 99th percentile over the number of connections; null below two numbers of connections. */
export function latencyChart(conditions: Conditions, rows: readonly Row[]): string | null {
  const locks = rows.filter((row) => row.mix === "lock" && isBooking(row));
  const loads = [...new Set(locks.map((row) => row.connections))].sort((a, b) => a - b);
  const servers = [...new Set(locks.map(({ name }) => name))];
  if (loads.length < 2 || !servers.includes(FRONTROW)) return null;
  const figures = locks.map(p99Of);
  const ticks = stepsAround(Math.min(...figures), Math.max(...figures));
  const x = logScale(loads[0]!, loads.at(-1)!, PLOT.left, PLOT.right);
  const y = logScale(ticks[0]!, ticks.at(-1)!, PLOT.bottom, PLOT.top);
  const grid = ticks.flatMap((ms) => [
    `<path class="grid" d="M${PLOT.left} ${short(y(ms))}H${PLOT.right}"/>`,
    text([PLOT.left - 10, y(ms) + 4], ms.toLocaleString("en"), "faint", "end"),
  ]);
  const axis = loads.map((load) =>
    text([x(load), PLOT.bottom + 22], withCommas(load), "faint", "middle"),
  );
  const others = servers.filter((name) => name !== FRONTROW);
  const lines = servers.map((name) => {
    const points = locks.filter((row) => row.name === name);
    const kind = name === FRONTROW ? "own" : `s${others.indexOf(name)}`;
    const at = points.map((row) => `${short(x(row.connections))} ${short(y(p99Of(row)))}`);
    return `<path class="line ${kind}" d="M${at.join("L")}"/>`;
  });
  const ends = servers.map((name) => ({
    name,
    y: y(p99Of(locks.findLast((row) => row.name === name)!)),
  }));
  const labels = apart(ends).map(({ name, y: top }) => {
    const kind = name === FRONTROW ? "own strong" : `t${others.indexOf(name)}`;
    return text([PLOT.right + 10, top + 5], name, kind);
  });
  const frame = {
    title: "Latency over load: 99th percentile in ms",
    subtitle: `over the number of connections, each with one request in flight · ${roundsOf(locks)} · both scales are logarithmic`,
    height: PLOT.bottom + 74,
    footer: footerOf(conditions),
  };
  return svg(frame, [...grid, ...axis, ...lines, ...labels]);
}

function logScale(least: number, most: number, from: number, to: number) {
  const span = Math.log(most / least);
  return (value: number) => from + (Math.log(value / least) / span) * (to - from);
}

/** 1, 2, 5, 10, 20 … from the last step below `least` to the first above `most`. */
function stepsAround(least: number, most: number): readonly number[] {
  const steps = [-2, -1, 0, 1, 2, 3, 4].flatMap((power) =>
    [1, 2, 5].map((digit) => Number((digit * 10 ** power).toPrecision(1))),
  );
  const first = steps.findLastIndex((step) => step <= least);
  const last = steps.findIndex((step) => step >= most);
  return steps.slice(Math.max(0, first), last + 1);
}

/** Moves labels down until none covers another. */
function apart<Label extends { readonly y: number }>(labels: readonly Label[]): readonly Label[] {
  let least = -Infinity;
  return labels
    .toSorted((a, b) => a.y - b.y)
    .map((label) => {
      const y = Math.max(label.y, least);
      least = y + LABEL_GAP;
      return { ...label, y };
    });
}
