/** Chromium without a window, and what its processes cost. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

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
