/** The map of an event, and its changes as a list, over HTTP. */
import { gunzipSync } from "node:zlib";
import { unpack } from "msgpackr";
import { expect, test } from "vitest";
import { SeatState } from "../../../engine/inventory/states.ts";
import { AuditGap, type EventChange } from "../../../engine/queries/history.ts";
import type { Change, EventMap } from "../../../server/client/changes.ts";
import { changeView } from "../../../server/live/change-view.ts";
import { changesPage } from "../../../server/live/changes.ts";
import { type ProblemBody, replyOf, requestOf } from "../../support/answers/exchange.ts";
import { type SeatBody, TestServer, V2 } from "../../support/server.ts";

interface ChangesBody {
  readonly sequence: number;
  readonly more: boolean;
  readonly changes: readonly Change[];
}

const eventPath = (server: TestServer) => `${V2}/events/${server.a.eventId}`;
const LETTERS: Readonly<Record<string, string>> = {
  ACTIVE: "A",
  LOCKED: "L",
  SOLD: "S",
  BLOCKED: "B",
};

const mapOf = async (server: TestServer) =>
  (await server.get<EventMap>(`${eventPath(server)}/map/`)).body;

const changesOf = async (server: TestServer, query: string) =>
  (await server.get<ChangesBody>(`${eventPath(server)}/changes/?${query}`)).body;

/** The rows of the map, as the listing shows them. */
function rowsOf({ columns, prices, expiresAt }: EventMap) {
  return columns.ids.map((seatId, i) => {
    const index = columns.priceIndexes[i]!;
    const priceId = index === -1 ? undefined : prices[index];
    return { seatId, letter: columns.states[i], priceId, ends: expiresAt[seatId] !== undefined };
  });
}

function listedRows(seats: readonly SeatBody[]) {
  return seats
    .map(({ seatId, state, priceId }) => {
      return { seatId, letter: state === null ? "-" : LETTERS[state], priceId };
    })
    .sort((a, b) => a.seatId - b.seatId);
}

test("the map has the rows of the listing by id, and the areas", async () => {
  const server = new TestServer();
  await server.book("lock", "ann", "A1", "A2", "Pit:3");
  await server.book("sale", "ann", "A2");
  await server.book("block", null, "B1");
  const map = await mapOf(server);
  const listed = await server.get(`${eventPath(server)}/seats/?size=100`);
  expect(map).toMatchObject({ status: "PUBLISHED", bookable: true, prices: [server.a.priceId] });
  expect(rowsOf(map).map(({ ends: _ends, ...row }) => row)).toEqual(
    listedRows(await server.seats()),
  );
  expect(rowsOf(map).filter(({ ends }) => ends)).toEqual([
    { seatId: server.a.labels.idOf("A1"), letter: "L", priceId: server.a.priceId, ends: true },
  ]);
  const area = { groupOfSeatsId: server.a.labels.idOf("Pit"), active: 97, locked: 3, sold: 0 };
  expect(map.areas).toEqual([{ ...area, capacity: 100, blocked: 0 }]);
  expect(listed.headers["X-Sequence"]).toBe(String(map.sequence));
  expect(map.sequence).toBe(server.engine.sequence);
});

test("a seat that lost its price is not in the map, as it is not listed", async () => {
  const server = new TestServer();
  const seats = [{ objectId: server.a.labels.idOf("A1") }];
  const { a, world } = server;
  world.must("unassignPrices", a.caller, { eventId: a.eventId, body: { seats } });
  const map = await mapOf(server);
  expect(rowsOf(map).map(({ ends: _ends, ...row }) => row)).toEqual(
    listedRows(await server.seats()),
  );
  expect(map.columns.ids).not.toContain(server.a.labels.idOf("A1"));
});

