/** The audit trail and past maps over the front: who did what, when, and how it looked then. */
import { pino } from "pino";
import { expect, test } from "vitest";
import { AuditGap } from "../../../engine/queries/audit-trail.ts";
import { Dispatch } from "../../../server/dispatch.ts";
import { START_MS } from "../../support/engine.ts";
import {
  ask,
  actingFor,
  type House,
  type PageBody,
  type ProblemBody,
  replyOf,
  requestOf,
  ROUTES,
  TestServer,
  V2,
} from "../../support/server.ts";

interface EntryBody {
  readonly sequence: number;
  readonly ordinal: number;
  readonly time: string;
  readonly call: string;
  readonly actorType: string;
  readonly actorId: number | null;
  readonly sessionId: string | null;
  readonly holdType: string | null;
  readonly holdSequence: number | null;
  readonly seatId: number | null;
  readonly groupOfSeatsId: number | null;
  readonly capacity: number | null;
  readonly fromState: string | null;
  readonly toState: string | null;
  readonly priceId: number | null;
}
interface AuditBody extends PageBody<EntryBody> {
  readonly trail: { firstSequence: number; firstTime: string | null; lastSequence: number };
}

const auditPath = ({ eventId }: House, query = "") => `${V2}/events/${eventId}/audit/?${query}`;

async function audit(server: TestServer, query = "", house = server.a): Promise<AuditBody> {
  const options = { key: house.key };
  const { status, body } = await server.call<AuditBody>("GET", auditPath(house, query), options);
  expect(status).toBe(200);
  return body;
}

async function book(server: TestServer, call: string, body: object, house = server.a) {
  const path = `${V2}/booking/${call}?eventId=${house.eventId}`;
  return server.call("POST", path, { key: house.key, body });
}

const seat = ({ labels }: House, label: string) => ({ id: labels.idOf(label) });
const said = ({ fromState, toState, call }: EntryBody) => `${call} ${fromState}>${toState}`;

test("a seat's life: who, when, which call, session, hold type, from where to where", async () => {
  const server = new TestServer();
  const { a } = server;
  const seats = [seat(a, "A1")];
  server.world.clock.timeMs = START_MS + 1_500;
  await book(server, "lock", { sessionId: "s1", seats, holdType: "RESERVED" });
  await book(server, "sale", { seats });
  await book(server, "revertsale", { sessionId: "desk", seats });
  await book(server, "block", { seats });
  await book(server, "unblock", { seats });
  const { content, trail } = await audit(server, `seatId=${seats[0]!.id}`);
  expect(content.map(said)).toEqual([
    "prices null>ACTIVE",
    "lock ACTIVE>LOCKED",
    "sale LOCKED>SOLD",
    "revertsale SOLD>ACTIVE",
    "block ACTIVE>BLOCKED",
    "unblock BLOCKED>ACTIVE",
  ]);
  const [, lock, sale] = content;
  expect(lock).toEqual({
    sequence: lock!.sequence,
    ordinal: 0,
    time: "2026-03-19T10:00:01.500",
    call: "lock",
    actorType: "ORGANIZATION",
    actorId: a.id,
    sessionId: "s1",
    holdType: "RESERVED",
    holdSequence: lock!.sequence,
    seatId: seats[0]!.id,
    groupOfSeatsId: null,
    capacity: null,
    fromState: "ACTIVE",
    toState: "LOCKED",
    priceId: a.priceId,
  });
  expect(sale).toMatchObject({ sessionId: "s1", holdType: "RESERVED" });
  expect(sale!.holdSequence).toBe(lock!.sequence);
  const last = server.engine.sequence;
  expect(trail).toEqual({ firstSequence: 1, firstTime: null, lastSequence: last });
});

test("a direct sale has ACTIVE as its source, and the hold type as it was given", async () => {
  const server = new TestServer();
  const { a } = server;
  const pit = a.labels.idOf("Pit");
  const groupOfSeats = [{ id: pit, capacity: 3 }];
  const body = { sessionId: "till", seats: [seat(a, "A2")], groupOfSeats, holdType: "COMP" };
  expect((await book(server, "directsale", body)).body).toBe(true);
  expect((await book(server, "directsale", body)).body).toBe(false);
  const { content } = await audit(server, "sessionId=till");
  expect(content).toMatchObject([
    { call: "directsale", fromState: "ACTIVE", toState: "SOLD", holdType: "COMP", capacity: null },
    { call: "directsale", fromState: "ACTIVE", toState: "SOLD", groupOfSeatsId: pit, capacity: 3 },
  ]);
});

