/** Runs `frontrow onsale` in this process, on a tiny server and a small layout. */
import { Command } from "commander";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, vi } from "vitest";
import { addOnsaleCommand } from "../../../server/command-line.ts";
import type { Report } from "../../../server/onsale/run.ts";
import { guidOf } from "../../support/layout.ts";
import { type TinyOptions, TinyServer } from "../../support/tiny-server.ts";

const SPACING = 28;
/**
 * A time limit for sales without an end, and a crowd small enough for a busy machine:
 * the tiny server shares its event loop with the crowd and accepts one connection in each turn.
 */
const FLAGS = "--think-ms 2 --seconds 60 --buyers 100 --connections 16 --seed 1".split(" ");

export const HOUSE_SEATS = 186;
export const HOUSE_PLACES = 95;

/** Exit and output of the command. */
export interface Played {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export type PlayedReport = Report & { readonly exitCode: number };

/**
 * Ten rows of eighteen seats with an aisle, a round table, two areas.
 * @param hides - Hides the seats of the table.
 */
function house(hides: boolean): object {
  const rows = Array.from({ length: 10 }, (_, row) => `${row + 1}`);
  return {
    sectors: [
      { guid: guidOf("stalls"), name: "Stalls", ga: false },
      { guid: guidOf("table"), name: "Table", ga: false, type: "TABLE" },
      { guid: guidOf("pit"), name: "Pit", ga: true, gaCapacity: 60 },
      { guid: guidOf("lawn"), name: "Lawn", ga: true, gaCapacity: 35 },
    ],
    rows: [
      ...rows.map((row) => ({
        guid: guidOf(row),
        sectorGuid: guidOf("stalls"),
        name: "Row",
        rowNumber: row,
      })),
      { guid: guidOf("round"), sectorGuid: guidOf("table"), name: "Row", rowNumber: "1" },
    ],
    seats: [
      ...rows.flatMap((row) => seatsOf(row, 18)),
      ...seatsOf("round", 6).map((seat) => ({ ...seat, isHidden: hides })),
    ],
  };
}

function seatsOf(row: string, count: number): object[] {
  return Array.from({ length: count }, (_, index) => {
    const aisle = index > 8 ? 2 * SPACING : 0;
    return {
      guid: guidOf(`${row}/${index}`),
      rowGuid: guidOf(row),
      name: `${index + 1}`,
      ax: index * SPACING + aisle,
      ay: 0,
    };
  });
}

/** @returns A folder for one test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "onsale-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** @returns The flags for the layout as a file; a name that ends in `.gz` compresses it. */
export function layoutFlags(name = "house.json", hides = false): string[] {
  const path = join(temporaryFolder(), name);
  const text = JSON.stringify(house(hides));
  writeFileSync(path, name.endsWith(".gz") ? gzipSync(text) : text);
  return ["--layout", path];
}

export async function startTiny(options: Partial<TinyOptions> = {}): Promise<TinyServer> {
  const server = new TinyServer({ preventsOrphans: false, ...options });
  await server.start();
  onTestFinished(() => server.crash());
  return server;
}

export function serverFlags(server: TinyServer): string[] {
  return ["--url", server.url, "--key", server.key];
}

/** Runs the command and captures its output and exit code. */
export async function play(...flags: string[]): Promise<Played> {
  let stdout = "";
  let stderr = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => ((stdout += text), true));
  vi.spyOn(process.stderr, "write").mockImplementation((text) => ((stderr += text), true));
  vi.spyOn(process, "exit").mockImplementation((code) => {
    throw new Error(`exit ${code}`);
  });
  const program = new Command();
  addOnsaleCommand(program);
  try {
    await program.parseAsync(["onsale", ...FLAGS, ...flags], { from: "user" });
    return { exitCode: Number(process.exitCode), stdout, stderr };
  } catch (error) {
    const exit = /^exit (\d)$/.exec((error as Error).message);
    if (exit === null) throw error;
    return { exitCode: Number(exit[1]), stdout, stderr };
  } finally {
    process.exitCode = undefined;
    vi.restoreAllMocks();
  }
}

export async function playReport(...flags: string[]): Promise<PlayedReport> {
  const { exitCode, stdout, stderr } = await play("--json", ...flags);
  expect(stdout, stderr).not.toBe("");
  return { ...(JSON.parse(stdout) as Report), exitCode };
}

/** Makes the event on a tiny server without selling anything. @returns The flags for it. */
export async function prepareEvent(server: TinyServer): Promise<string[]> {
  const briefly = ["--seconds", "1", "--give-up", "1", "--buyers", "1"];
  const { eventId } = await playReport(...serverFlags(server), ...layoutFlags(), ...briefly);
  return [...serverFlags(server), "--event", eventId];
}

export function expectSoldOut(played: PlayedReport): void {
  expect(played.checks.filter(({ passed }) => !passed)).toEqual([]);
  expect(played).toMatchObject({ exitCode: 0, passed: true, soldOut: true, endedBy: "SOLD_OUT" });
  expect(played.sold).toEqual({ seats: HOUSE_SEATS, places: HOUSE_PLACES });
}
