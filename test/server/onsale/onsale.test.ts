/**
 * Whole sales over HTTP. The honest ones play against any server: set FRONTROW_ONSALE_URL and
 * FRONTROW_ONSALE_KEY to use a running one; without them, each starts a tiny server of its own.
 */

import { Command } from "commander";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test, vi } from "vitest";
import type { LedgerLine } from "../../../server/onsale/books/ledger.ts";
import { addOnsaleCommand } from "../../../server/onsale/command.ts";
import type { Report } from "../../../server/onsale/report.ts";
import {
  TINY_KEY,
  type TinyLayout,
  type TinyOptions,
  TinyServer,
} from "../../support/tiny-server.ts";

const SPACING = 28;
/** Far more than a sale takes: only one that never ends comes to it, and then to a verdict. */
const SECONDS = "60";
const TEST_MS_MAX = 90_000;
/**
 * A crowd that a busy machine serves too: the tiny server takes one new connection in each turn of
 * the event loop that it shares with the crowd.
 */
const CROWD = ["--buyers", "100", "--connections", "16", "--seed", "1"];
const folder = mkdtempSync(join(tmpdir(), "onsale-"));
const stops: (() => Promise<void>)[] = [];

vi.setConfig({ testTimeout: TEST_MS_MAX });

afterEach(async () => {
  vi.restoreAllMocks();
  for (const stop of stops.splice(0)) await stop();
});

/** Ten rows of eighteen seats with an aisle in the middle, a round table, two areas. */
function smallHouse(): TinyLayout {
  const rows = Array.from({ length: 10 }, (_, row) => `row ${row}`);
  const aisleAfter = 8;
  return {
    sectors: [
      { guid: "stalls", name: "Stalls", ga: false },
      { guid: "table", name: "Table", ga: false, type: "TABLE" },
      { guid: "pit", name: "Pit", ga: true, gaCapacity: 60 },
      { guid: "lawn", name: "Lawn", ga: true, gaCapacity: 35 },
    ],
    rows: [
      ...rows.map((guid) => ({ guid, sectorGuid: "stalls", name: "Row", rowNumber: guid })),
      { guid: "round", sectorGuid: "table", name: "Row", rowNumber: "1" },
    ],
    seats: [
      ...rows.flatMap((rowGuid) => seatsOf(rowGuid, 18, aisleAfter)),
      ...seatsOf("round", 6, 6),
    ],
  };
}

function seatsOf(rowGuid: string, count: number, aisleAfter: number): TinyLayout["seats"] {
  return Array.from({ length: count }, (_, index) => {
    const aisle = index > aisleAfter ? 2 * SPACING : 0;
    const ax = index * SPACING + aisle;
    return { guid: `${rowGuid}/${index}`, rowGuid, name: `${index + 1}`, ax, ay: 0 };
  });
}

const HOUSE_SEATS = 186;
const HOUSE_PLACES = 95;
const NOTHING = { seats: 0, places: 0 };
/** Enough to make the event, and everybody gives back. */
const BRIEFLY = ["--seconds", "1", "--give-up", "1", "--buyers", "1"];

function layoutFile(name: string): string {
  const path = join(folder, name);
  const text = JSON.stringify(smallHouse());
  writeFileSync(path, name.endsWith(".gz") ? gzipSync(text) : text);
  return path;
}

async function startTiny(options: TinyOptions): Promise<TinyServer> {
  const server = new TinyServer(options);
  await server.start();
  stops.push(() => server.crash());
  return server;
}

/** The server under test, as flags. */
async function honestServer(preventsOrphans: boolean): Promise<string[]> {
  const { FRONTROW_ONSALE_URL: url, FRONTROW_ONSALE_KEY: key } = process.env;
  if (url !== undefined && key !== undefined) return ["--url", url, "--key", key];
  return flagsOf(await startTiny({ preventsOrphans }));
}

function flagsOf(server: TinyServer): string[] {
  return ["--url", server.url, "--key", TINY_KEY];
}

