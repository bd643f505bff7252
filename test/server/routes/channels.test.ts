/** Channels over HTTP, the command sockets and v1: set up, booked, seen by those who follow. */
import { expect, test } from "vitest";
import { CHANNEL_GROUPS_MAX, CHANNEL_SEATS_MAX } from "../../../engine/constants.ts";
import type { Change, EventMap } from "../../../server/client/changes.ts";
import { TestServer, V2 } from "../../support/server.ts";
import { expectConsistent } from "../../support/table.ts";
import { DENIED, expectProblem, IN_USE, invalid, NO_ID, NOT_FOUND, NOWHERE } from "../wire/wire.ts";
import { CommandStage } from "../commands/stage.ts";
import { Desk } from "./desk.ts";

interface Channel {
  readonly key: string;
  readonly name: string;
  readonly active: number;
  readonly locked: number;
  readonly sold: number;
  readonly blocked: number;
  readonly unpriced: number;
}

const channelsPath = (server: TestServer, key = "") =>
  `${V2}/events/${server.a.eventId}/channels/${key}`;
const idsOf = ({ a }: TestServer, ...labels: readonly string[]) =>
  labels.map((label) => a.labels.idOf(label));
const NONE = { active: 0, locked: 0, sold: 0, blocked: 0, unpriced: 0 };

function put(server: TestServer, key: string, ...labels: readonly string[]) {
  const body = { name: `The ${key}`, seats: idsOf(server, ...labels) };
  return server.put<Channel>(channelsPath(server, key), body);
}

async function list(server: TestServer): Promise<readonly Channel[]> {
  return (await server.get<readonly Channel[]>(channelsPath(server))).body;
}

function lock(server: TestServer, channel: unknown, ...labels: readonly string[]) {
  return server.post(server.bookingPath("lock"), {
    ...server.selection("ann", ...labels),
    channel,
  });
}

test("a channel is set up with 201, replaced with 200, listed by key and deleted once", async () => {
  const server = new TestServer();
  expect(await list(server)).toEqual([]);
  const made = await put(server, "press", "A1", "A2");
  expect([made.status, made.body]).toEqual([
    201,
    { key: "press", name: "The press", ...NONE, active: 2 },
  ]);
  const groups = { name: "Agency", groupOfSeatsIds: idsOf(server, "Round") };
  expect((await server.put(channelsPath(server, "Agency-1_x."), groups)).status).toBe(201);
  await server.book("block", null, "A1");
  const again = await server.put(channelsPath(server, "press"), {
    name: "Press",
    seats: idsOf(server, "A1", "B1", "B2"),
    groupOfSeatsIds: null,
  });
  expect([again.status, again.body]).toEqual([
    200,
    { key: "press", name: "Press", ...NONE, active: 2, blocked: 1 },
  ]);
  const listed = await server.get<readonly Channel[]>(channelsPath(server));
  expect(listed.headers["X-Sequence"]).toBe(String(server.engine.sequence));
  expect(listed.body.map(({ key, active }) => [key, active])).toEqual([
    ["Agency-1_x.", 2],
    ["press", 2],
  ]);
  expect((await server.delete(channelsPath(server, "press"))).status).toBe(204);
  expectProblem(await server.delete(channelsPath(server, "press")), NOT_FOUND);
  expect((await list(server)).map(({ key }) => key)).toEqual(["Agency-1_x."]);
  expectConsistent(server.world);
});

test("an unknown event is 404 for every call, one of another organization 403", async () => {
  const server = new TestServer();
  const body = { name: "Press" };
  const before = server.digest;
  for (const [eventId, expected] of [
    [NOWHERE, NOT_FOUND],
    [server.b.eventId, DENIED],
  ] as const) {
    const path = `${V2}/events/${eventId}/channels/`;
    expectProblem(await server.get(path), expected);
    expectProblem(await server.put(`${path}press`, body), expected);
    expectProblem(await server.delete(`${path}press`), expected);
  }
  expect(server.digest).toBe(before);
});