test("the map comes as MessagePack or compressed to a client that takes it", async () => {
  const server = new TestServer();
  const path = `${eventPath(server)}/map/`;
  const map = await mapOf(server);
  const ask = (headers: object) => server.send({ ...requestOf("GET", path, server.a), ...headers });
  const packed = await ask({ accept: "application/vnd.msgpack" });
  expect(packed.type).toBe("application/vnd.msgpack");
  expect(unpack(packed.body as Buffer)).toEqual(map);
  const compressed = await ask({ acceptEncoding: "br, gzip" });
  expect(Object.fromEntries(compressed.headers)["Content-Encoding"]).toBe("gzip");
  for (const { headers } of [packed, compressed, await ask({})]) {
    expect(headers.filter(([name]) => name === "Vary")).toEqual([
      ["Vary", "Accept, Accept-Encoding"],
    ]);
  }
  expect(JSON.parse(gunzipSync(compressed.body as Buffer).toString())).toEqual(map);
});

test("changes say what each call did, with the values after it", async () => {
  const server = new TestServer();
  const { sequence: previous } = await mapOf(server);
  const { sequence } = server.engine;
  await server.book("lock", "ann", "A2", "A1");
  await server.book("sale", "ann", "A1");
  await server.book("directsale", "bob", "Pit:4");
  server.setStatus("ARCHIVED");
  const { changes, more, sequence: next } = await changesOf(server, `since=${previous}`);
  expect(more).toBe(false);
  expect(next).toBe(server.engine.sequence);
  const [id1, id2] = ["A1", "A2"].map((label) => server.a.labels.idOf(label));
  const { priceId } = server.a;
  const expiresAt = "2026-03-19T10:15:00.000";
  const time = "2026-03-19T10:00:00.000";
  const none = { seats: [], areas: [] };
  expect(changes).toEqual([
    {
      sequence: sequence + 1,
      previous,
      time,
      call: "lock",
      sessionId: "ann",
      holdType: "CART",
      seats: [
        { id: id1, state: "LOCKED", priceId, expiresAt },
        { id: id2, state: "LOCKED", priceId, expiresAt },
      ].sort((a, b) => a.id! - b.id!),
      areas: [],
    },
    {
      sequence: sequence + 2,
      previous: sequence + 1,
      time,
      call: "sale",
      sessionId: "ann",
      ...none,
      seats: [{ id: id1, state: "SOLD", priceId }],
    },
    {
      sequence: sequence + 3,
      previous: sequence + 2,
      time,
      call: "directsale",
      sessionId: "bob",
      ...none,
      areas: [
        {
          groupOfSeatsId: server.a.labels.idOf("Pit"),
          capacity: 100,
          active: 96,
          locked: 0,
          sold: 4,
          blocked: 0,
        },
      ],
    },
    {
      sequence: sequence + 4,
      previous: sequence + 3,
      time,
      call: "event",
      ...none,
      status: "ARCHIVED",
      bookable: false,
    },
  ]);
});

test("a hold that ran out is a change before that of the command that met it", async () => {
  const server = new TestServer();
  await server.book("lock", "ann", "A1");
  const { sequence } = await mapOf(server);
  server.world.clock.timeMs += 900_000;
  await server.book("lock", "bob", "A1");
  const { changes } = await changesOf(server, `since=${sequence}`);
  expect(changes.map(({ call, sessionId, holdType }) => [call, sessionId, holdType])).toEqual([
    ["expire", "ann", "CART"],
    ["lock", "bob", "CART"],
  ]);
});

test("bookingEnabled of the organization is a change of each of its events", async () => {
  const server = new TestServer();
  const { sequence } = await mapOf(server);
  server.world.change({ bookingEnabled: false });
  const { changes } = await changesOf(server, `since=${sequence}`);
  expect(changes).toMatchObject([{ call: "event", bookable: false, seats: [] }]);
  expect(changes[0]!.status).toBeUndefined();
  expect((await mapOf(server)).bookable).toBe(false);
});

test("the changes of an event begin with its creation and end with its deletion", async () => {
  const server = new TestServer();
  const { a, world } = server;
  await server.book("lock", "ann", "A1");
  const before = await changesOf(server, "since=0");
  expect(before.changes[0]).toMatchObject({ previous: 0, call: "event", status: "PUBLISHED" });
  world.must("deleteEvent", a.caller, { eventId: a.eventId });
  const { changes } = await changesOf(server, "since=0");
  expect(changes.slice(0, -1)).toEqual(before.changes);
  expect(changes.at(-1)).toMatchObject({ call: "deleteevent", seats: [], areas: [] });
});

