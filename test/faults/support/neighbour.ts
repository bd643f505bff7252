/** An on-sale of one organization, with and without a disturbing neighbour. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Report } from "../../../server/onsale/run.ts";
import { type ServerProcess, sleep } from "../../support/server-process.ts";
import type { Outcome, Run } from "../campaign.ts";
import { Player, type PlayOptions } from "./player.ts";
import type { Scope } from "./scope.ts";
import { createOrganization, sizedPlan, startServer } from "./serving.ts";

/** The bound on resident memory above that before the disturbance. */
const GROWN_MIB_MAX = 400;
const KIB_PER_MIB = 1_024;
const V2 = "/api/private/v2.0";
/** Time limit of one on-sale. */
const SALE_SECONDS = 900;
/** Of the disturber before the measured on-sale begins. */
const WARM_UP_MS = 1_000;
/** A server that is about to end has ended after so long. */
const END_MS = 2_000;
/** Characters of its last words. */
const WORDS_MAX = 4_000;

export interface SaleForm {
  readonly seats: number;
  readonly places: number;
  readonly buyers: number;
  /** On-sales follow each other for at least so long, without and with the disturbance. */
  readonly usualMs: number;
  readonly disturbedMs: number;
  /** The goal for the p99 of a lock: at most so many times its usual value. */
  readonly goalTimes: number;
  /** A violation; null when the speed of the machine must not matter. */
  readonly timesMax: number | null;
}

export const SHORT_SALE = {
  seats: 200,
  places: 50,
  buyers: 20,
  usualMs: 0,
  disturbedMs: 0,
  timesMax: null,
};
export const LONG_SALE = { seats: 10_000, places: 2_000, buyers: 200, usualMs: 60_000 };

export interface Disturber {
  /** Settles when it has begun. */
  start(): void | Promise<void>;
  stop(): Promise<void>;
  readonly figures: Outcome["figures"];
  readonly violations: readonly string[];
}