interface Played {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command in this process and catches what it prints and how it ends. */
async function play(...flags: string[]): Promise<Played> {
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
    await program.parseAsync(["onsale", ...flags], { from: "user" });
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

async function report(...flags: string[]): Promise<Report & { exitCode: number }> {
  const limits = ["--think-ms", "2", "--seconds", SECONDS, ...CROWD, "--json"];
  const { exitCode, stdout, stderr } = await play(...limits, ...flags);
  expect(stdout, stderr).not.toBe("");
  return { ...(JSON.parse(stdout) as Report), exitCode };
}

function expectSoldOut(played: Report & { exitCode: number }): void {
  expect(played.checks.filter(({ passed }) => !passed)).toEqual([]);
  expect(played).toMatchObject({ exitCode: 0, passed: true, soldOut: true });
  expect(played.sold).toEqual({ seats: HOUSE_SEATS, places: HOUSE_PLACES });
}

test("a crowd sells a house out to the last seat and place", async () => {
  const server = await honestServer(false);
  const layout = layoutFile("house.json");
  const played = await report(...server, "--layout", layout, "--buyers", "40");
  expectSoldOut(played);
  expect(played.latency.sale.count).toBeGreaterThan(0);
  expect(played.buyers.gaveUp).toBeGreaterThan(0);
});

test("with orphan prevention the house sells out too, from a packed layout", async () => {
  const server = await honestServer(true);
  const layout = layoutFile("house.json.gz");
  expectSoldOut(await report(...server, "--layout", layout, "--buyers", "100", "--seed", "1"));
});

test("single buyers, one at a time, leave no seat behind", async () => {
  const server = await honestServer(true);
  const flags = ["--buyers", "1", "--seats-per-buyer", "1", "--think-ms", "0", "--give-up", "0"];
  expectSoldOut(await report(...server, "--layout", layoutFile("house.json"), ...flags));
});

test("a second run on a sold-out event finds nothing to do and passes", async () => {
  const server = await honestServer(true);
  const first = await report(...server, "--layout", layoutFile("house.json"));
  const second = await report(...server, "--event", first.eventId);
  expect(second).toMatchObject({ exitCode: 0, soldOut: true, sold: { seats: 0, places: 0 } });
});

test("when the time is up the report says what is left, and that is no fault", async () => {
  const server = await honestServer(false);
  const flags = ["--give-up", "1", "--seconds", "1", "--buyers", "5"];
  const played = await report(...server, "--layout", layoutFile("house.json"), ...flags);
  expect(played).toMatchObject({ exitCode: 0, soldOut: false, sold: { seats: 0, places: 0 } });
  expect(played.left.free).toEqual({ seats: HOUSE_SEATS, places: HOUSE_PLACES });
});

test("while a stranger holds a seat the sale goes on, to a verdict at the time limit", async () => {
  const server = await startTiny({ preventsOrphans: false });
  const first = await report(...flagsOf(server), "--layout", layoutFile("house.json"), ...BRIEFLY);
  const [seat] = server.inventory.seats.values();
  const held = { sessionId: "stranger", seats: [{ id: seat!.id }], groupOfSeats: [] };
  expect(server.inventory.call("lock", held)).toBe(true);
  const played = await report(...flagsOf(server), "--event", first.eventId, "--seconds", "6");
  expect(played).toMatchObject({ exitCode: 0, passed: true, soldOut: false });
  expect(played.left).toEqual({ free: NOTHING, held: { seats: 1, places: 0 } });
});

test("seats that a stranger releases beside the last free ones are still sold", async () => {
  const server = await startTiny({ preventsOrphans: true });
  const first = await report(...flagsOf(server), "--layout", layoutFile("house.json"), ...BRIEFLY);
  const { inventory } = server;
  const ids = [...inventory.seats.keys()];
  const ends = Array.from({ length: 10 }, (_, row) => ids[row * 18]!);
  const call = (name: "lock" | "unlock", seatIds: readonly number[]) => {
    const seats = seatIds.map((id) => ({ id }));
    expect(inventory.call(name, { sessionId: "stranger", seats, groupOfSeats: [] })).toBe(true);
  };
  const besideEnds = ends.map((id) => id + 1);
  call("lock", [...ends, ...besideEnds]);
  call("unlock", ends);
  const playing = report(...flagsOf(server), "--event", first.eventId, "--seconds", "20");
  // The first listing shows them as held; no buyer is ever told that they are free now.
  await server.booked(server.bookingCount + 1);
  call("unlock", besideEnds);
  expectSoldOut(await playing);
});

test("nobody hesitates beyond the time limit", async () => {
  const server = await honestServer(false);
  const flags = ["--think-ms", "600000", "--seconds", "1", "--buyers", "5"];
  const played = await report(...server, "--layout", layoutFile("house.json"), ...flags);
  expect(played).toMatchObject({ exitCode: 0, passed: true, soldOut: false });
  expect(played.left.held).toEqual(NOTHING);
  expect(played.seconds).toBeLessThan(60);
});

test("a crowd of thousands that may not book any more goes home with one clear line", async () => {
  const server = await startTiny({ preventsOrphans: false, closesAfter: 100 });
  const flags = ["--buyers", "20000", "--give-up", "1", "--layout", layoutFile("house.json")];
  const { exitCode, stderr } = await play(...flagsOf(server), ...flags);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^error: POST .*: 400 ORGANIZATION_DISABLED: .*\n$/m);
});

test("a server that is killed and comes back sells out with nothing lost or doubled", async () => {
  const server = await startTiny({ preventsOrphans: true });
  const playing = report(...flagsOf(server), "--layout", layoutFile("house.json"));
  const crashes = (async () => {
    // In the middle of the sale: the setup before it is not repeated, and ends with a clear line.
    for (const bookings of [50, 100, 150]) {
      await server.booked(bookings);
      await server.crash();
      await new Promise((resolve) => setTimeout(resolve, 50));
      await server.start();
    }
  })();
  const played = await playing;
  await crashes;
  expectSoldOut(played);
  expect(played.outages).toBeGreaterThan(0);
});

test("answers that are lost on the way are settled, whatever was asked", async () => {
  const server = await startTiny({ preventsOrphans: true, losesAnswerEvery: 5 });
  const played = await report(...flagsOf(server), "--layout", layoutFile("house.json"));
  expectSoldOut(played);
  expect(played.unknownOutcomes).toBeGreaterThan(10);
});

test("a server that answers 503 now and then is asked again", async () => {
  const failsEvery = { count: 7, status: 503 };
  const server = await startTiny({ preventsOrphans: false, failsEvery });
  const played = await report(...flagsOf(server), "--layout", layoutFile("house.json"));
  expectSoldOut(played);
  expect(played.serverErrors["503"]).toBeGreaterThan(0);
});

test("a server that answers 500 fails the check", async () => {
  const failsEvery = { count: 50, status: 500 };
  const server = await startTiny({ preventsOrphans: false, failsEvery });
  const played = await report(...flagsOf(server), "--layout", layoutFile("house.json"));
  expect(played).toMatchObject({ exitCode: 1, passed: false, soldOut: true });
});

test("a server that sells a seat twice is found out", async () => {
  const server = await startTiny({ preventsOrphans: false, cheats: { sellsOneSeatTwice: true } });
  const flags = ["--layout", layoutFile("house.json"), "--think-ms", "2", ...CROWD];
  const { exitCode, stdout } = await play(...flagsOf(server), ...flags);
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^check: FAIL no seat was sold to two buyers \(seat \d+\)$/m);
});