test("changes come in pages, and memory and trail are one list", async () => {
  const all = new TestServer();
  const little = new TestServer({ recentBytes: 3_000 });
  for (const server of [all, little]) {
    for (let round = 0; round < 20; round++) {
      await server.book("lock", `s${round}`, "A1", "Pit:1");
      await server.book("unlock", round % 2 === 0 ? null : `s${round}`, "A1");
    }
  }
  const { changes } = await changesOf(all, "since=0&limit=1000");
  const paged: Change[] = [];
  for (let since = 0, more = true; more;) {
    const page = await changesOf(little, `since=${since}&limit=7`);
    expect(page.changes.length).toBeLessThanOrEqual(7);
    paged.push(...page.changes);
    ({ more, sequence: since } = page);
  }
  expect(paged).toEqual(changes);
  expect(little.services.live.stats.recentBytes).toBeLessThan(5_000);
});

test("older changes are refused with OVERLOADED while too many questions wait", async () => {
  const audit = { ask: () => Promise.resolve({ gap: AuditGap.BUSY, extent: null }) };
  const server = new TestServer({ audit, recentBytes: 1_000 });
  for (let round = 0; round < 20; round++) {
    for (const call of ["lock", "unlock"] as const) await server.book(call, "ann", "A1");
  }
  const path = `${V2}/events/${server.a.eventId}/changes/?since=0`;
  const { status, body } = await server.get<{ errorCode: string }>(path);
  expect([status, body.errorCode]).toEqual([503, "OVERLOADED"]);
});

test("a request waits for the next change, up to its time", async () => {
  const server = new TestServer();
  const { sequence } = await mapOf(server);
  const waiting = changesOf(server, `since=${sequence}&wait=30`);
  await expect.poll(() => server.services.live.stats.waitingPolls).toBe(1);
  expect(server.services.waiting.count).toBe(0);
  await server.book("lock", "ann", "A1");
  expect((await waiting).changes).toMatchObject([{ call: "lock", previous: sequence }]);
  expect(server.services.live.stats.waitingPolls).toBe(0);
  const last = server.engine.sequence;
  const late = await changesOf(server, `since=${last}&wait=1`);
  expect(late).toEqual({ sequence: last, more: false, changes: [] });
});

test("a waiting request ends when the server stops, and when its client goes", async () => {
  const server = new TestServer();
  const { sequence } = await mapOf(server);
  const path = `${eventPath(server)}/changes/?since=${sequence}&wait=30`;
  const request = requestOf("GET", path, server.a);
  const waiting = [changesOf(server, `since=${sequence}&wait=30`), server.send(request)];
  await expect.poll(() => server.services.live.stats.waitingPolls).toBe(2);
  server.services.live.stop();
  expect((await Promise.all(waiting)).length).toBe(2);
});

test.each([
  ["since=x", 400, "VALIDATION_FAILED"],
  ["", 400, "VALIDATION_FAILED"],
  ["since=0&limit=1001", 400, "VALIDATION_FAILED"],
  ["since=0&wait=31", 400, "VALIDATION_FAILED"],
  ["since=999999", 410, "HISTORY_GONE"],
  ["since=9007199254740991", 410, "HISTORY_GONE"],
])("changes with %j are refused with %i", async (query, status, errorCode) => {
  const server = new TestServer();
  const reply = await server.get(`${eventPath(server)}/changes/?${query}`);
  expect(reply).toMatchObject({ status, body: { errorCode } });
  if (status === 410) expect(reply.body).toMatchObject({ sequence: 0 });
});

const SAFE_MAX = String(Number.MAX_SAFE_INTEGER);
/** The smallest unsafe integer, one beyond a double, and more than 64 bits. */
const UNSAFE = ["9007199254740992", "9007199254740993", "9223372036854775808", "1".repeat(30)];
const EVENTS = { accept: "text/event-stream" };
const BY_SEQUENCE: readonly (readonly [string, object])[] = [
  ["changes/?since=", {}],
  ["changes/?since=", EVENTS],
  ["stream?since=", { protocols: "" }],
  ["history/?since=", {}],
  ["seats/?asOf=", {}],
  ["areas/?asOf=", {}],
  ["audit/?fromSequence=", {}],
  ["audit/?toSequence=", {}],
];

