/** Whole sales behind a door of the real server. */
import { expect, test, vi } from "vitest";
import { API_PATH } from "../../../server/onsale/contract.ts";
import { quietPort, type ServerProcess, startServer } from "../../support/server-process.ts";
import { expectSoldOut, layoutFlags, play, playReport } from "./play.ts";

vi.setConfig({ testTimeout: 120_000 });

/** The rate shows only while visitors wait. */
const SLOW = "--buyers 60 --per-minute 2400 --opens-in 1".split(" ");
const FAST = "--buyers 40 --per-minute 60000 --opens-in 1".split(" ");

function flagsOf({ url, key }: ServerProcess): string[] {
  return ["--url", url, "--key", key, "--door"];
}

async function call(server: ServerProcess, method: string, path: string, body?: object) {
  const headers = { "X-API-Key": server.key, "Content-Type": "application/json" };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(server.url + API_PATH + path, { method, headers, ...sent });
  return [response.status, await response.json()] as const;
}

function detailOf(played: { checks: readonly { name: string; detail: string }[] }, name: RegExp) {
  return played.checks.find((check) => name.test(check.name))?.detail;
}

test.each([["", []] as const, ["the server chooses, ", ["--best"]] as const])(
  "%sbuyers behind a door → a new door lets them in by its draw, at its rate",
  async (_, more) => {
    const server = await startServer({ args: ["--demo"] });
    const flags = [...flagsOf(server), ...SLOW, ...layoutFlags(), ...more];
    const played = await playReport(...flags, "--seats-per-visitor", "3");
    expectSoldOut(played);
    const { door } = played;
    expect(door).toMatchObject({
      perMinute: 2_400,
      maxInside: null,
      seatsPerVisitor: 3,
      drawn: 60,
    });
    expect(door!.invited).toBeGreaterThan(60);
    expect(door!.probes).toBeGreaterThan(6);
    expect(detailOf(played, /^the draw/)).toBe("60 drawn");
    expect(detailOf(played, /seatsPerVisitor$/)).toBe("3 at most");
    const [, exact] = /(\d+) seconds exactly/.exec(detailOf(played, /rate allows$/)!)!;
    expect(Number(exact)).toBeGreaterThan(0);
  },
);

test("a cap on who is inside → it is reached and never exceeded", async () => {
  const server = await startServer({ args: ["--demo"] });
  const flags = [...flagsOf(server), ...FAST, ...layoutFlags(), "--max-inside", "25"];
  const played = await playReport(...flags);
  expectSoldOut(played);
  expect(played.door!.insideMost).toBe(25);
});

test("kill -9 of the server during the sale → places, tokens and tickets are as they were", async () => {
  const port = String(quietPort());
  const first = await startServer({ args: ["--demo", "--port", port] });
  const flags = [...flagsOf(first), ...SLOW, ...layoutFlags(), "--best", "--think-ms", "300"];
  const playing = playReport(...flags);
  const metric = /^frontrow_door_invited_total (\d+)/m;
  await vi.waitUntil(
    async () => {
      const text = await (await fetch(`${first.url}/metrics`)).text();
      return Number(metric.exec(text)?.[1] ?? 0) > 20;
    },
    { timeout: 60_000, interval: 20 },
  );
  await first.kill("SIGKILL");
  await startServer({ folder: first.folder, args: ["--demo", "--port", port] });
  const played = await playing;
  expectSoldOut(played);
  expect(played.outages).toBeGreaterThan(0);
});

test("the event has a door that is open → it is taken as it is", async () => {
  const server = await startServer({ args: ["--demo"] });
  const events = (await call(server, "GET", "/events/"))[1] as { content: { id: string }[] };
  const [{ id }] = events.content as [{ id: string }];
  const path = `/events/${id}/admission`;
  const opensAt = new Date(Date.now() - 1_000).toISOString().slice(0, 19);
  const settings = { opensAt, draw: false, perMinute: 600, maxInside: 5, seatsPerVisitor: 2 };
  expect((await call(server, "PUT", path, settings))[0]).toBe(201);
  const flags = [...flagsOf(server), "--event", id];
  const played = await playReport(...flags, "--buyers", "9", "--seconds", "4");
  expect(played).toMatchObject({ exitCode: 0, passed: true, endedBy: "TIME_LIMIT" });
  expect(played.door).toMatchObject({ perMinute: 600, maxInside: 5, seatsPerVisitor: 2, drawn: 0 });
  expect(played.sold.seats).toBeGreaterThan(0);
  expect(detailOf(played, /^the draw/)).toBe("no draw");

  const { exitCode, stderr } = await play(...flags, "--per-minute", "60");
  expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/settings are taken as they are/)]);
  const exempt = { ...settings, exemptHoldTypes: ["CART"] };
  expect((await call(server, "PUT", path, exempt))[0]).toBe(200);
  expect((await play(...flags)).stderr).toMatch(/asks for no token/);
});

test("an option of a door without --door → a usage error", async () => {
  const { exitCode, stderr } = await play("--key", "k", ...layoutFlags(), "--max-inside", "3");
  expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/needs --door/)]);
});