test("a server that forgets a sale is found out", async () => {
  const server = await startTiny({ preventsOrphans: false, cheats: { losesOneSale: true } });
  const played = await report(...flagsOf(server), "--layout", layoutFile("house.json"));
  expect(played.exitCode).toBe(1);
  const failed = played.checks.filter(({ passed }) => !passed).map(({ name }) => name);
  expect(failed).toContain("every seat bought is SOLD");
});

test("a server that loses a hold is found out", async () => {
  const server = await startTiny({ preventsOrphans: false, cheats: { losesOneHold: true } });
  const flags = ["--give-up", "0", "--seats-per-buyer", "1"];
  const played = await report(...flagsOf(server), "--layout", layoutFile("house.json"), ...flags);
  expect(played.checks.filter(({ passed }) => !passed)).toEqual([
    {
      name: "every acknowledged hold could be bought",
      passed: false,
      detail: "1 holds were gone",
    },
  ]);
});

test("a server whose counters lose places is found out", async () => {
  const server = await startTiny({ preventsOrphans: false, cheats: { miscountsPlaces: true } });
  const played = await report(...flagsOf(server), "--layout", layoutFile("house.json"));
  expect(played.exitCode).toBe(1);
  const failed = played.checks.filter(({ passed }) => !passed).map(({ name }) => name);
  expect(failed).toContain("area counters add up to the capacity");
});

