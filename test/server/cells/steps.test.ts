/** Refusals of the operator's rows for moves, between two servers with the same secret. */
import { beforeEach, expect, test } from "vitest";
import { CELL_IDS } from "../../../engine/cells.ts";
import type { MoveStep, MoveView } from "../../../server/cells/moves.ts";
import { checkState, digest } from "../../../engine/verify.ts";
import { replayed } from "../../support/engine.ts";
import { TestServer, V2 } from "../../support/server.ts";

const TOKEN = "a-platform-token-of-the-test";
const PEOPLE = { firstName: "Ann", lastName: "Lee", password: "a long password" };
const NAME = "Touring company";
const EMAIL = "ann@touring.example";

let from: TestServer;
let to: TestServer;

beforeEach(() => {
  from = new TestServer({ platformToken: TOKEN });
  to = cellServer(7);
});

function cellServer(cell: number): TestServer {
  const server = new TestServer({ platformToken: TOKEN });
  server.engine.state.catalog.nextId += cell * CELL_IDS;
  return server;
}

async function create(server: TestServer, key: string, name: string, email: string) {
  const body = { name, email, ...PEOPLE };
  const path = "/api/private/management/v2.0/organizations/";
  const reply = await server.call<{ readonly id: number }>("post", path, { key, body });
  expect(reply.status).toBe(201);
  return reply.body.id;
}

const moveOf = (id: number | string) => `/api/admin/organizations/${id}/move`;

/** @returns The id of a new organization, different from those of the other servers. */
async function createCompany(): Promise<number> {
  await create(from, from.tenantToken, "Filler", "filler@touring.example");
  return create(from, from.tenantToken, NAME, EMAIL);
}

function take(server: TestServer, id: number, body: MoveStep) {
  return server.call<MoveView>("post", moveOf(id), { key: TOKEN, body });
}

function begin(server: TestServer, id: number, toCell: number) {
  return take(server, id, { step: "begin", toCell, address: "https://cell.tickets.example" });
}

/** Sends parts until one is refused. @returns The last answer. */
async function sendParts(old: TestServer, other: TestServer, id: number) {
  for (let number = 0; ; number++) {
    const path = `${moveOf(id)}/parts/${number}`;
    const part = await old.call<{ readonly content: string }>("get", path, { key: TOKEN });
    const body = { content: part.body.content, tenantId: other.a.caller.tenantId };
    const reply = await other.call<MoveView>("put", path, { key: TOKEN, body });
    if (reply.status !== 200 || reply.body.receipt !== null) return reply;
  }
}

/** Moves an organization, but does not open it. @returns The receipt that opens it. */
async function leave(old: TestServer, other: TestServer, id: number, toCell: number) {
  expect((await begin(old, id, toCell)).status).toBe(200);
  const { receipt } = (await sendParts(old, other, id)).body;
  const left = await take(old, id, { step: "leave", receipt });
  expect(left).toMatchObject({ status: 200, body: { phase: "LEFT", toCell } });
  return left.body.receipt;
}

async function move(old: TestServer, other: TestServer, id: number, toCell: number) {
  const receipt = await leave(old, other, id, toCell);
  const opened = await take(other, id, { step: "open", receipt });
  expect(opened).toMatchObject({ status: 200, body: { phase: "HERE" } });
}

/** @returns The first part of a new organization that leaves, and the path where it arrives. */
async function leaving() {
  const id = await createCompany();
  expect((await begin(from, id, 7)).status).toBe(200);
  const part = await from.call<{ readonly content: string }>("get", `${moveOf(id)}/parts/0`, {
    key: TOKEN,
  });
  expect(part.status).toBe(200);
  return { path: `${moveOf(id)}/parts/0`, content: part.body.content };
}

async function arrive({ path, content }: { readonly path: string; readonly content: string }) {
  const { tenantId } = to.a.caller;
  return to.call("put", path, { key: TOKEN, body: { content, tenantId } });
}

