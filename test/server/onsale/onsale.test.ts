/**
 * Whole sales over HTTP. Those against a correct server can use a running one: set
 * FRONTROW_ONSALE_URL and FRONTROW_ONSALE_KEY. By default each test starts a server.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { LedgerLine } from "../../../server/onsale/books.ts";
import type { TinyOptions } from "../../support/tiny-server.ts";
import { LedgerFold } from "../../support/ledger-check.ts";
import {
  expectSoldOut,
  HOUSE_PLACES,
  HOUSE_SEATS,
  layoutFlags,
  play,
  playReport,
  prepareEvent,
  serverFlags,
  startTiny,
  temporaryFolder,
} from "./play.ts";

const NOTHING = { seats: 0, places: 0 };

vi.setConfig({ testTimeout: 90_000 });

/** The flags for a correct server. */
async function correctServer(options: Partial<TinyOptions> = {}): Promise<string[]> {
  const { FRONTROW_ONSALE_URL: url, FRONTROW_ONSALE_KEY: key } = process.env;
  if (url !== undefined && key !== undefined) return ["--url", url, "--key", key];
  return serverFlags(await startTiny(options));
}

/** Plays on a new event of a tiny server. */
async function playTiny(options: Partial<TinyOptions>, ...flags: string[]) {
  const server = await startTiny(options);
  return playReport(...serverFlags(server), ...layoutFlags(), ...flags);
}

function failedChecks({ checks }: { checks: readonly { name: string; passed: boolean }[] }) {
  return checks.filter(({ passed }) => !passed).map(({ name }) => name);
}

test("a crowd buys every seat and place", async () => {
  const played = await playReport(...(await correctServer()), ...layoutFlags(), "--buyers", "40");
  expectSoldOut(played);
  expect(played.headline).toMatch(/^SOLD OUT: 281 tickets in \d+\.\d s, 0 sold twice$/);
  expect(played.latency.sale.count).toBeGreaterThan(0);
  expect(played.buyers.gaveUp).toBeGreaterThan(0);
});

test("with orphan prevention, a compressed layout sells out", async () => {
  const server = await correctServer({ preventsOrphans: true });
  expectSoldOut(await playReport(...server, ...layoutFlags("house.json.gz")));
});

test("with orphan prevention, buyers of single seats leave none behind", async () => {
  const server = await correctServer({ preventsOrphans: true });
  const flags = ["--buyers", "1", "--seats-per-buyer", "1", "--think-ms", "0", "--give-up", "0"];
  expectSoldOut(await playReport(...server, ...layoutFlags(), ...flags));
});

test("the server chooses → a crowd buys the best places up to the last one", async () => {
  const server = await correctServer();
  const played = await playReport(...server, ...layoutFlags(), "--best", "--buyers", "40");
  expectSoldOut(played);
  expect([played.isBest, played.latency.lock.count]).toEqual([true, 0]);
  expect(played.latency.best.count).toBeGreaterThan(0);
  expect(Object.keys(played.refused)).toEqual(["NOTHING_SUITABLE"]);
  const { refused, refusalsPerTicket, ticketsPerSecond, seconds } = played;
  expect(refusalsPerTicket).toBe(refused["NOTHING_SUITABLE"]! / (HOUSE_SEATS + HOUSE_PLACES));
  expect(ticketsPerSecond).toBe(Math.round((HOUSE_SEATS + HOUSE_PLACES) / seconds));
});

test("the server chooses, with orphan prevention → buyers of single seats take pairs at last", async () => {
  const server = await correctServer({ preventsOrphans: true });
  const flags = ["--best", "--seats-per-buyer", "1", "--buyers", "5", "--ga-share", "0"];
  expectSoldOut(await playReport(...server, ...layoutFlags(), ...flags));
});

test("the server never chooses hidden seats → the sale ends after the wait, and they are left", async () => {
  const flags = [...layoutFlags("house.json", true), "--best", "--hold-wait", "1"];
  const played = await playReport(...serverFlags(await startTiny()), ...flags);
  expect(played).toMatchObject({ exitCode: 0, endedBy: "HELD_BY_OTHERS" });
  expect(played.left).toEqual({ free: { seats: 6, places: 0 }, held: NOTHING });
  expect(played.headline).toMatch(
    /^NOT SOLD OUT: 275 tickets in \d+\.\d s, 6 still free, 0 sold twice$/,
  );
});

