/**
 * `npm run bench:console`: the console's map of a stadium in Chromium: processor time for a frame,
 * first picture, memory, and the size of its files.
 */
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { startServer } from "../contenders/frontrow.ts";
import { folder, inTemporaryFolder, isTrial, number, parseOptions } from "../harness/command.ts";
import { print, progress, report, table, verdict } from "../harness/results.ts";
import {
  type FrameFigures,
  heapBytes,
  measureFrames,
  openConsole,
  openPlainDrawing,
  panAndZoom,
  type RunningBrowser,
  startBrowser,
  violations,
} from "./page.ts";
import { type StagedEvent, stageEvent, startProxy } from "./stage.ts";

const MIB = 1_024 * 1_024;
const ASSETS = new URL("../../server/console/assets/", import.meta.url);

const options = parseOptions("bench:console", "Measures the console's map in Chromium.", {
  rate: number(5_000, "changes of a seat per second"),
  seconds: number(8, "length of each measurement"),
  rows: number(isTrial ? 3 : 28, "rows of each block of the stadium: 28 for 80,640 seats"),
  arena: number(isTrial ? 1 : 8, "rows of each block of the arena: 8 for 23,040 seats"),
  folder,
});

const figures = await inTemporaryFolder(options.folder, measure);
print(
  table(
    ["", "processor ms a frame", "median frame ms"],
    Object.entries(figures.frames).map(([name, one]) => [
      name,
      one.processorMs.toFixed(1),
      one.medianMs.toFixed(1),
    ]),
  ),
);
const { plain, still, moving, both } = figures.frames;
const ofPlain = ({ processorMs }: FrameFigures) => processorMs / plain.processorMs;
const verdicts = [
  verdict("processor ms a frame, still, with changes", { atMost: 12 }, still.processorMs),
  verdict("median frame in ms, still, with changes", { atMost: 16.7 }, tenths(still.medianMs)),
  verdict("processor ms a frame, panning and zooming", { atMost: 15 }, moving.processorMs),
  verdict(
    "processor ms a frame, panning and zooming, with changes",
    { atMost: 20 },
    both.processorMs,
  ),
  verdict("still, with changes ÷ plain drawing", { atMost: 0.6 }, ofPlain(still)),
  verdict("panning and zooming ÷ plain drawing", { atMost: 0.6 }, ofPlain(moving)),
  verdict("panning and zooming, with changes ÷ plain drawing", { atMost: 0.8 }, ofPlain(both)),
  verdict("first full picture in ms, stadium", { atMost: 1_500 }, figures.firstPictureMs),
  verdict("first full picture in ms, arena", { atMost: 800 }, figures.arenaPictureMs),
  verdict("MiB of the JavaScript heap", { atMost: 60 }, figures.heapMiB),
  verdict("KB of scripts, compressed", { atMost: 80 }, kilobytesOf(".js")),
  verdict("KB of styles, compressed", { atMost: 8 }, kilobytesOf(".css")),
  verdict("violations of the policy", { atMost: 0 }, figures.violations.length),
];
await report("console", options.folder, { verdicts, ...options, ...figures });

async function measure(data: string) {
  const { rate, seconds, rows, arena } = options;
  const server = await startServer(data);
  progress("an arena and a stadium with sales");
  const small = await stageEvent(server.url, "Arena", arena);
  const event = await stageEvent(server.url, "Stadium", rows);
  const proxy = await startProxy(event);
  const running = await startBrowser();
  const staged = { ...event, url: proxy.url };
  const arenaPicture = await secondOpening(running, small);
  await arenaPicture.page.close();
  const known = await measurePlainDrawing(running, seconds);
  const { page, firstPictureMs, firstOfLayoutMs } = await secondOpening(running, staged);
  const rest = () => page.waitForTimeout(seconds * 1_000);
  const frames: Record<"plain" | "still" | "moving" | "both", FrameFigures> = {
    plain: known,
    moving: await measureFrames(running, page, () => panAndZoom(page, seconds)),
    still: await withChanges(() => measureFrames(running, page, rest)),
    both: await withChanges(() => measureFrames(running, page, () => panAndZoom(page, seconds))),
  };
  const heapMiB = (await heapBytes(page)) / MIB;
  const found = await violations(page);
  await running.stop();
  await proxy.stop();
  await server.stop();
  const pictures = { firstOfLayoutMs, firstPictureMs, arenaPictureMs: arenaPicture.firstPictureMs };
  return { frames, ...pictures, heapMiB, violations: found };

  async function withChanges(work: () => Promise<FrameFigures>): Promise<FrameFigures> {
    proxy.rate = rate;
    const done = await work();
    proxy.rate = 0;
    return done;
  }
}

async function measurePlainDrawing(
  running: RunningBrowser,
  seconds: number,
): Promise<FrameFigures> {
  const page = await openPlainDrawing(running);
  const frames = await measureFrames(running, page, () => page.waitForTimeout(seconds * 1_000));
  await page.close();
  return frames;
}

/** The first time, the server makes the geometry. */
async function secondOpening(running: RunningBrowser, event: StagedEvent) {
  const first = await openConsole(running, event);
  await first.page.close();
  return { ...(await openConsole(running, event)), firstOfLayoutMs: first.firstPictureMs };
}

/** Chromium gives the times of frames in tenths of a millisecond. */
function tenths(milliseconds: number): number {
  return Math.round(10 * milliseconds) / 10;
}

function kilobytesOf(ending: string): number {
  const files = readdirSync(ASSETS).filter((name) => name.endsWith(ending));
  const bytes = files.map((name) => gzipSync(readFileSync(new URL(name, ASSETS))).length);
  return bytes.reduce((sum, one) => sum + one, 0) / 1_000;
}