/** @param prepare - What the disturber needs in the server is there before memory is measured. */
export async function besideOnsale(
  { scope, seed, tell }: Run,
  form: SaleForm,
  prepare: (server: ServerProcess) => Promise<Disturber>,
): Promise<Outcome> {
  const server = await startServer(scope, { folder: path.join(scope.folder(), "data") });
  try {
    return await playBeside(server, { scope, seed, tell }, form, prepare);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${await lastWords(server)}`, { cause: error });
  }
}

async function playBeside(
  server: ServerProcess,
  { scope, seed, tell }: Pick<Run, "scope" | "seed" | "tell">,
  form: SaleForm,
  prepare: (server: ServerProcess) => Promise<Disturber>,
): Promise<Outcome> {
  const neighbour = await Neighbour.create(scope, server, form);
  const disturber = await prepare(server);
  tell("the usual on-sale");
  const emptyMiB = memoryOf(server.pid, "VmRSS");
  const usual = await neighbour.play(seed, form.usualMs);
  resetPeak(server.pid);
  const beforeMiB = memoryOf(server.pid, "VmRSS");
  await disturber.start();
  await sleep(WARM_UP_MS);
  tell("the disturbed on-sale");
  const disturbed = await neighbour.play(seed, form.disturbedMs);
  await disturber.stop();
  const violations = [...disturber.violations, ...wrongSales([...usual, ...disturbed])];
  const isAlive = (await server.request("GET", "/readyz")).ok;
  if (!isAlive) violations.push("it is not ready any more");
  const grownMiB = memoryOf(server.pid, "VmHWM") - beforeMiB;
  if (grownMiB > GROWN_MIB_MAX) violations.push(`resident memory has grown by ${grownMiB} MiB`);
  const { code, signal } = await server.kill("SIGTERM");
  if (code !== 0) violations.push(`an orderly end exits with ${code ?? signal}`);
  const times = medianP99(disturbed) / medianP99(usual);
  if (form.timesMax !== null && times > form.timesMax) {
    violations.push(`the p99 of a lock is ${times.toFixed(1)} times its usual value`);
  }
  const figures = {
    "on-sales, usual and disturbed": `${usual.length}, ${disturbed.length}`,
    "p99 of a lock, usual": p99Text(usual),
    "p99 of a lock, disturbed": p99Text(disturbed),
    "times the usual": `${times.toFixed(1)} (goal: at most ${form.goalTimes})`,
    "resident memory before": `${beforeMiB} MiB`,
    "  added by the usual on-sales": `${beforeMiB - emptyMiB} MiB`,
    "most above that": `${grownMiB} MiB (at most ${GROWN_MIB_MAX})`,
  };
  return { figures: { ...figures, ...disturber.figures }, violations };
}

/** Exit and output of a silent server, for the message of a failure. */
async function lastWords(server: ServerProcess): Promise<string> {
  const exit = await Promise.race([server.exited, sleep(END_MS)]);
  const end = exit === undefined ? "is alive" : `ended with ${exit.code ?? exit.signal}`;
  return `the server ${end}, and its last words are:\n${server.stderr.slice(-WORDS_MAX)}`;
}

/** The organization whose tickets are sold. */
class Neighbour {
  readonly #scope: Scope;
  readonly #server: ServerProcess;
  readonly #options: Pick<PlayOptions, "url" | "key" | "layout">;
  readonly #form: SaleForm;

  private constructor(scope: Scope, server: ServerProcess, form: SaleForm, sells: Sells) {
    this.#scope = scope;
    this.#server = server;
    this.#form = form;
    this.#options = { url: server.url, ...sells };
  }

  static async create(scope: Scope, server: ServerProcess, form: SaleForm): Promise<Neighbour> {
    const layout = path.join(scope.folder(), "layout.json");
    writeFileSync(layout, JSON.stringify(sizedPlan(form.seats, form.places)));
    const { secretKey: key } = await createOrganization(server);
    return new Neighbour(scope, server, form, { key, layout });
  }

  /**
   * Plays on-sales one after the other. What each was made of is deleted after it: leftovers of
   * past on-sales are not the neighbour's work.
   *
   * @returns The report of each.
   */
  async play(seed: number, durationMs: number): Promise<readonly Report[]> {
    const endMs = performance.now() + durationMs;
    const reports: Report[] = [];
    do {
      const ledger = path.join(this.#scope.folder(), "ledger.jsonl");
      const { buyers } = this.#form;
      const sale = { ledger, buyers, seconds: SALE_SECONDS, seed: seed + reports.length };
      const player = new Player(this.#scope, { ...this.#options, ...sale });
      reports.push((await player.ended()).report);
      await this.#delete(player.eventId!);
    } while (performance.now() < endMs);
    return reports;
  }

  /** The event, its schema and its venue. */
  async #delete(eventId: string): Promise<void> {
    const { key } = this.#options;
    const v2 = async <T>(method: string, target: string) => {
      const response = await this.#server.request(method, `${V2}/${target}`, undefined, key);
      if (!response.ok) throw new Error(`${method} ${target}: ${await response.text()}`);
      return (response.status === 204 ? null : await response.json()) as T;
    };
    const { schemaId } = await v2<{ schemaId: number }>("GET", `events/${eventId}`);
    const { venueId } = await v2<{ venueId: number }>("GET", `schemas/${schemaId}`);
    await v2("DELETE", `events/${eventId}`);
    await v2("DELETE", `schemas/${schemaId}`);
    await v2("DELETE", `venues/${venueId}`);
  }
}

type Sells = Pick<PlayOptions, "key" | "layout">;

function wrongSales(reports: readonly Report[]): string[] {
  return reports.flatMap(({ passed, soldOut, soldTwice, headline, serverErrors }) => {
    const isRight = passed && soldOut && soldTwice === 0 && serverErrors["500"] === undefined;
    return isRight ? [] : [`${headline}, errors: ${JSON.stringify(serverErrors)}`];
  });
}

const p99Of = ({ latency }: Report) => latency.lock.p99Ms;

function medianP99(reports: readonly Report[]): number {
  const sorted = reports.map(p99Of).toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1]!;
}

function p99Text(reports: readonly Report[]): string {
  const worst = Math.max(...reports.map(p99Of));
  return `${medianP99(reports).toFixed(1)} ms (worst on-sale: ${worst.toFixed(1)} ms)`;
}

/** Linux starts to count the peak of resident memory again. */
function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

/** @param member - `VmRSS` is now, `VmHWM` the peak. @returns MiB. */
function memoryOf(pid: number, member: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const kibibytes = new RegExp(`${member}:\\s+(\\d+) kB`).exec(status)?.[1];
  return Math.round(Number(kibibytes) / KIB_PER_MIB);
}