test("the ledger holds each call and its answer, and a sale for everything bought", async () => {
  const server = await honestServer(true);
  const ledger = join(folder, "ledger.jsonl");
  const layout = layoutFile("house.json");
  const played = await report(...server, "--layout", layout, "--ledger", ledger);
  const lines = readFileSync(ledger, "utf8").trimEnd().split("\n");
  const entries = lines.map((line) => JSON.parse(line) as LedgerLine);
  const asked = entries.filter(({ step }) => step === "asked");
  expect(asked).toHaveLength(entries.length - asked.length);
  const sales = entries.filter(({ op, step }) => op === "sale" && step === "answered");
  expect(sales).toHaveLength(played.buyers.bought);
  expect(sales.flatMap(({ seats }) => seats)).toHaveLength(HOUSE_SEATS);
});

test("the report for people is aligned and ends with the verdicts", async () => {
  const server = await honestServer(true);
  const layout = layoutFile("house.json");
  const flags = ["--layout", layout, "--think-ms", "2", ...CROWD, "--seed", "7"];
  const { exitCode, stdout, stderr } = await play(...server, ...flags);
  expect(exitCode).toBe(0);
  expect(stderr).toMatch(/^event [0-9a-f-]{36}\n$/);
  expect(stdout).toMatch(/^seed {18}7$/m);
  expect(stdout).toMatch(/^sold {18}186 seats, 95 places$/m);
  expect(stdout).toMatch(/^check: ok {3}every seat bought is SOLD$/m);
});

test("a key that the server refuses ends the run with one clear line", async () => {
  const server = await startTiny({ preventsOrphans: false });
  const flags = ["--url", server.url, "--key", "wrong", "--layout", layoutFile("house.json")];
  const { exitCode, stderr } = await play(...flags);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^error: POST .*\/venues\/: 403 ACCESS_DENIED: .*\n$/);
});

test("wrong usage is exit code 2 and names the fault", async () => {
  const event = ["--event", "00000000-0000-4000-8000-000000000001"];
  const key = ["--key", "k"];
  const wrong: [string[], RegExp][] = [
    [[...event], /FRONTROW_KEY/],
    [[...key], /--event.*--layout/],
    [[...key, ...event, "--layout", layoutFile("house.json")], /cannot be used/],
    [[...key, "--layout", join(folder, "missing.json")], /missing\.json/],
    [[...key, "--event", "7"], /UUID/],
    [[...key, ...event, "--surprise"], /unknown option/],
    [[...key, ...event, "--buyers", "0"], /whole number/],
    [[...key, ...event, "--give-up", "1.5"], /share/],
    [[...key, ...event, "--seats-per-buyer", "5-2"], /1 to 6/],
    [[...key, ...event, "--url", "localhost"], /address/],
  ];
  for (const [flags, message] of wrong) {
    const { exitCode, stderr } = await play(...flags);
    expect(exitCode, flags.join(" ")).toBe(2);
    expect(stderr).toMatch(message);
  }
});

test("the help explains every flag", async () => {
  const { exitCode, stdout } = await play("--help");
  expect(exitCode).toBe(0);
  for (const line of stdout.split("\n").filter((text) => text.startsWith("  --"))) {
    expect(line).toMatch(/^ {2}--[a-z-]+( <.+>)? {2,}\S/);
  }
  expect(stdout).toMatch(/Exit code: 0 every check passed/);
});
