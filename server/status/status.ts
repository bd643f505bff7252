/** Reads a server's `/metrics` twice, and shows what happened meanwhile. */
import { setInterval } from "node:timers/promises";
import { paintFor } from "../onsale/terminal.ts";
import { Interval, Scrape } from "./scrape.ts";
import { screenOf, type Shown } from "./screen.ts";

export interface StatusFlags {
  readonly url: string;
  readonly token?: string;
  readonly watch?: boolean;
}

/** Time between two readings. Shorter would show the same text twice: the server keeps it. */
const INTERVAL_MS = 2_000;
const TIMEOUT_MS = 10_000;
const PLAIN_COLUMNS = 80;
const CLEAR = "\u001B[H\u001B[J";

/** Shows it once, or until interrupted. @throws Error when the server does not answer. */
export async function status({ url: given, token, watch = false }: StatusFlags): Promise<void> {
  const url = given.replace(/\/+$/, "");
  let before = await scrape(url, token);
  for await (const _ of setInterval(INTERVAL_MS)) {
    try {
      const [after, ready] = await Promise.all([scrape(url, token), isReady(url)]);
      show(
        { url, isReady: ready, interval: new Interval(before, after), nowMs: Date.now() },
        watch,
      );
      before = after;
    } catch (error) {
      if (!watch) throw error;
      // It may be restarting.
      process.stdout.write(`${(error as Error).message}\n`);
    }
    if (!watch) return;
  }
}

function show(shown: Shown, isRepeated: boolean): void {
  const { isTTY, columns } = process.stdout;
  const paper = { columns: isTTY ? columns : PLAIN_COLUMNS, paint: paintFor(process.stdout) };
  process.stdout.write((isRepeated && isTTY ? CLEAR : "") + screenOf(shown, paper));
}

async function scrape(url: string, token: string | undefined): Promise<Scrape> {
  const headers: Readonly<Record<string, string>> =
    token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const answer = await get(`${url}/metrics`, headers);
  if (answer.status === 403) throw new Error(`${url}/metrics needs the right --token`);
  if (!answer.ok) throw new Error(`${url}/metrics answers ${answer.status}`);
  return new Scrape(await answer.text(), performance.now());
}

async function isReady(url: string): Promise<boolean> {
  return (await get(`${url}/readyz`, {})).ok;
}

async function get(target: string, headers: Readonly<Record<string, string>>): Promise<Response> {
  try {
    return await fetch(target, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (error) {
    const { message, cause } = error as Error;
    const reason = cause instanceof Error ? cause.message : message;
    throw new Error(`no answer from ${target}: ${reason}`, { cause: error });
  }
}