test("bodies and keys that are not valid → 400 with the code of their member", async () => {
  const server = new TestServer();
  const [seat, section, pit] = idsOf(server, "A1", "Stalls", "Pit") as [number, number, number];
  const before = server.digest;
  for (const [key, body, ...errors] of [
    ["press", {}, "name NOT_NULL"],
    ["press", { name: "" }, "name SIZE"],
    ["press", { name: "x", seats: [{ id: seat }] }, "seats[0] TYPE"],
    ["press", { name: "x", seats: [0.5, 0] }, "seats[0] TYPE", "seats[1] RANGE"],
    [
      "press",
      { name: "x", seats: [seat, section, NO_ID] },
      "seats[1] NOT_FOUND",
      "seats[2] NOT_FOUND",
    ],
    [
      "press",
      { name: "x", groupOfSeatsIds: [pit, section, seat] },
      "groupOfSeatsIds[0] NOT_FOUND",
      "groupOfSeatsIds[2] NOT_FOUND",
    ],
    ["a%20b", { name: "x" }, "key FORMAT"],
    ["%C3%A4", { name: "x" }, "key FORMAT"],
    ["a".repeat(65), { name: "x" }, "key SIZE"],
  ] as const) {
    const reply = await server.put(channelsPath(server, key), body);
    expectProblem(reply, invalid(...errors));
  }
  for (const channel of ["", "a b", 7, "a".repeat(65)]) {
    expect((await lock(server, channel, "A1")).body).toMatchObject({
      errorCode: "VALIDATION_FAILED",
      errors: [{ field: "channel" }],
    });
  }
  expect(server.digest).toBe(before);
});

test("more seats or groups than a request may name → refused with SIZE", async () => {
  const server = new TestServer();
  const [seat, section] = idsOf(server, "A1", "Stalls") as [number, number];
  const times = (count: number, id: number) => Array.from({ length: count }, () => id);
  const body = (seats: number, groups: number) => ({
    name: "x",
    seats: times(seats, seat),
    groupOfSeatsIds: times(groups, section),
  });
  const send = (seats: number, groups: number) =>
    server.put(channelsPath(server, "x"), body(seats, groups));
  expectProblem(await send(CHANNEL_SEATS_MAX + 1, 0), invalid("seats SIZE"));
  expectProblem(await send(0, CHANNEL_GROUPS_MAX + 1), invalid("groupOfSeatsIds SIZE"));
  expect((await send(CHANNEL_SEATS_MAX, CHANNEL_GROUPS_MAX)).status).toBe(201);
});

test("a seat of another channel → 409 that names the seat and the channel", async () => {
  const server = new TestServer();
  await put(server, "press", "A2");
  const reply = await put(server, "agency", "A1", "A2");
  expectProblem(reply, { ...IN_USE, errors: ["seats[1] CHANNEL"] });
  const [error] = (
    reply.body as unknown as { errors: { message: string; rejectedValue: number }[] }
  ).errors;
  expect(error!.rejectedValue).toBe(server.a.labels.idOf("A2"));
  expect(error!.message).toContain("press");
});

test("the sixteenth channel of an event → 400", async () => {
  const server = new TestServer();
  for (let i = 1; i <= 15; i++) expect((await put(server, `c${i}`)).status).toBe(201);
  expectProblem(await put(server, "c16"), invalid(" SIZE"));
});