test("an id that is no number, and a body without its members, are refused", async () => {
  for (const [method, path] of [
    ["get", moveOf("x")],
    ["post", moveOf(1)],
    ["get", `${moveOf("x")}/parts/0`],
    ["put", `${moveOf(1)}/parts/0`],
  ] as const) {
    const body = method === "get" ? undefined : {};
    const reply = await to.call(method, path, { key: TOKEN, body });
    expect([path, reply.status, reply.body.errorCode]).toEqual([path, 400, "VALIDATION_FAILED"]);
  }
});

test("a tenant may not move an organization", async () => {
  for (const [method, path, body] of [
    ["get", moveOf(1), undefined],
    ["post", moveOf(1), { step: "cancel" }],
    ["get", `${moveOf(1)}/parts/0`, undefined],
    ["put", `${moveOf(1)}/parts/0`, { content: "" }],
  ] as const) {
    const reply = await to.call(method, path, { key: to.tenantToken, body });
    expect([path, reply.status, reply.body.errorCode]).toEqual([path, 403, "ACCESS_DENIED"]);
  }
});

test("an organization does not arrive where its name is taken", async () => {
  const part = await leaving();
  await create(to, to.tenantToken, NAME, "other@touring.example");
  expect(await arrive(part)).toMatchObject({ status: 409, body: { errorCode: "DUPLICATE_NAME" } });
});

test("an organization does not arrive where another tenant has its account", async () => {
  const part = await leaving();
  await create(to, to.otherTenantToken, "Another", EMAIL);
  const errorCode = "ACCOUNT_EMAIL_IN_USE";
  expect(await arrive(part)).toMatchObject({ status: 409, body: { errorCode } });
});

test("the first part begins an arrival, which can be taken back", async () => {
  const part = await leaving();
  expect(await arrive(part)).toMatchObject({ status: 200, body: { phase: "ARRIVING" } });
  const target = part.path.replace("/parts/0", "");
  const cancel = { key: TOKEN, body: { step: "cancel" } };
  expect(await to.call("post", target, cancel)).toMatchObject({ body: { phase: "ABSENT" } });
});

test("a part does not arrive at the place of another one", async () => {
  const { path, content } = await leaving();
  const errorCode = "INVALID_STATUS_TRANSITION";
  const reply = await arrive({ path: path.replace(/0$/, "1"), content });
  expect(reply).toMatchObject({ status: 409, body: { errorCode } });
});

test("an organization that owns nothing moves with its first part", async () => {
  const id = await createCompany();
  await move(from, to, id, 7);
  const { body } = await to.call("get", moveOf(id), { key: TOKEN });
  expect(body).toMatchObject({ phase: "HERE" });
});

test("a move begins only to another cell, which has a number", async () => {
  const id = await createCompany();
  for (const toCell of [undefined, null, 0, 9_007, -1, 0.5]) {
    const body = { step: "begin", toCell, address: "https://cell.tickets.example" };
    const reply = await from.call("post", moveOf(id), { key: TOKEN, body });
    expect([toCell, reply.status, reply.body.errorCode]).toEqual([
      toCell,
      400,
      "VALIDATION_FAILED",
    ]);
  }
});

test("what moves to one cell does not arrive in another, before it has left or after", async () => {
  const third = cellServer(9);
  const id = await createCompany();
  const refused = {
    status: 409,
    body: { detail: "The organization moves to cell 7; this is cell 9." },
  };
  expect((await begin(from, id, 7)).status).toBe(200);
  expect(await sendParts(from, third, id)).toMatchObject(refused);
  await take(from, id, { step: "cancel" });
  await move(from, to, id, 7);
  expect(await sendParts(from, third, id)).toMatchObject(refused);
  const { body } = await third.call("get", moveOf(id), { key: TOKEN });
  expect(body).toMatchObject({ phase: "ABSENT" });
});