test("the server chooses, and loses answers → every unknown outcome is resolved", async () => {
  const path = join(temporaryFolder(), "ledger.jsonl");
  const played = await playTiny({ losesAnswerEvery: 5 }, "--best", "--ledger", path);
  expectSoldOut(played);
  expect(played.unknownOutcomes).toBeGreaterThan(10);
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  const fold = new LedgerFold();
  for (const line of lines) fold.enter(line);
  expect(fold.soldCount).toBe(HOUSE_SEATS + HOUSE_PLACES);
  expect([...fold.baskets.values()].filter(({ isLocked }) => isLocked)).toEqual([]);
});

test("the server chooses, and holds fewer seats per session → buyers ask for fewer", async () => {
  const server = await startTiny({ heldPerSession: 2 });
  const flags = ["--best", "--seats-per-buyer", "4"];
  const played = await playReport(...serverFlags(server), ...layoutFlags(), ...flags);
  expectSoldOut(played);
  expect(played.refused["HELD_LIMIT"]).toBeGreaterThan(0);
});

test("buyers pick more seats than a session may hold → they pick fewer", async () => {
  const server = await startTiny({ heldPerSession: 2 });
  const flags = [...layoutFlags(), "--seats-per-buyer", "4"];
  const played = await playReport(...serverFlags(server), ...flags);
  expectSoldOut(played);
  expect(played.refused["HELD_LIMIT"]).toBeGreaterThan(0);
});

test("a second run on a sold-out event passes and says that nothing was left", async () => {
  const server = await correctServer({ preventsOrphans: true });
  const { eventId } = await playReport(...server, ...layoutFlags());
  const played = await playReport(...server, "--event", eventId);
  expect(played).toMatchObject({ exitCode: 0, soldOut: true, sold: NOTHING });
  expect(played.headline).toBe("NOTHING TO SELL: no seat or place was left");
});

test("at the time limit, the run passes and reports what is left", async () => {
  const flags = ["--give-up", "1", "--seconds", "1", "--buyers", "5"];
  const played = await playReport(...(await correctServer()), ...layoutFlags(), ...flags);
  expect(played).toMatchObject({ exitCode: 0, soldOut: false, endedBy: "TIME_LIMIT" });
  expect(played.left.free).toEqual({ seats: HOUSE_SEATS, places: HOUSE_PLACES });
  const headline = /^TIME LIMIT REACHED: 0 tickets in \d+\.\d s, 281 still free, 0 sold twice$/;
  expect(played.headline).toMatch(headline);
});

test("at the time limit, buyers who hesitate decide at once", async () => {
  const flags = ["--think-ms", "600000", "--seconds", "1", "--buyers", "5"];
  const played = await playReport(...(await correctServer()), ...layoutFlags(), ...flags);
  expect(played).toMatchObject({ exitCode: 0, passed: true, soldOut: false });
  expect(played.left.held).toEqual(NOTHING);
  expect(played.seconds).toBeLessThan(60);
});

test("holds of another session that do not end are named, and end the sale early", async () => {
  const server = await startTiny();
  const event = await prepareEvent(server);
  const [seatId] = server.seatIds as [number];
  const [id] = server.areaIds as [number];
  const seats = [{ id: seatId }];
  const selection = { sessionId: "other", seats, groupOfSeats: [{ id, capacity: 2 }] };
  expect(server.book("lock", selection)).toBe(true);
  const played = await playReport(...event, "--hold-wait", "1");
  expect(played).toMatchObject({ exitCode: 0, soldOut: false, endedBy: "HELD_BY_OTHERS" });
  expect(played.left).toEqual({ free: NOTHING, held: { seats: 1, places: 2 } });
  expect(played.heldByOthers).toEqual([
    { name: "Stalls, row 1, seat 1", id: seatId },
    { name: "Pit", id, places: 2 },
  ]);
  const headline = /^NOT SOLD OUT: 278 tickets in \d+\.\d s, 3 held by others, 0 sold twice$/;
  expect(played.headline).toMatch(headline);
  expect(played.seconds).toBeGreaterThan(1);
});

test("a seat that another session releases during the wait is sold", async () => {
  const server = await startTiny();
  const event = await prepareEvent(server);
  const selection = { sessionId: "other", seats: [{ id: server.seatIds[0]! }] };
  expect(server.book("lock", selection)).toBe(true);
  const playing = playReport(...event, "--hold-wait", "600");
  const isLast = () => server.soldSeatCount === HOUSE_SEATS - 1;
  await vi.waitUntil(isLast, { timeout: 60_000 });
  expect(server.book("unlock", selection)).toBe(true);
  expectSoldOut(await playing);
});