test("a hold that runs out is the system's doing, and is told at once", async () => {
  const server = new TestServer();
  const groupOfSeats = [{ id: server.a.labels.idOf("Pit"), capacity: 2 }];
  await book(server, "lock", { sessionId: "s", seats: [seat(server.a, "A1")], groupOfSeats });
  server.world.clock.timeMs += 16 * 60_000;
  const { content } = await audit(server, "sessionId=s&sort=sequence,desc&size=2");
  expect(content).toMatchObject([
    { call: "expire", actorType: "SYSTEM", actorId: null, ordinal: 1, capacity: 2 },
    { call: "expire", holdType: "CART", fromState: "LOCKED", toState: "ACTIVE", ordinal: 0 },
  ]);
});

test("filters: by area, time and sequence number, paged and in both orders", async () => {
  const server = new TestServer();
  const { a } = server;
  const pit = { id: a.labels.idOf("Pit"), capacity: 1 };
  const sequences: number[] = [];
  for (let i = 1; i <= 5; i++) {
    server.world.clock.timeMs = START_MS + i * 60_000;
    await book(server, "block", { groupOfSeats: [pit] });
    sequences.push(server.engine.sequence);
  }
  const area = `groupOfSeatsId=${pit.id}`;
  const found = async (query: string) =>
    (await audit(server, `${area}&${query}`)).content.map(({ sequence }) => sequence);
  const [s1, s2, s3, s4, s5] = sequences;
  expect(await found(`fromSequence=${s1}`)).toEqual(sequences);
  expect(await found(`fromSequence=${s2}&toSequence=${s4}`)).toEqual([s2, s3, s4]);
  expect(await found("from=2026-03-19T10:02&to=2026-03-19T10:04")).toEqual([s2, s3, s4]);
  expect(await found("from=2026-03-19T10:04:00.001")).toEqual([s5]);
  expect(await found("to=2026-03-19T09:59")).toEqual([]);
  expect(await found("sort=sequence,desc&size=2")).toEqual([s5, s4]);
  expect(await found("sort=sequence,desc&size=2&page=1")).toEqual([s3, s2]);
  expect(await found(`seatId=${pit.id}`)).toEqual([]);
  const page = await audit(server, `${area}&fromSequence=${s1}&size=2&page=2`);
  expect(page).toMatchObject({ totalElements: 5, totalPages: 3, numberOfElements: 1, last: true });
});

const WRONG = [
  ["sort=time", "sort"],
  ["size=101", "size"],
  ["seatId=0", "seatId"],
  ["from=yesterday", "from"],
  ["toSequence=x", "toSequence"],
  ["sessionId=", "sessionId"],
] as const;

test.each(WRONG)("a question that is not valid is 400 at its field: %s", async (query, field) => {
  const server = new TestServer();
  const { a } = server;
  const { status, body } = await server.call("GET", auditPath(a, query), { key: a.key });
  expect([status, body.errors[0]?.field]).toEqual([400, field]);
});

test("another organization's trail is 403, by a tenant token too; nobody's is 404", async () => {
  const server = new TestServer();
  const { a, b, c } = server;
  const nowhere = { ...a, eventId: "00000000-0000-4000-8000-00000000beef" };
  const status = async (house: House, options: object) =>
    (await server.call("GET", auditPath(house), options)).status;
  expect(await status(a, { key: b.key })).toBe(403);
  expect(await status(a, { key: c.key })).toBe(403);
  expect(await status(a, actingFor(server.tenantToken, b))).toBe(403);
  expect(await status(a, actingFor(server.otherTenantToken, a))).toBe(403);
  expect(await status(a, actingFor(server.tenantToken, a))).toBe(200);
  expect(await status(nowhere, { key: a.key })).toBe(404);
});