test("the receipt of a move to one cell opens the organization in no other", async () => {
  const third = cellServer(9);
  const id = await createCompany();
  await begin(from, id, 9);
  await sendParts(from, third, id);
  await take(from, id, { step: "cancel" });
  const receipt = await leave(from, to, id, 7);
  const opened = await take(third, id, { step: "open", receipt });
  expect(opened).toMatchObject({ status: 409, body: { errorCode: "INVALID_STATUS_TRANSITION" } });
  expect(await take(to, id, { step: "open", receipt })).toMatchObject({ status: 200 });
});

test("what has moved on from a cell does not arrive there from an earlier one again", async () => {
  const third = cellServer(9);
  const id = await createCompany();
  // So that its moves have other numbers.
  await create(third, third.tenantToken, "Filler", "filler@touring.example");
  await move(from, to, id, 7);
  await move(to, third, id, 9);
  const detail = "The organization has been in this cell since then, and has moved on.";
  expect(await sendParts(from, to, id)).toMatchObject({ status: 409, body: { detail } });
  // The way back is open, and while it is under way the earlier cell has no say either.
  await begin(third, id, 7);
  await sendParts(third, to, id);
  expect(await sendParts(from, to, id)).toMatchObject({ status: 409, body: { detail } });
  const { receipt } = (await to.call<MoveView>("get", moveOf(id), { key: TOKEN })).body;
  const left = await take(third, id, { step: "leave", receipt });
  const open = { step: "open", receipt: left.body.receipt } as const;
  expect(await take(to, id, open)).toMatchObject({ status: 200, body: { phase: "HERE" } });
});

test("a trial says why an organization could not arrive, and changes nothing", async () => {
  const id = await createCompany();
  const path = `${moveOf(id)}/parts/0`;
  const part = await from.call<{ readonly content: string }>("get", path, { key: TOKEN });
  const { tenantId } = to.a.caller;
  const { sequence } = to.engine;
  const put = (body: object) =>
    to.call("put", path, { key: TOKEN, body: { content: part.body.content, tenantId, ...body } });
  const trial = (body: object = {}) => put({ isTrial: true, ...body });
  expect(await trial()).toMatchObject({ status: 200, body: { phase: "ABSENT" } });
  expect(to.engine.sequence).toBe(sequence);
  expect(await trial({ tenantId: 77 })).toMatchObject({
    status: 400,
    body: { detail: "The cell has no such tenant." },
  });
  expect(await trial({ tenantId: null })).toMatchObject({
    status: 400,
    body: { detail: "The cell has several tenants: name one." },
  });
  expect(await trial({ content: "bm90IHNlYWxlZA" })).toMatchObject({ status: 403 });
  // It has not begun to leave, so it arrives nowhere.
  expect(await put({})).toMatchObject({ status: 409 });
  const second = `${moveOf(id)}/parts/1`;
  expect(await from.call("get", second, { key: TOKEN })).toMatchObject({ status: 409 });
  await create(to, to.tenantToken, NAME, "other@touring.example");
  expect(await trial()).toMatchObject({ status: 409, body: { errorCode: "DUPLICATE_NAME" } });
});

test("a trial stores no later part", async () => {
  const { id } = from.a;
  await begin(from, id, 7);
  const parts = [0, 1].map((number) => `${moveOf(id)}/parts/${number}`);
  const { sequence } = to.engine;
  for (const path of parts) {
    const { body } = await from.call<{ readonly content: string }>("get", path, { key: TOKEN });
    const sent = { ...body, tenantId: to.a.caller.tenantId, isTrial: true };
    // The other server has an organization of the same id.
    expect((await to.call("put", path, { key: TOKEN, body: sent })).status).toBe(409);
  }
  expect(to.engine.sequence).toBe(sequence);
});

test("a tenant that does not exist leaves the redirect of a cell as it is", async () => {
  const id = await createCompany();
  await move(from, to, id, 7);
  expect((await begin(to, id, 0)).status).toBe(200);
  const path = `${moveOf(id)}/parts/0`;
  const part = await to.call<{ readonly content: string }>("get", path, { key: TOKEN });
  for (const isTrial of [true, false]) {
    const body = { ...part.body, tenantId: 77, isTrial };
    expect((await from.call("put", path, { key: TOKEN, body })).status).toBe(400);
  }
  const { body } = await from.call("get", moveOf(id), { key: TOKEN });
  expect(body).toMatchObject({ phase: "LEFT", toCell: 7 });
});