test("lock, directsale, best, carts and checks take kept seats with their channel alone", async () => {
  const server = new TestServer();
  const { a } = server;
  await put(server, "agency", "A1", "A2", "A3", "A4");
  const refused = {
    status: 400,
    errorCode: "INVENTORY_NOT_AVAILABLE",
    errors: ["seats[0].id CHANNEL"],
  };
  expectProblem(await lock(server, undefined, "A1", "A5"), refused);
  expectProblem(await lock(server, "press", "A1", "A5"), refused);
  const check = `${V2}/booking/check?eventId=${a.eventId}&call=lock`;
  const body = { ...server.selection("ann", "A1"), channel: null };
  expectProblem(await server.post(check, body), { ...refused, path: `${V2}/booking/lock` });
  expect((await server.post(check, { ...body, channel: "agency" })).body).toBe(true);
  expect((await lock(server, "agency", "A1", "A5")).body).toBe(true);
  const sell = (channel?: string) =>
    server.post(server.bookingPath("directsale"), { ...server.selection(null, "A2"), channel });
  expect((await sell()).body).toBe(false);
  expect((await sell("agency")).body).toBe(true);
  const best = async (channel?: string) => {
    const request = { quantity: 3, groupOfSeatsIds: idsOf(server, "Stalls"), channel };
    const reply = await server.post<{ seats: { id: number }[] }>(
      `${V2}/booking/check?eventId=${a.eventId}&call=best`,
      request,
    );
    return reply.body.seats.map(({ id }) => a.labels.labelOf(id)).join(" ");
  };
  expect(await best()).toBe("B2 B3 B4");
  const cart = (channel?: string) => {
    const seats = idsOf(server, "A3", "A4").map((id) => ({ id }));
    const item = { eventId: a.eventId, call: "lock", seats, ...(channel ? { channel } : {}) };
    return server.post(`${V2}/booking/cart`, { sessionId: "bob", items: [item] });
  };
  expectProblem(await cart(), {
    ...refused,
    errors: ["items[0].seats[0].id CHANNEL", "items[0].seats[1].id CHANNEL"],
  });
  expect((await cart("agency")).status).toBe(200);
  expectConsistent(server.world);
});

test("the same Idempotency-Key with another channel is another request", async () => {
  const server = new TestServer();
  await put(server, "agency", "A1");
  const send = (channel?: string) =>
    server.post(
      server.bookingPath("lock"),
      { ...server.selection("ann", "A1"), channel },
      {
        key: server.a.key,
        headers: { "idempotency-key": "k-1" },
      },
    );
  expect((await send()).status).toBe(400);
  expect((await send("agency")).body).toMatchObject({ errorCode: "IDEMPOTENCY_KEY_REUSED" });
  expect((await send()).status).toBe(400);
});

test("locks of v1 name no channel: kept seats are returned as failed", async () => {
  const desk = new Desk();
  await put(desk, "agency", "A1");
  await desk.books("lock", ["A1", "A2"], ["A1"]);
  expect(await desk.states("A1", "A2")).toEqual(["ACTIVE", "LOCKED"]);
});

test("the JSON command socket takes the channel of locks and of best", async () => {
  const stage = await CommandStage.start();
  const { server } = stage;
  await put(server, "agency", "A1", "A2");
  const client = await stage.open();
  const command = (n: number, label: string, channel?: string) => ({
    ...stage.command(n, "lock", "ann", label),
    ...(channel === undefined ? {} : { channel }),
  });
  const best = { n: 4, call: "best", eventId: server.a.eventId, quantity: 1, channel: "agency" };
  const [refused, locked, free, found] = await client.ask(
    command(1, "A1"),
    command(2, "A1", "agency"),
    command(3, "B1", "agency"),
    best,
  );
  expect([refused!.status, locked!.status, free!.status, found!.status]).toEqual([
    400, 200, 200, 200,
  ]);
  expect(refused!.body).toMatchObject({ errors: [{ field: "seats[0].id", code: "CHANNEL" }] });
});

const mapOf = async (server: TestServer) =>
  (await server.get<EventMap>(`${V2}/events/${server.a.eventId}/map/`)).body;

