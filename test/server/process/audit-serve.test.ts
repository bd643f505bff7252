/** The audit trail of the real program: its thread, its file, and what a kill leaves of both. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { openEngine } from "../../../persistence/store/open-engine.ts";
import { type ServerProcess, startServer, temporaryFolder } from "../../support/server-process.ts";
import { type PageBody, V2 } from "../../support/server.ts";

interface Demo {
  readonly key: string;
  readonly eventId: string;
  readonly seatIds: readonly number[];
}

interface Entry {
  readonly call: string;
  readonly sequence: number;
  readonly seatId: number | null;
}

const CALLS_BEFORE_KILL = 25;
const SEATS_PER_ROUND = 30;

/** Several starts of the program, on a machine that may be busy. */
const LONG = { timeout: 60_000 };

type Trail = PageBody<Entry> & { readonly trail: { readonly firstSequence: number } };

interface Listed {
  readonly eventId: string;
  readonly placeId: number;
  readonly sequence: number;
  readonly places: number | null;
}

/** Output of `frontrow history`. */
function historyIn(folder: string): Listed[] {
  const cli = path.resolve("dist/server/cli.js");
  const text = execFileSync(process.execPath, [cli, "history", folder], {
    maxBuffer: 64 * 1024 * 1024,
  });
  const lines = text.toString().trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Listed);
}

async function get<Body>(server: ServerProcess, target: string, key: string): Promise<Body> {
  const answer = await server.request("GET", target, undefined, key);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Body;
}

async function demoOf(server: ServerProcess): Promise<Demo> {
  const { key, eventId } = server;
  const target = `${V2}/events/${eventId}/seats/?size=100`;
  const { content } = await get<PageBody<{ seatId: number }>>(server, target, key);
  return { key, eventId, seatIds: content.map(({ seatId }) => seatId) };
}

function trailOf(server: ServerProcess, { key, eventId }: Demo, query: string): Promise<Trail> {
  return get<Trail>(server, `${V2}/events/${eventId}/audit/?${query}`, key);
}

/**
 * Locks and unlocks, and kills the server on the way. Each round has seats of its own.
 * @returns How often it said true.
 */
async function bookUntilKilled(server: ServerProcess, demo: Demo, round: number): Promise<number> {
  let done = 0;
  try {
    for (let i = 0; ; i++) {
      const seats = [{ id: demo.seatIds[SEATS_PER_ROUND * round + (i >> 1)] }];
      const call = i % 2 === 0 ? "lock" : "unlock";
      const target = `${V2}/booking/${call}?eventId=${demo.eventId}`;
      const body = { sessionId: `round ${round}`, seats };
      const answer = await server.request("POST", target, body, demo.key);
      expect(await answer.json()).toBe(true);
      done += 1;
      // Not waited for: the next calls meet it.
      if (done === CALLS_BEFORE_KILL) void server.kill("SIGKILL");
    }
  } catch (error) {
    // The server was killed: any other end is a failure.
    if (!(error instanceof TypeError) && !(error instanceof SyntaxError)) throw error;
    return done;
  }
}

test("what was answered is in the trail at once, and after any kill, once", LONG, async () => {
  const folder = path.join(temporaryFolder(), "data");
  let server = await startServer({ folder, args: ["--demo"] });
  const demo = await demoOf(server);
  for (let round = 0; round < 2; round++) {
    const done = await bookUntilKilled(server, demo, round);
    await server.exited;
    server = await startServer({ folder });
    const { content, totalElements } = await trailOf(server, demo, `sessionId=round%20${round}`);
    // The last call may have been on disk, though nobody was told.
    expect([done, done + 1]).toContain(totalElements);
    expect(content.slice(0, 4).map(({ call }) => call)).toEqual([
      "lock",
      "unlock",
      "lock",
      "unlock",
    ]);
  }
  const state = await trailOf(server, demo, "size=1");
  expect(state.trail.firstSequence).toBe(1);
  expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
  expect(existsSync(path.join(folder, "audit.sqlite-wal"))).toBe(false);
  const seats = historyIn(folder).filter(({ places }) => places === null);
  const moved = seats.map(({ eventId, placeId, sequence }) => `${eventId} ${placeId} ${sequence}`);
  expect(new Set(moved).size).toBe(moved.length);
  expect(moved.length).toBeGreaterThan(2 * CALLS_BEFORE_KILL);
});

test("a file that is damaged or gone is made anew, and the log says so", LONG, async () => {
  const folder = path.join(temporaryFolder(), "data");
  const first = await startServer({ folder, args: ["--demo"] });
  const demo = await demoOf(first);
  const before = await trailOf(first, demo, "");
  await first.kill("SIGTERM");
  writeFileSync(path.join(folder, "audit.sqlite"), "x".repeat(20_000));
  const second = await startServer({ folder });
  expect(await trailOf(second, demo, "")).toEqual(before);
  const told = second.logLines.filter(({ msg }) => String(msg).startsWith("audit trail"));
  expect(told).toMatchObject([{ level: 40, kind: "rebuilt", reason: "file is not a database" }]);
  await second.kill("SIGTERM");
  rmSync(path.join(folder, "audit.sqlite"));
  const third = await startServer({ folder, args: ["--audit-days", "1"] });
  expect(await trailOf(third, demo, "")).toEqual(before);
  await third.kill("SIGTERM");
});

async function metric(server: ServerProcess, name: string): Promise<number> {
  const text = await (await server.request("GET", "/metrics")).text();
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)![1]);
}

test(
  "a trail that cannot be kept raises an alarm, and what it lacks is counted",
  LONG,
  async () => {
    const folder = path.join(temporaryFolder(), "data");
    const first = await startServer({ folder, args: ["--demo"] });
    const demo = await demoOf(first);
    const before = await trailOf(first, demo, "");
    expect(await metric(first, "frontrow_audit_lag_records")).toBe(0);
    expect(await metric(first, "frontrow_audit_usable")).toBe(1);
    await first.kill("SIGTERM");
    const file = path.join(folder, "audit.sqlite");
    renameSync(file, `${file}-away`);
    mkdirSync(file);
    const second = await startServer({ folder });
    const target = `${V2}/events/${demo.eventId}/audit/`;
    expect((await second.request("GET", target, undefined, demo.key)).status).toBe(503);
    expect(await metric(second, "frontrow_audit_usable")).toBe(0);
    expect(await metric(second, "frontrow_audit_lag_records")).toBe(
      await metric(second, "frontrow_sequence"),
    );
    const told = second.logLines.filter(({ msg }) => String(msg).startsWith("audit trail"));
    expect(told).toMatchObject([{ level: 50, kind: "failed" }]);
    rmdirSync(file);
    renameSync(`${file}-away`, file);
    expect(await trailOf(second, demo, "")).toEqual(before);
    // It can be written again: archiving shows that, once the server has had a second of rest.
    const usable = () => metric(second, "frontrow_audit_usable");
    await expect.poll(usable, { timeout: 20_000 }).toBe(1);
    expect(await metric(second, "frontrow_audit_lag_records")).toBe(0);
    await second.kill("SIGTERM");
  },
);

test("an embedder without an audit trail has none, and no file", async () => {
  const folder = temporaryFolder();
  const store = await openEngine({ folder });
  expect(store.audit).toBeNull();
  await store.close();
  expect(existsSync(path.join(folder, "audit.sqlite"))).toBe(false);
});