/** A cell that has no organization of the ids of the others. */
function emptyIds(cell: number): TestServer {
  const server = cellServer(cell);
  for (const house of [server.a, server.b]) {
    const { tenantId } = house.caller;
    const caller = { ...house.caller, organizationId: 0, tenantId };
    server.world.must("deleteOrganization", caller, { organizationId: house.id });
  }
  return server;
}

test("a move of holds, sales and blocks → their fences, starts and ends stay, by the millisecond", async () => {
  to = emptyIds(7);
  const { world, a } = from;
  const short = [{ name: "SHORT", ttlSeconds: 61, maxSeconds: 500 }];
  world.must("replaceHoldTypes", a.caller, { body: short });
  // The log of the other cell is far behind.
  for (let i = 0; i < 30; i++) {
    for (const call of ["block", "unblock"] as const) await from.book(call, null, "A6");
  }
  const locked = async (session: string, holdType: string, ...labels: string[]) => {
    const body = { ...from.selection(session, ...labels), holdType };
    expect((await from.post(from.bookingPath("lock"), body)).status).toBe(200);
    return from.engine.sequence;
  };
  const first = await locked("S", "SHORT", "A2", "A1", "Pit:2");
  world.clock.timeMs += 777;
  const house = await locked("H", "RESERVED", "A3");
  expect((await from.book("directsale", null, "A4", "Pit:3")).status).toBe(200);
  expect((await from.book("block", null, "A5")).status).toBe(200);
  // The fence of a sale that is over: nothing may have its number again.
  expect((await from.book("directsale", null, "A6")).status).toBe(200);
  const reverted = from.engine.sequence;
  expect((await from.book("revertsale", null, "A6")).status).toBe(200);
  const before = inventoryOf(from, a.eventId);
  expect(before.holds.map(({ fence }) => fence)).toEqual([first, house]);
  to.world.clock.timeMs = world.clock.timeMs + 12_345;
  await move(from, to, a.id, 7);
  expect(inventoryOf(to, a.eventId)).toEqual(before);

  // Its cap counts from the lock in the other cell.
  const path = (call: string) => `${V2}/booking/${call}?eventId=${a.eventId}`;
  const [{ startedAtMs }] = before.holds as unknown as [{ startedAtMs: number }];
  const extension = { fence: first, seconds: 86_400 };
  expect((await to.post(path("extend"), extension, a)).status).toBe(200);
  const [extended] = inventoryOf(to, a.eventId).holds;
  expect(extended).toMatchObject({ fence: first, expiresAtMs: startedAtMs + 500_000 });

  // Its next fences continue those of the other cell.
  expect(to.engine.sequence).toBeLessThan(reverted);
  const again = from.selection("N", "A6");
  expect((await to.post(path("directsale"), again, a)).status).toBe(200);
  const seat = inventoryOf(to, a.eventId).fences[from.world.seat("A6")]!;
  expect(seat).toBeGreaterThan(reverted);
  const late = await to.post(path("revertsale"), { ...again, fence: reverted }, a);
  expect(late).toMatchObject({ status: 400, body: { errors: [{ code: "STALE_FENCE" }] } });
  expect((await to.post(path("revertsale"), { ...again, fence: seat }, a)).status).toBe(200);
  checkState(to.engine.state);
  expect(digest(replayed(to.journal))).toBe(to.digest);
});