test("the sale does not wait for holds of its own buyers", async () => {
  const flags = ["--hold-wait", "0", "--think-ms", "300", "--give-up", "0"];
  expectSoldOut(await playTiny({}, ...flags));
});

test("with orphan prevention, seats released beside the last free ones are sold", async () => {
  const server = await startTiny({ preventsOrphans: true });
  const event = await prepareEvent(server);
  const ends = Array.from({ length: 10 }, (_, row) => server.seatIds[row * 18]!);
  const besideEnds = ends.map((id) => id + 1);
  const call = (name: "lock" | "unlock", seatIds: readonly number[]) => {
    const seats = seatIds.map((id) => ({ id }));
    expect(server.book(name, { sessionId: "other", seats })).toBe(true);
  };
  call("lock", [...ends, ...besideEnds]);
  call("unlock", ends);
  const playing = playReport(...event);
  // The first listing shows the seats as held, and no answer to a buyer says that they are free.
  await server.booked(server.bookingCount + 1);
  call("unlock", besideEnds);
  expectSoldOut(await playing);
});

test("when the organization is disabled, a crowd of thousands ends with one error", async () => {
  const server = await startTiny({ closesAfter: 100 });
  const flags = ["--buyers", "20000", "--give-up", "1", ...layoutFlags()];
  const { exitCode, stderr } = await play(...serverFlags(server), ...flags);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^error: POST .*: 402 ORGANIZATION_DISABLED: .*\n$/m);
});

test("after crashes and restarts of the server, the sale goes on and nothing is lost", async () => {
  const server = await startTiny({ preventsOrphans: true });
  const playing = playReport(...serverFlags(server), ...layoutFlags());
  const crashes = (async () => {
    // During the sale: a failed setup is not repeated and ends the run.
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

test("lost answers are resolved for every kind of call", async () => {
  const played = await playTiny({ preventsOrphans: true, losesAnswerEvery: 5 });
  expectSoldOut(played);
  expect(played.unknownOutcomes).toBeGreaterThan(10);
});

test("after an answer 503 the request is sent again", async () => {
  const played = await playTiny({ failsEvery: { count: 7, status: 503 } });
  expectSoldOut(played);
  expect(played.serverErrors["503"]).toBeGreaterThan(0);
});

test("an answer 500 fails the check", async () => {
  const played = await playTiny({ failsEvery: { count: 50, status: 500 } });
  expect(played).toMatchObject({ exitCode: 1, passed: false, soldOut: true });
  expect(failedChecks(played)).toEqual(["no 5xx answer except 503"]);
});

test("a server that sells a seat twice fails the check, and the headline says so", async () => {
  const played = await playTiny({ cheats: { sellsOneSeatTwice: true } });
  expect(played.exitCode).toBe(1);
  expect(failedChecks(played)).toContain("no seat was sold to two buyers");
  expect(played.headline).toMatch(/^2 OF 7 CHECKS FAILED: 282 tickets in .*, 1 sold twice$/);
});

test("a server that loses a sale fails the check", async () => {
  const played = await playTiny({ cheats: { losesOneSale: true } });
  expect(played.exitCode).toBe(1);
  expect(failedChecks(played)).toContain("every seat bought is SOLD");
});

test("a server that loses a hold fails the check", async () => {
  const flags = ["--give-up", "0", "--seats-per-buyer", "1"];
  const played = await playTiny({ cheats: { losesOneHold: true } }, ...flags);
  const name = "every acknowledged hold could be bought";
  const failed = played.checks.filter(({ passed }) => !passed);
  expect(failed).toEqual([{ name, passed: false, detail: "lost: 1" }]);
});

test("a server whose counters lose places fails the check", async () => {
  const played = await playTiny({ cheats: { miscountsPlaces: true } });
  expect(played.exitCode).toBe(1);
  expect(failedChecks(played)).toContain("area counters add up to the capacity");
});

test("the ledger has an answer for each call and a sale for everything bought", async () => {
  const server = await correctServer({ preventsOrphans: true });
  const path = join(temporaryFolder(), "ledger.jsonl");
  const played = await playReport(...server, ...layoutFlags(), "--ledger", path);
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  const entries = lines.map((line) => JSON.parse(line) as LedgerLine);
  const asked = entries.filter(({ step }) => step === "asked");
  expect(asked).toHaveLength(entries.length - asked.length);
  const sales = entries.filter(({ op, step }) => op === "sale" && step === "answered");
  expect(sales).toHaveLength(played.buyers.bought);
  expect(sales.flatMap(({ seats }) => seats)).toHaveLength(HOUSE_SEATS);
});
