/** The compiled `frontrow onsale` on a pseudo-terminal: progress line, headline, colours. */
import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { formatProgress } from "../../../server/onsale/run.ts";
import { CLI, collect, exitOf } from "../../support/server-process.ts";
import { layoutFlags, serverFlags, startTiny } from "./play.ts";

const COLUMNS = 80;
// oxlint-disable-next-line no-control-regex
const COLOR = /\u001B\[\d+m/;
const GREEN = "\u001B[32m";

/** Sells out on a terminal of 80 columns. @returns Everything that the terminal received. */
async function playOnTerminal(env: NodeJS.ProcessEnv): Promise<string> {
  const server = await startTiny();
  const flags = [...serverFlags(server), ...layoutFlags(), "--think-ms", "400", "--seed", "1"];
  const onsale = [process.execPath, CLI, "onsale", ...flags].join(" ");
  const { NO_COLOR: _, ...inherited } = process.env;
  const child = spawn("sh", ["-c", 'script --quiet --return --command "$COMMAND" /dev/null'], {
    env: {
      ...inherited,
      TERM: "xterm-256color",
      COMMAND: `stty cols ${COLUMNS} && ${onsale}`,
      ...env,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const output = collect(child);
  expect(await exitOf(child)).toEqual({ code: 0, signal: null });
  return output.stdout;
}

test("a terminal shows progress with ETA and p99 in one line, then a green headline", async () => {
  const output = await playOnTerminal({});
  const lines = output.split(/[\r\n]+/).map(stripVTControlCharacters);
  const progress = lines.filter((line) => line.includes(" of 281 sold"));
  const shape = /^[█░]{10,40} +\d+ %  [ \d]{3} of 281 sold +\d+\/s  ETA .{5}  p99 .{9}$/;
  for (const line of progress) {
    expect(line).toMatch(shape);
    expect(line.length).toBeLessThan(COLUMNS);
  }
  expect(progress.at(-1)).toMatch(/ETA +\d+ s  p99 +\d+\.\d ms$/);
  expect(output).toMatch(COLOR);
  expect(output.slice(output.indexOf(GREEN))).toMatch(/^\S+SOLD OUT: 281 tickets in /);
});

test("with NO_COLOR a terminal shows no colours", async () => {
  const output = await playOnTerminal({ NO_COLOR: "1" });
  expect(output).toContain(" of 281 sold");
  expect(output).not.toMatch(COLOR);
});

const FIGURES = { totalCount: 29_200, msLeft: 200_000, p99Ms: 12.34, holdWait: undefined };
const plain = (_style: string, text: string) => text;

test("the progress line fills the bar and estimates the end from the rate", () => {
  const line = formatProgress({ ...FIGURES, soldCount: 14_600, perSecond: 2_920 }, 120, plain);
  const bar = "█".repeat(20) + "░".repeat(20);
  expect(line).toBe(`${bar}  50 %  14,600 of 29,200 sold  2,920/s  ETA   5 s  p99   12.3 ms`);
});

test("the estimate is never later than the time limit", () => {
  const line = formatProgress({ ...FIGURES, soldCount: 100, perSecond: 1 }, 120, plain);
  expect(line).toContain("ETA 200 s");
});

test("the progress line says that it waits for holds of other sessions, and how long", () => {
  const holdWait = { count: 3, msLeft: 6_100 };
  const figures = { ...FIGURES, soldCount: 29_197, perSecond: 0, holdWait };
  const line = formatProgress(figures, 80, plain);
  expect(line).toMatch(/ 99 %  29,197 of 29,200 sold  waiting 7 s for 3 held by others$/);
  expect(line.length).toBe(79);
});

test("a narrow terminal shows no bar, and never more than one line", () => {
  const figures = { ...FIGURES, soldCount: 14_600, perSecond: 2_920 };
  expect(formatProgress(figures, 40, plain)).toBe("50 %  14,600 of 29,200 sold  2,920/s  E");
});