test.each(BY_SEQUENCE)("%s of more than 2^53 - 1 is not valid %o", async (target, head) => {
  const server = new TestServer();
  for (const number of UNSAFE) {
    const request = requestOf("GET", `${eventPath(server)}/${target}${number}`, server.a);
    const reply = replyOf<ProblemBody>(await server.send({ ...request, ...head }));
    expect([number, reply.status, reply.body.errorCode]).toEqual([
      number,
      400,
      "VALIDATION_FAILED",
    ]);
  }
});

test.each(["", "https://tickets.example.com"])(
  "changes come in the form that Accept decides, for pages of %j too",
  async (allowed) => {
    const server = new TestServer({ allowedOrigins: allowed === "" ? [] : [allowed] });
    const request = requestOf("GET", `${eventPath(server)}/changes/?since=0`, server.a);
    const variesOf = async (head: object) => {
      const { status, type, headers } = await server.send({ ...request, ...head });
      return [status, type.split(";")[0], headers.filter(([name]) => name === "Vary")];
    };
    expect(await variesOf({})).toEqual([200, "application/json", [["Vary", "Accept"]]]);
    // Origin decides about pages of other hosts.
    const varies = allowed === "" ? "Accept" : "Accept, Origin";
    expect(await variesOf(EVENTS)).toEqual([200, "text/event-stream", [["Vary", varies]]]);
  },
);

test("Last-Event-ID is as valid as since", async () => {
  const server = new TestServer();
  const request = requestOf("GET", `${eventPath(server)}/changes/`, server.a);
  const statuses = [...UNSAFE, SAFE_MAX, "x", "-1"].map(async (lastEventId) => {
    return (await server.send({ ...request, ...EVENTS, lastEventId })).status;
  });
  expect(await Promise.all(statuses)).toEqual([400, 400, 400, 400, 410, 400, 400]);
});

const AREA = { id: 7, active: 1, locked: 2, sold: 3, blocked: 4 };

function changeOf(sequence: number, seatCount: number, facts: Partial<EventChange> = {}) {
  const seats = Array.from({ length: seatCount }, (_, id) => ({
    id,
    state: id % 3 === 0 ? null : SeatState.LOCKED,
    priceId: id % 5 === 0 ? null : id,
    expiresAtMs: id % 2 === 0 ? null : 1_800_000_000_000 + id,
  }));
  const names = { call: "lock", session: 'a "session" "seats":[', holdType: "vip" };
  const rest = { areas: [AREA], status: null, bookable: null };
  return { sequence, previous: sequence - 1, timeMs: sequence, ...names, ...rest, ...facts, seats };
}

const pageOf = (...changes: readonly EventChange[]) => ({ changes, hasMore: true });

test.each([
  ["without changes", []],
  ["with few seats", [changeOf(4, 3)]],
  ["with as many seats as a piece has", [changeOf(4, 1_000, { areas: [] })]],
  ["with a seat more", [changeOf(4, 1_001)]],
  ["with many changes, some without seats", [1, 0, 2_500, 0].map((n, i) => changeOf(i + 1, n))],
  ["with a status", [changeOf(1, 2_000, { status: "PUBLISHED", bookable: true })]],
] as const)("a page %s has each change as it is shown", async (_, changes) => {
  const { status, type, body } = await changesPage(pageOf(...changes), 3, 1);
  expect([status, type]).toEqual([200, "application/json; charset=utf-8"]);
  const shown = changes.map((change) => changeView(change, false));
  const sequence = changes.at(-1)?.sequence ?? 3;
  const expected = { sequence, more: true, changes: shown };
  expect(JSON.parse(Buffer.from(body).toString())).toEqual(JSON.parse(JSON.stringify(expected)));
});

test("a change of very many seats leaves turns of the event loop to others", async () => {
  const page = pageOf(changeOf(1, 100_000));
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await changesPage(page, 0, 1);
  isOver = true;
  expect(turns).toBeGreaterThan(5);
});