test("the trail of a deleted event stays, for its organization alone", async () => {
  const server = new TestServer();
  const { a, b, c } = server;
  await book(server, "lock", { sessionId: "s", seats: [seat(a, "A1")] });
  const sequence = server.engine.sequence;
  const before = await server.seats(a);
  const path = `${V2}/events/${a.eventId}`;
  expect((await server.call("DELETE", path, { key: a.key })).status).toBe(204);
  expect((await audit(server, "sessionId=s")).content.map(said)).toEqual(["lock ACTIVE>LOCKED"]);
  expect(await server.seats(a, `&asOf=${sequence}`)).toEqual(before);
  for (const { key } of [b, c]) {
    expect((await server.call("GET", auditPath(a), { key })).status).toBe(403);
    expect((await server.call("GET", `${path}/seats/?asOf=${sequence}`, { key })).status).toBe(403);
  }
  const gone = `${path}/seats/?asOf=${sequence + 1}`;
  expect((await server.call("GET", gone, { key: a.key })).status).toBe(404);
  expect((await server.call("GET", `${path}/seats/`, { key: a.key })).status).toBe(404);
});

test("the map as it was: the listing of then, in every order and page", async () => {
  const server = new TestServer();
  const { a } = server;
  const steps: [string, object][] = [
    ["lock", { sessionId: "s", seats: [seat(a, "A1"), seat(a, "B2")] }],
    ["sale", { seats: [seat(a, "A1")] }],
    [
      "block",
      { seats: [seat(a, "B3")], groupOfSeats: [{ id: a.labels.idOf("Pit"), capacity: 7 }] },
    ],
    ["unlock", { seats: [seat(a, "B2")] }],
  ];
  const areasOf = async (query = "") => {
    const path = `${V2}/events/${a.eventId}/areas/${query}`;
    return (await server.call<object[]>("GET", path, { key: a.key })).body;
  };
  const queries = ["", "&sort=state,desc", "&sort=updatedAt,desc&sort=rowName", "&size=5&page=1"];
  const taken: { sequence: number; time: string; listings: object[]; areas: object[] }[] = [];
  for (const [call, body] of steps) {
    server.world.clock.timeMs += 1_000;
    await book(server, call, body);
    const listings = await Promise.all(queries.map((query) => server.seats(a, query)));
    const time = new Date(server.world.clock.timeMs + 500).toISOString().slice(0, -1);
    const { sequence } = server.engine;
    taken.push({ sequence, time, listings, areas: await areasOf() });
  }
  for (const { sequence, time, listings, areas } of taken) {
    for (const asOf of [sequence, time]) {
      const past = queries.map((query) => server.seats(a, `${query}&asOf=${asOf}`));
      expect(await Promise.all(past)).toEqual(listings);
      expect(await areasOf(`?asOf=${asOf}`)).toEqual(areas);
    }
  }
  const [first] = taken;
  const section = `&sectionId=${a.labels.idOf("Round")}&asOf=${first!.sequence}`;
  const round = await server.seats(a, section);
  expect(round.map(({ rowName }) => rowName)).toEqual(["Round", "Round"]);
});

const MOMENTS = [
  ["99999", 400],
  ["0", 400],
  ["soon", 400],
  ["1999-01-01", 404],
  ["2", 404],
] as const;

test.each(MOMENTS)("a moment %s that the event has not had is %d", async (asOf, status) => {
  const server = new TestServer();
  const { a } = server;
  for (const what of ["seats", "areas"]) {
    const path = `${V2}/events/${a.eventId}/${what}/?asOf=${asOf}`;
    const reply = await server.call("GET", path, { key: a.key });
    expect(reply.status).toBe(status);
    if (status === 400) expect(reply.body.errors[0]?.field).toBe("asOf");
  }
});

const MALFORMED = [
  "seatId=x",
  "seatId=1&seatId=2",
  "seatId=",
  "groupOfSeatsId=1.5",
  "sessionId=",
  "from=yesterday",
  "to=2026-02-30",
  "from=",
  "fromSequence=-",
  "toSequence=9e9",
  "page=-1",
  "size=101",
  "sort=time",
];

