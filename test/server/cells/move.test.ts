/** An organization moves from one real server to another. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { Report } from "../../../server/onsale/run.ts";
import { type ServerProcess, sleep } from "../../support/server-process.ts";
import { moveOf, operate, organizationOf, play, startCell, TOKEN, V2 } from "./cells.ts";

const SECONDS = 1_000;
const LONG = { timeout: 240 * SECONDS };

interface Sent {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Headers;
}

async function send(server: ServerProcess, method: string, target: string, body?: unknown) {
  const answer = await fetch(server.url + target, {
    method,
    redirect: "manual",
    headers: { "X-API-Key": key, "Content-Type": "application/json", ...idempotency },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await answer.text();
  return { status: answer.status, body: JSON.parse(text), headers: answer.headers } as Sent;
}

let key = "";
let idempotency: Readonly<Record<string, string>> = {};

interface Row {
  readonly seatId: number;
  readonly state: string | null;
  readonly priceId: number | null;
}

async function seatsOf(server: ServerProcess, eventId: string): Promise<Row[]> {
  const target = `${V2}/events/${eventId}/seats/?size=100&sort=seatId`;
  const rows: Row[] = [];
  for (let page = 0; ; page++) {
    const { body } = await send(server, "GET", `${target}&page=${page}`);
    const { content, last } = body as { content: Row[]; last: boolean };
    for (const { seatId, state, priceId } of content) rows.push({ seatId, state, priceId });
    if (last) return rows;
  }
}

test("an organization arrives with all it has under the same ids and key", LONG, async () => {
  const [old, other] = await Promise.all([startCell(0, { args: ["--demo"] }), startCell(7)]);
  key = old.key;
  const { eventId } = old;
  const organizationId = organizationOf(key);
  const booking = (call: string) => `${V2}/booking/${call}?eventId=${eventId}`;
  const ids = (await seatsOf(old, eventId)).map(({ seatId }) => seatId);
  const seats = (...places: number[]) => places.map((place) => ({ id: ids[place]! }));
  const areas = (await send(old, "GET", `${V2}/events/${eventId}/areas/`)).body as {
    groupOfSeatsId: number;
  }[];
  const pit = areas.map(({ groupOfSeatsId: id }) => ({ id, capacity: 2 }));
  await send(old, "POST", booking("lock"), {
    sessionId: "A",
    seats: seats(0, 1),
    groupOfSeats: pit,
  });
  await send(old, "POST", booking("lock"), {
    sessionId: "B",
    seats: seats(2),
    holdType: "RESERVED",
  });
  await send(old, "POST", booking("directsale"), { seats: seats(3, 4), groupOfSeats: pit });
  await send(old, "POST", booking("block"), { seats: seats(5) });
  const webhook = { url: "https://receiver.example/", events: ["change"] };
  expect((await send(old, "POST", `${V2}/webhooks/`, webhook)).status).toBe(201);
  idempotency = { "Idempotency-Key": "sold once" };
  const sale = { sessionId: "A", seats: seats(0) };
  expect((await send(old, "POST", booking("sale"), sale)).status).toBe(200);
  idempotency = {};
  const before = await seatsOf(old, eventId);
  const countersBefore = await areaCounters(old, eventId);
  const schemas = await send(old, "GET", `${V2}/schemas/`);

  const moved = await operate("move", String(organizationId), "--from", old.url, "--to", other.url);
  expect(moved).toMatchObject({ code: 0, stderr: "" });
  expect(await moveOf(old, organizationId)).toMatchObject({ phase: "LEFT", address: other.url });
  expect(await moveOf(other, organizationId)).toMatchObject({ phase: "HERE", cell: 7 });

  expect(await seatsOf(other, eventId)).toEqual(before);
  expect(await areaCounters(other, eventId)).toEqual(countersBefore);
  expect((await send(other, "GET", `${V2}/schemas/`)).body).toEqual(schemas.body);
  expect((await send(other, "GET", `${V2}/webhooks/`)).body).toMatchObject({ totalElements: 1 });
  // The retry of a sale that the old cell has answered is not carried out again.
  idempotency = { "Idempotency-Key": "sold once" };
  expect(await send(other, "POST", booking("sale"), sale)).toMatchObject({
    status: 200,
    body: true,
  });
  idempotency = {};
  const ownHold = { sessionId: "A", seats: seats(1), groupOfSeats: pit };
  expect((await send(other, "POST", booking("sale"), ownHold)).status).toBe(200);
  expect(
    (await send(other, "POST", booking("sale"), { sessionId: "A", seats: seats(2) })).status,
  ).toBe(400);
  expect((await send(other, "POST", booking("unblock"), { seats: seats(5) })).status).toBe(200);

  const redirect = await send(old, "POST", booking("lock"), { sessionId: "C", seats: seats(9) });
  expect(redirect).toMatchObject({ status: 307, body: { errorCode: "ORGANIZATION_MOVED" } });
  expect(redirect.headers.get("location")).toBe(other.url + booking("lock"));
  // History before the move stays where it was made.
  const trail = await send(old, "GET", `${V2}/events/${eventId}/audit/?size=1`);
  expect(trail).toMatchObject({ status: 200, body: { content: [{}] } });
  // Ids of the new cell are of its own range.
  const venue = await send(other, "POST", `${V2}/venues/`, { name: "New house" });
  expect((venue.body as { id: number }).id).toBeGreaterThan(7_000_000_000_000);

  await Promise.all([old.kill("SIGKILL"), other.kill("SIGKILL")]);
  const [oldAgain, otherAgain] = await Promise.all([
    startCell(0, { folder: old.folder }),
    startCell(7, { folder: other.folder }),
  ]);
  expect((await send(oldAgain, "GET", `${V2}/venues/`)).status).toBe(307);
  const sold = (await seatsOf(otherAgain, eventId)).filter(({ state }) => state === "SOLD");
  expect(sold.map(({ seatId }) => seatId)).toEqual([0, 1, 3, 4].map((place) => ids[place]!));
});

async function areaCounters(server: ServerProcess, eventId: string): Promise<object[]> {
  const { body } = await send(server, "GET", `${V2}/events/${eventId}/areas/`);
  return (body as object[]).map((counters) => ({ ...counters, updatedAt: null }));
}

test("a move that crashes goes on, and can be taken back", LONG, async () => {
  const [old, other] = await Promise.all([startCell(0, { args: ["--demo"] }), startCell(7)]);
  key = old.key;
  const organizationId = organizationOf(key);
  const flags = (from: string, to: string) => [String(organizationId), "--from", from, "--to", to];
  const admin = `/api/admin/organizations/${organizationId}/move`;
  const platform = { "X-API-Key": TOKEN };
  const begin = { step: "begin", toCell: 7, address: other.url };
  expect((await old.request("POST", admin, begin, platform)).status).toBe(200);
  const venue = { name: "Refused" };
  const refused = await send(old, "POST", `${V2}/venues/`, venue);
  expect(refused).toMatchObject({ status: 503, body: { errorCode: "ORGANIZATION_MOVING" } });
  expect(refused.headers.get("retry-after")).toBe("1");
  expect((await send(old, "GET", `${V2}/venues/`)).status).toBe(200);
  const part = await (await old.request("GET", `${admin}/parts/0`, undefined, platform)).json();
  expect((await other.request("PUT", `${admin}/parts/0`, part, platform)).status).toBe(200);
  expect((await send(other, "GET", `${V2}/venues/`)).status).toBe(503);

  await Promise.all([old.kill("SIGKILL"), other.kill("SIGKILL")]);
  const [old2, other2] = await Promise.all([
    startCell(0, { folder: old.folder }),
    startCell(7, { folder: other.folder }),
  ]);
  expect(await moveOf(old2, organizationId)).toMatchObject({ phase: "LEAVING" });
  expect(await moveOf(other2, organizationId)).toMatchObject({ phase: "ARRIVING" });
  const cancelled = await operate("move", ...flags(old2.url, other2.url), "--cancel");
  expect(cancelled).toMatchObject({ code: 0, stderr: "" });
  expect(await moveOf(other2, organizationId)).toMatchObject({ phase: "ABSENT" });
  expect((await send(old2, "POST", `${V2}/venues/`, { name: "Taken" })).status).toBe(201);

  expect((await old2.request("POST", admin, begin, platform)).status).toBe(200);
  const again = await operate("move", ...flags(old2.url, other2.url), "--address", other2.url);
  expect(again).toMatchObject({ code: 0, stderr: "" });
  expect(await moveOf(other2, organizationId)).toMatchObject({ phase: "HERE" });
  // And back, to the cell with its leftovers.
  const back = await operate("move", ...flags(other2.url, old2.url));
  expect(back).toMatchObject({ code: 0, stderr: "" });
  expect(await moveOf(other2, organizationId)).toMatchObject({
    phase: "LEFT",
    address: old2.url,
  });
  expect((await send(old2, "POST", `${V2}/venues/`, { name: "Back" })).status).toBe(201);
});

test(
  "a command with an old --from or --to opens an organization in no third cell",
  LONG,
  async () => {
    const [zero, seven, nine] = await Promise.all([
      startCell(0, { args: ["--demo"] }),
      startCell(7),
      startCell(9),
    ]);
    key = zero.key;
    const id = organizationOf(key);
    const move = (from: ServerProcess, to: ServerProcess) =>
      operate("move", String(id), "--from", from.url, "--to", to.url);
    const admin = `/api/admin/organizations/${id}/move`;
    const begin = { step: "begin", toCell: 7, address: seven.url };
    expect((await zero.request("POST", admin, begin, TOKEN)).status).toBe(200);
    const refused = (text: string) => ({
      code: 1,
      stdout: "",
      stderr: `frontrow: organization ${id} ${text}\n`,
    });
    const open = await move(zero, nine);
    const text = `is about to leave for cell 7 (${seven.url}); give that cell with --to`;
    expect(open).toMatchObject({ ...refused(text), stderr: expect.stringContaining(text) });
    expect(open.stderr.split("\n").at(-2)).toBe(stillRefuses(id));
    expect(await move(zero, seven)).toMatchObject({ code: 0, stderr: "" });
    const hasLeft = (cell: number, { url }: ServerProcess) =>
      refused(`has left for cell ${cell} (${url}); give that cell with --from`);
    expect(await move(zero, nine)).toMatchObject(hasLeft(7, seven));
    expect(await moveOf(nine, id)).toMatchObject({ phase: "ABSENT" });
    expect(await move(seven, nine)).toMatchObject({ code: 0, stderr: "" });
    expect(await move(zero, seven)).toMatchObject(hasLeft(9, nine));
    expect(await moveOf(seven, id)).toMatchObject({ phase: "LEFT", toCell: 9 });
    expect(await move(nine, zero)).toMatchObject({ code: 0, stderr: "" });
  },
);

test("a sale goes on while its organization moves: 0 lost, 0 sold twice", LONG, async () => {
  const [old, other] = await Promise.all([startCell(0, { args: ["--demo"] }), startCell(7)]);
  key = old.key;
  const { eventId } = old;
  const flags = ["--event", eventId, "--think-ms", "400", "--buyers", "40", "--connections", "8"];
  const played = play([old.url], old.key, flags);
  await soldSome(old, eventId, 60);
  const id = String(organizationOf(key));
  const moved = await operate("move", id, "--from", old.url, "--to", other.url);
  expect(moved).toMatchObject({ code: 0, stderr: "" });
  const { code, stdout } = await played;
  const report = JSON.parse(stdout) as Report;
  expect(report.checks.filter(({ passed }) => !passed)).toEqual([]);
  expect(code).toBe(0);
  const sold = (await seatsOf(other, eventId)).filter(({ state }) => state === "SOLD");
  expect(sold.length).toBeGreaterThan(60);
});

async function soldSome(server: ServerProcess, eventId: string, count: number): Promise<void> {
  for (;;) {
    const rows = await seatsOf(server, eventId);
    if (rows.filter(({ state }) => state === "SOLD").length >= count) return;
    await sleep(20);
  }
}

function stillRefuses(id: number): string {
  return `organization ${id} still refuses changes: repeat the command, or give it with --cancel`;
}

test("a move that the other cell would refuse does not begin", LONG, async () => {
  const [old, other, stranger] = await Promise.all([
    startCell(0, { args: ["--demo"] }),
    startCell(7),
    startCell(9, { env: { FRONTROW_SECRET: "a7".repeat(32) } }),
  ]);
  key = old.key;
  const id = organizationOf(key);
  const move = (to: ServerProcess, ...flags: string[]) =>
    operate("move", String(id), "--from", old.url, "--to", to.url, ...flags);
  const refused = { code: 1, stdout: "" };
  const noTenant = expect.stringContaining("The cell has no such tenant.");
  expect(await move(other, "--tenant", "77")).toMatchObject({ ...refused, stderr: noTenant });
  const otherSecret = expect.stringContaining("sealed with another secret");
  expect(await move(stranger)).toMatchObject({ ...refused, stderr: otherSecret });
  expect((await send(old, "POST", `${V2}/venues/`, { name: "Taken" })).status).toBe(201);

  // It stops in the middle: the other cell has no part of it, and another secret.
  const begin = { step: "begin", toCell: 9, address: stranger.url };
  const admin = `/api/admin/organizations/${id}/move`;
  expect((await old.request("POST", admin, begin, TOKEN)).status).toBe(200);
  const stopped = await move(stranger);
  expect(stopped).toMatchObject({ ...refused, stderr: otherSecret });
  expect(stopped.stderr.split("\n").at(-2)).toBe(stillRefuses(id));
  await stranger.kill("SIGKILL");
  // The old cell is open again even though the other one does not answer.
  expect(await move(stranger, "--cancel")).toMatchObject({ code: 1 });
  expect((await send(old, "POST", `${V2}/venues/`, { name: "Open" })).status).toBe(201);

  expect(await move(other)).toMatchObject({ code: 0 });
  const cleared = `cell 0 has nothing of organization ${id} but the redirect to ${other.url}\n`;
  expect(await move(other, "--clear")).toMatchObject({ code: 0, stdout: cleared });
});

test.each([
  [["--from", "127.0.0.1:1", "--to", "http://b:1"], "--from"],
  [["--from", "http://a:1", "--to", "localhost:1"], "--to"],
  [["--from", "http://a:1", "--to", "http://b:1/path"], "--to"],
  [["--from", "http://a:1", "--to", "http://b:0"], "--to"],
  [["--from", "http://a:1", "--to", "http://b:1", "--address", "b"], "--address"],
  [["--from", "http://a:1", "--to", "http://b:1", "--clear", "--cancel"], "--cancel"],
])("move with %j is a usage error about %s", async (flags, option) => {
  const { code, stderr } = await operate("move", "3", ...flags);
  expect([code, stderr]).toEqual([2, expect.stringContaining(option)]);
});

test.each(["<html>", "{}", "null", '{"phase":"HERE"}'])(
  "an address where another server answers %s is named",
  async (text) => {
    const server = createServer((_, answer) => {
      answer.writeHead(text.includes("phase") ? 404 : 200);
      answer.end(text);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, stderr } = await operate("move", "3", "--from", url, "--to", url);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${url}/api/admin/`)]);
    expect(stderr).toContain("no answer of Frontrow");
  },
);