test("a move of channels and amounts → seats are kept as before, and prices have their amounts", async () => {
  to = emptyIds(7);
  const { world, a } = from;
  const idsOf = (...labels: string[]) => labels.map((label) => a.labels.idOf(label));
  const put = (key: string, ...labels: string[]) => {
    const body = { name: key, seats: idsOf(...labels) };
    world.must("putChannel", a.caller, { eventId: a.eventId, key, body });
  };
  put("gone", "A6");
  put("press", "A2", "A3", "B1");
  put("agency", "A1", "B4", "Round2");
  put("empty");
  world.must("deleteChannel", a.caller, { eventId: a.eventId, key: "gone" });
  const [price] = from.engine.state.catalog.pricesOf(a.eventId).values();
  const priced = { id: price!.id, name: "Full", eventId: a.eventId, amount: 7, currency: "EUR" };
  world.must("updatePrices", a.caller, { eventId: a.eventId, body: [priced] });
  expect((await from.book("directsale", null, "B2")).status).toBe(200);
  const shown = async (server: TestServer) => {
    const path = `${V2}/events/${a.eventId}`;
    const summary = await server.get<{ revenue: unknown }>(`${path}/summary/`, a);
    const map = await server.get<{ columns: object }>(`${path}/map/`, a);
    const channels = await server.get(`${path}/channels/`, a);
    return [summary.body.revenue, map.body.columns, channels.body];
  };
  const before = await shown(from);
  expect(before[0]).toEqual([{ currency: "EUR", sold: 7 }]);
  await move(from, to, a.id, 7);
  expect(await shown(to)).toEqual(before);
  const lock = `${V2}/booking/lock?eventId=${a.eventId}`;
  const body = from.selection("N", "A1", "A2");
  expect((await to.post(lock, { ...body, channel: "agency" }, a)).body.errors).toMatchObject([
    { field: "seats[1].id", code: "CHANNEL" },
  ]);
  checkState(to.engine.state);
  expect(digest(replayed(to.journal))).toBe(to.digest);
});

test("a hold that ends during the move → arrives, and is over for the first call", async () => {
  to = emptyIds(7);
  const { world, a } = from;
  expect((await from.book("lock", "S", "A1", "Pit:2")).status).toBe(200);
  to.world.clock.timeMs = world.clock.timeMs + 15 * 60_000 + 1;
  await move(from, to, a.id, 7);
  expect(inventoryOf(to, a.eventId).holds).toHaveLength(1);
  const path = `${V2}/booking/lock?eventId=${a.eventId}`;
  expect((await to.post(path, from.selection("T", "A1", "Pit:100"), a)).status).toBe(200);
  expect(inventoryOf(to, a.eventId).holds).toMatchObject([{ session: "T" }]);
});

test("a cell with a clock behind → holds end as before, and new ones of the same type after them", async () => {
  to = emptyIds(7);
  const { world, a } = from;
  world.clock.timeMs += 5_000;
  expect((await from.book("lock", "S", "A1", "Pit:2")).status).toBe(200);
  const [before] = inventoryOf(from, a.eventId).holds;
  await move(from, to, a.id, 7);
  const path = `${V2}/booking/lock?eventId=${a.eventId}`;
  expect((await to.post(path, from.selection("T", "A2"), a)).status).toBe(200);
  const nowMs = to.world.clock.timeMs;
  expect(inventoryOf(to, a.eventId).holds).toMatchObject([
    { ...before, startedAtMs: nowMs },
    { startedAtMs: nowMs, expiresAtMs: nowMs + 15 * 60_000 },
  ]);
  to.world.clock.timeMs = before!.expiresAtMs - 1;
  const event = to.engine.state.catalog.events.get(a.eventId)!;
  to.engine.expire(event);
  expect(inventoryOf(to, a.eventId).holds).toMatchObject([{ session: "S" }]);
});

function inventoryOf({ engine }: TestServer, eventId: string) {
  const { state } = engine;
  const partition = state.partitionOf(state.catalog.events.get(eventId)!);
  const { holds, layout } = partition;
  const fences = Array.from({ length: layout.seatCount }, (_, seat) => partition.fenceOf(seat));
  const kept = holds.slots().map((slot) => {
    return { ...holds.get(slot), seats: [...partition.seatsOf(slot)] };
  });
  return { states: [...partition.state], fences, holds: kept };
}