test.each(MALFORMED)("a trail asked with %s is 400 and names the parameter", async (query) => {
  const server = new TestServer();
  const { a } = server;
  const target = `${V2}/events/${a.eventId}/audit/?${query}`;
  const reply = await server.call("GET", target, { key: a.key });
  expect(reply.status).toBe(400);
  expect(reply.body.errors[0]?.field).toBe(query.split("=")[0]);
});

test("a parameter that is not documented is passed over, as in every list", async () => {
  const server = new TestServer();
  const { a } = server;
  for (const what of ["audit", "seats", "areas"]) {
    const path = `${V2}/events/${a.eventId}/${what}/`;
    const plain = await server.call("GET", path, { key: a.key });
    const more = await server.call("GET", `${path}?colour=red`, { key: a.key });
    expect([plain.status, more.status]).toEqual([200, 200]);
    expect(more.text).toBe(plain.text);
  }
});

test("another organization's past is 403, and a wrong sort of a past map 400", async () => {
  const server = new TestServer();
  const { a, b } = server;
  const path = `${V2}/events/${a.eventId}`;
  for (const what of ["seats", "areas"]) {
    const reply = await server.call("GET", `${path}/${what}/?asOf=9`, { key: b.key });
    expect(reply.status).toBe(403);
  }
  const wrong = await server.call("GET", `${path}/seats/?asOf=9&sort=x`, { key: a.key });
  expect(wrong.status).toBe(400);
});

const NO_ANSWERS = [
  [AuditGap.BUSY, "OVERLOADED"],
  [AuditGap.UNAVAILABLE, "LOG_UNAVAILABLE"],
] as const;

test.each(NO_ANSWERS)("a trail that is %s is 503, and the rest goes on", async (gap, code) => {
  const { a, services } = new TestServer();
  const silent = { ask: () => Promise.resolve({ gap, extent: null }) };
  const dispatch = new Dispatch({ ...services, audit: silent }, ROUTES, pino({ level: "silent" }));
  const asked = (target: string) => ask(dispatch, requestOf("GET", target, { key: a.key }));
  const event = `${V2}/events/${a.eventId}`;
  const nobodys = `${V2}/events/00000000-0000-4000-8000-00000000beef`;
  for (const target of [`${event}/audit/`, `${event}/seats/?asOf=9`, `${nobodys}/audit/`]) {
    const { status, body, headers } = replyOf<ProblemBody>(await asked(target));
    expect([status, body.errorCode, headers["Retry-After"]]).toEqual([503, code, "1"]);
  }
  expect((await asked(`${event}/seats/`)).status).toBe(200);
});

test("what was before the trail is 400 and says where it begins", async () => {
  const server = new TestServer();
  const { a } = server;
  const early = server.engine.sequence;
  server.world.clock.timeMs += 3 * 86_400_000;
  await book(server, "lock", { sessionId: "s", seats: [seat(a, "A1")] });
  const first = server.engine.sequence;
  await audit(server);
  server.trail.book.forget(server.world.clock.timeMs - 86_400_000);
  const page = await audit(server);
  expect(page.trail).toMatchObject({ firstSequence: first, firstTime: "2026-03-21T10:00:00.000" });
  expect(page.content.map(said)).toEqual(["lock ACTIVE>LOCKED"]);
  const seats = `${V2}/events/${a.eventId}/seats/?asOf=`;
  const asked = async (target: string) => {
    const { status, body } = await server.call("GET", target, { key: a.key });
    return [status, body.errors[0]?.field, body.errors[0]?.message];
  };
  const message = `is before the beginning of the audit trail, record ${first}`;
  expect(await asked(`${seats}${early - 1}`)).toEqual([400, "asOf", message]);
  expect(await asked(`${seats}2026-03-19T10:00`)).toEqual([400, "asOf", message]);
  const before = auditPath(a, `toSequence=${early}`);
  expect(await asked(before)).toEqual([400, "toSequence", message]);
  expect(await asked(auditPath(a, "to=2026-03-19"))).toEqual([400, "to", message]);
  const kept = await server.seats(a, `&asOf=${first - 1}`);
  expect(kept.find(({ seatId }) => seatId === a.labels.idOf("A1"))?.state).toBe("ACTIVE");
  expect(kept).toHaveLength((await server.seats(a)).length);
});