/** Keys by label, without the seats of no channel. */
function keptIn(server: TestServer, { columns }: EventMap): Record<string, string> {
  const keys = columns.channels ?? [];
  const pairs = keys.flatMap((key, i) =>
    key === null ? [] : [[server.a.labels.labelOf(columns.ids[i]!), key] as const],
  );
  return Object.fromEntries(pairs);
}

test("the map has a column of channels while a seat is in one; the listing shows kept seats as unavailable", async () => {
  const server = new TestServer();
  const before = await mapOf(server);
  expect(before.columns).not.toHaveProperty("channels");
  const [untouched] = await server.seats();
  server.world.clock.timeMs += 1_000;
  await put(server, "agency", "A1", "Round2");
  const map = await mapOf(server);
  expect(map.columns.channels).toHaveLength(map.columns.ids.length);
  expect(keptIn(server, map)).toEqual({ A1: "agency", Round2: "agency" });
  expect(map.columns.states).toBe(before.columns.states);
  const seats = await server.seats();
  expect(seats.filter(({ available }) => !available).map(({ seatId }) => seatId)).toEqual(
    idsOf(server, "A1", "Round2"),
  );
  const changed = seats.filter(({ updatedAt }) => updatedAt !== untouched!.updatedAt);
  expect(changed.map(({ seatId }) => seatId)).toEqual(idsOf(server, "A1", "Round2"));
  await server.delete(channelsPath(server, "agency"));
  expect((await mapOf(server)).columns).not.toHaveProperty("channels");
});

test("each set-up is one change of the event, with the seats that joined and left", async () => {
  const server = new TestServer();
  const since = (await mapOf(server)).sequence;
  await put(server, "agency", "A1", "A2");
  await lock(server, "agency", "A2");
  await put(server, "agency", "A2", "A3");
  // The same again changes nothing.
  await put(server, "agency", "A3", "A2");
  await server.put(channelsPath(server, "agency"), {
    name: "New",
    seats: idsOf(server, "A2", "A3"),
  });
  await server.delete(channelsPath(server, "agency"));
  const path = `${V2}/events/${server.a.eventId}/changes/?since=${since}`;
  const { changes } = (await server.get<{ changes: readonly Change[] }>(path)).body;
  const before = [{ sequence: since }, ...changes];
  expect(changes.map(({ previous }) => previous)).toEqual(
    before.slice(0, -1).map(({ sequence }) => sequence),
  );
  const shown = changes.map(({ call, seats }) => [
    call,
    ...seats.map(({ id, state, channel }) =>
      [server.a.labels.labelOf(id), state, channel].join(" "),
    ),
  ]);
  expect(shown).toEqual([
    ["channels", "A1 ACTIVE agency", "A2 ACTIVE agency"],
    ["lock", "A2 LOCKED "],
    ["channels", "A1 ACTIVE ", "A3 ACTIVE agency"],
    ["channels"],
    ["channels", "A2 LOCKED ", "A3 ACTIVE "],
  ]);
  const left = changes[4]!.seats;
  expect(left.map(({ channel }) => channel)).toEqual([null, null]);
  expect(left[0]!.expiresAt).toMatch(/^2026-03-19T10:15/);
  expect(changes[1]!.seats[0]).not.toHaveProperty("channel");
});

test("the audit trail of a seat says who put it into a channel and took it out", async () => {
  const server = new TestServer();
  await put(server, "agency", "A1");
  await server.delete(channelsPath(server, "agency"));
  const seatId = server.a.labels.idOf("A1");
  const path = `${V2}/events/${server.a.eventId}/audit/?seatId=${seatId}&sort=sequence`;
  const { content } = (await server.get<{ content: readonly object[] }>(path)).body;
  const entry = {
    call: "channels",
    fromState: "ACTIVE",
    toState: "ACTIVE",
    actorType: "ORGANIZATION",
  };
  expect(content.slice(-2)).toMatchObject([
    { ...entry, channel: "agency" },
    { ...entry, channel: null },
  ]);
  expect(content[0]).not.toHaveProperty("channel");
});
