/** The console in a page, as the measurements use it. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";
import type { StagedEvent } from "./stage.ts";

const PAINTED = "frontrow: painted";
const FRAME_MS = 16.7;
/** Counts frames, and violations of the policy, from the beginning. */
const WATCH = `
  window.frames_ = []; window.violations_ = [];
  document.addEventListener("securitypolicyviolation", (event) => {
    violations_.push(event.violatedDirective);
  });
  const note = (ms) => { frames_.push(ms); requestAnimationFrame(note); };
  requestAnimationFrame(note);
`;

/** Draws 20,000 rectangles in each frame, one call each, as a page without an idea would. */
const PLAIN_DRAWING = `
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [1_600, 900];
  document.body.append(canvas);
  const context = canvas.getContext("2d");
  let frame = 0;
  const draw = () => {
    frame++;
    for (let i = 0; i < 20_000; i++) {
      context.fillStyle = COLOURS[(i + frame) % COLOURS.length];
      context.fillRect((i % 200) * 8, Math.floor(i / 200) * 9, 6, 6);
    }
    requestAnimationFrame(draw);
  };
  const COLOURS = ["#1b6", "#c33", "#36c", "#999"];
  requestAnimationFrame(draw);
`;

export interface FrameFigures {
  /** Of all processes of the browser, for one frame. */
  readonly processorMs: number;
  readonly medianMs: number;
  readonly frames: number;
}

/** Opens the event. @returns The page, and milliseconds without the time for typing. */
export async function openConsole(
  { browser }: RunningBrowser,
  { url, key, eventId }: StagedEvent,
  size = { width: 1_600, height: 900 },
): Promise<{ readonly page: Page; readonly firstPictureMs: number }> {
  const page = await browser.newPage({ viewport: size });
  await page.addInitScript(WATCH);
  await page.goto(new URL(`/console#event/${eventId}`, url).href);
  await page.getByRole("button", { name: "API key" }).click();
  await page.waitForSelector("input[name=key]");
  const shownMs = await page.evaluate<number>("performance.now()");
  await page.fill("input[name=key]", key);
  await page.evaluate(`window.submitted_ = performance.now();
    document.querySelector("form").requestSubmit()`);
  const openedMs = await page.evaluate<number>(`new Promise((resolve) => {
    const look = () => {
      const [mark] = performance.getEntriesByName("${PAINTED}");
      if (mark === undefined) setTimeout(look, 20);
      else resolve(mark.startTime - submitted_);
    };
    look();
  })`);
  return { page, firstPictureMs: shownMs + openedMs };
}

/** @returns A page of known work, which says how fast this machine is just now. */
export async function openPlainDrawing({ browser }: RunningBrowser): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1_600, height: 900 } });
  await page.addInitScript(WATCH);
  await page.goto("about:blank");
  await page.evaluate(PLAIN_DRAWING);
  return page;
}

/** Measures frames while `work` runs. */
export async function measureFrames(
  { processorMs }: RunningBrowser,
  page: Page,
  work: () => Promise<void>,
): Promise<FrameFigures> {
  await page.evaluate("void (frames_.length = 0)");
  const before = processorMs();
  await work();
  const spentMs = processorMs() - before;
  const times = await page.evaluate<number[]>("frames_");
  const gaps = times.slice(1).map((time, i) => time - times[i]!);
  const medianMs = gaps.sort((a, b) => a - b)[gaps.length >> 1] ?? Infinity;
  return { processorMs: spentMs / Math.max(1, times.length), medianMs, frames: times.length };
}

/** Moves the map with the pointer in circles, and then zooms in and out. */
export async function panAndZoom(page: Page, seconds: number): Promise<void> {
  const endMs = performance.now() + seconds * 1_000;
  const [x, y] = [600, 450];
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (let step = 0; performance.now() < endMs - seconds * 500; step++) {
    // oxlint-disable-next-line no-await-in-loop -- one movement after the other
    await page.mouse.move(x + 250 * Math.sin(step / 20), y + 150 * Math.sin(step / 13));
    // oxlint-disable-next-line no-await-in-loop
    await page.waitForTimeout(FRAME_MS / 2);
  }
  await page.mouse.up();
  for (let step = 0; performance.now() < endMs; step++) {
    // oxlint-disable-next-line no-await-in-loop
    await page.mouse.wheel(0, step % 80 < 40 ? -20 : 20);
    // oxlint-disable-next-line no-await-in-loop
    await page.waitForTimeout(FRAME_MS);
  }
}

/** Bytes of the JavaScript heap after garbage collection. */
export async function heapBytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  return usedSize;
}

/** The directives that the page has violated. */
export function violations(page: Page): Promise<string[]> {
  return page.evaluate<string[]>("violations_");
}

// Chromium without a window, and what its processes cost.

const CHROMIUM = process.env["FRONTROW_CHROMIUM"] ?? "/usr/bin/chromium";
/** Nothing but the page: no requests of its own, no graphics card, no sandbox for root. */
const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const MS_PER_TICK = 10;

export interface RunningBrowser {
  readonly browser: Browser;
  /** Processor time of all its processes so far, in milliseconds. */
  readonly processorMs: () => number;
  readonly stop: () => Promise<void>;
}

/** @throws Error when Debian's package `chromium` is not installed. */
export async function startBrowser(): Promise<RunningBrowser> {
  if (!existsSync(CHROMIUM)) throw new Error(`there is no ${CHROMIUM}: apt-get install chromium`);
  const server = await chromium.launchServer({ executablePath: CHROMIUM, args: ARGUMENTS });
  const browser = await chromium.connect(server.wsEndpoint());
  const { pid = 0 } = server.process();
  return {
    browser,
    processorMs: () => processorMsOf(pid),
    stop: async () => {
      await browser.close();
      await server.close();
    },
  };
}

/** Of a process and all that it started. */
function processorMsOf(root: number): number {
  const processes = readdirSync("/proc").flatMap((name) =>
    /^\d+$/.test(name) ? statOf(name) : [],
  );
  const family = new Set([root]);
  for (let size = 0; size < family.size;) {
    size = family.size;
    for (const { pid, parent } of processes) if (family.has(parent)) family.add(pid);
  }
  const own = processes.filter(({ pid }) => family.has(pid));
  return own.reduce((sum, { ticks }) => sum + ticks, 0) * MS_PER_TICK;
}

interface Stat {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
}

/** @returns Nothing for a process that has just ended. */
function statOf(name: string): Stat[] {
  let text: string;
  try {
    text = readFileSync(`/proc/${name}/stat`, "utf8");
  } catch {
    return [];
  }
  // The name of the program, in brackets, may have spaces.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return [
    {
      pid: Number(name),
      parent: Number(fields[1]),
      ticks: Number(fields[11]) + Number(fields[12]),
    },
  ];
}
