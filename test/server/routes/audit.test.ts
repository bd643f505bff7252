/** The audit trail, and the seats and areas as they were at a past moment. */
import { expect, test } from "vitest";
import type { BookingKind } from "../../../engine/commands.ts";
import { AuditGap } from "../../../engine/queries/history.ts";
import { START_MS } from "../../support/engine.ts";
import { actingFor, type CallOptions } from "../../support/answers/exchange.ts";
import { type House, type PageBody, TestServer, V2 } from "../../support/server.ts";
import { AUDIT_ENTRY } from "../../../server/api/entities.ts";
import { DENIED, expectProblem, invalid, NOT_FOUND, NOWHERE } from "../wire/wire.ts";

interface EntryBody {
  readonly sequence: number;
  readonly ordinal: number;
  readonly time: string;
  readonly call: string;
  readonly actorType: string;
  readonly actorId?: number;
  readonly sessionId?: string;
  readonly holdType?: string;
  readonly holdSequence?: number;
  readonly seatId?: number;
  readonly groupOfSeatsId?: number;
  readonly capacity?: number;
  readonly fromState: string | null;
  readonly toState: string | null;
  readonly priceId?: number;
}
interface AuditBody extends PageBody<EntryBody> {
  readonly trail: { firstSequence: number; firstTime?: string; lastSequence: number };
}

const auditPath = ({ eventId }: House, query = "") => `${V2}/events/${eventId}/audit/?${query}`;

async function audit(server: TestServer, query = "", house = server.a): Promise<AuditBody> {
  const { status, body } = await server.get<AuditBody>(auditPath(house, query), house);
  expect(status).toBe(200);
  return body;
}

const book = (server: TestServer, kind: BookingKind, body: object) =>
  server.post(server.bookingPath(kind), body);

const seat = ({ labels }: House, label: string) => ({ id: labels.idOf(label) });
const textOf = ({ fromState, toState, call }: EntryBody) => `${call} ${fromState}>${toState}`;

test("the trail of a seat shows who changed it, when, by which call, and how", async () => {
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
  expect(content.map(textOf)).toEqual([
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
    fromState: "ACTIVE",
    toState: "LOCKED",
    priceId: a.priceId,
  });
  expect(sale).toMatchObject({ sessionId: "s1", holdType: "RESERVED" });
  expect(sale!.holdSequence).toBe(lock!.sequence);
  const last = server.engine.sequence;
  expect(trail).toEqual({ firstSequence: 1, lastSequence: last });
});

test("a direct sale goes from ACTIVE to SOLD, with the hold type of the request", async () => {
  const server = new TestServer();
  const { a } = server;
  const pit = a.labels.idOf("Pit");
  const groupOfSeats = [{ id: pit, capacity: 3 }];
  const body = { sessionId: "till", seats: [seat(a, "A2")], groupOfSeats, holdType: "COMP" };
  expect((await book(server, "directsale", body)).body).toBe(true);
  expect((await book(server, "directsale", body)).body).toBe(false);
  const { content } = await audit(server, "sessionId=till");
  expect(content).toMatchObject([
    { call: "directsale", fromState: "ACTIVE", toState: "SOLD", holdType: "COMP" },
    { call: "directsale", fromState: "ACTIVE", toState: "SOLD", groupOfSeatsId: pit, capacity: 3 },
  ]);
});

test("an expired hold is reported at once, as a change by the system", async () => {
  const server = new TestServer();
  const groupOfSeats = [{ id: server.a.labels.idOf("Pit"), capacity: 2 }];
  await book(server, "lock", { sessionId: "s", seats: [seat(server.a, "A1")], groupOfSeats });
  server.world.clock.timeMs += 16 * 60_000;
  const { content } = await audit(server, "sessionId=s&sort=sequence,desc&size=2");
  expect(content).toMatchObject([
    { call: "expire", actorType: "SYSTEM", ordinal: 1, capacity: 2 },
    { call: "expire", holdType: "CART", fromState: "LOCKED", toState: "ACTIVE", ordinal: 0 },
  ]);
});

test("the trail is filtered by area, time and sequence number, sorted and paged", async () => {
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

test("the trail is sorted by any member of its rows, then by time", async () => {
  const server = new TestServer();
  const { a } = server;
  const pit = a.labels.idOf("Pit");
  await book(server, "lock", { sessionId: "s1", seats: [seat(a, "A2"), seat(a, "A1")] });
  await book(server, "block", { groupOfSeats: [{ id: pit, capacity: 3 }] });
  await book(server, "directsale", { sessionId: "s2", seats: [seat(a, "A4")], holdType: "COMP" });
  server.world.clock.timeMs += 16 * 60_000;
  const { content } = await audit(server, "size=100");
  expect(content.length).toBeGreaterThan(15);
  for (const member of Object.keys(AUDIT_ENTRY["properties"] as object)) {
    const key = (entry: EntryBody) => entry[member as keyof EntryBody] ?? "";
    const compare = (one: EntryBody, other: EntryBody) => {
      const [a1, b1] = [key(one), key(other)];
      if (a1 === b1) return 0;
      return a1 === "" || (b1 !== "" && a1 < b1) ? -1 : 1;
    };
    const rising = content.toSorted(compare);
    expect((await audit(server, `size=100&sort=${member}`)).content, member).toEqual(rising);
    const falling = (await audit(server, `size=100&sort=${member},desc`)).content;
    expect(falling.map(key), member).toEqual(rising.map(key).toReversed());
  }
  const two = await audit(server, "size=3&page=1&sort=toState,desc&sort=seatId,desc");
  expect(two.content.map(({ toState }) => toState)).toEqual(["BLOCKED", "ACTIVE", "ACTIVE"]);
});

test("the trail and the past of a foreign event are 403, even to a tenant token", async () => {
  const server = new TestServer();
  const { a, b, c } = server;
  const status = async (by: CallOptions) => (await server.get(auditPath(a), by)).status;
  for (const house of [b, c]) {
    expect(await status(house)).toBe(403);
    for (const what of ["seats", "areas"]) {
      const past = `${V2}/events/${a.eventId}/${what}/?asOf=9`;
      expectProblem(await server.get(past, house), DENIED);
    }
  }
  expect(await status(actingFor(server.tenantToken, b))).toBe(403);
  expect(await status(actingFor(server.otherTenantToken, a))).toBe(403);
  expect(await status(actingFor(server.tenantToken, a))).toBe(200);
});

test("the trail of a deleted event can be read by its organization only", async () => {
  const server = new TestServer();
  const { a, b, c } = server;
  await book(server, "lock", { sessionId: "s", seats: [seat(a, "A1")] });
  const sequence = server.engine.sequence;
  const before = await server.seats(a);
  const path = `${V2}/events/${a.eventId}`;
  expect((await server.delete(path)).status).toBe(204);
  expect((await audit(server, "sessionId=s")).content.map(textOf)).toEqual(["lock ACTIVE>LOCKED"]);
  expect(await server.seats(a, `&asOf=${sequence}`)).toEqual(before);
  for (const house of [b, c]) {
    expectProblem(await server.get(auditPath(a), house), DENIED);
    expectProblem(await server.get(`${path}/seats/?asOf=${sequence}`, house), DENIED);
  }
  expectProblem(await server.get(`${path}/seats/?asOf=${sequence + 1}`), NOT_FOUND);
  expectProblem(await server.get(`${path}/seats/`), NOT_FOUND);
});

test("a past moment shows the listing of that moment, in every order and page", async () => {
  const server = new TestServer();
  const { a } = server;
  const steps: [BookingKind, object][] = [
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
    return (await server.get<object[]>(path)).body;
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

test("past seats are available only if booking was enabled then", async () => {
  const server = new TestServer();
  const { world, a } = server;
  const settings = `/api/private/management/v2.0/organizations/${a.id}/settings`;
  const tenant = actingFor(server.tenantToken, a);
  const taken: { sequence: number; listing: readonly object[] }[] = [];
  for (const bookingEnabled of [true, false, true]) {
    world.clock.timeMs += 1_000;
    const { status } = await server.put(settings, { bookingEnabled }, tenant);
    expect(status).toBe(200);
    const listing = await server.seats(a);
    expect(listing[0]).toMatchObject({ state: "ACTIVE", available: bookingEnabled });
    taken.push({ sequence: server.engine.sequence, listing });
  }
  for (const { sequence, listing } of taken) {
    expect(await server.seats(a, `&asOf=${sequence}`)).toEqual(listing);
  }
  expect(await server.seats(a, "&asOf=2026-03-19T10:00:02.500")).toEqual(taken[1]!.listing);
});

test("past seats are available only if the event was published then", async () => {
  const server = new TestServer();
  const published = server.engine.sequence;
  server.setStatus("ARCHIVED");
  const archived = server.engine.sequence;
  for (const [asOf, isPublished] of [
    [published, true],
    [archived, false],
  ] as const) {
    const [first] = await server.seats(server.a, `&asOf=${asOf}`);
    expect(first).toMatchObject({ state: "ACTIVE", available: isPublished });
  }
});

const MOMENTS = [
  ["99999", 400],
  ["9999999999", 400],
  ["0", 400],
  ["soon", 400],
  ["1999-01-01", 404],
  ["2", 404],
] as const;

test.each(MOMENTS)("the past at %s, invalid or before the event, is %d", async (asOf, status) => {
  const server = new TestServer();
  const { a } = server;
  for (const what of ["seats", "areas"]) {
    const path = `${V2}/events/${a.eventId}/${what}/?asOf=${asOf}`;
    const reply = await server.get(path);
    expect(reply.status).toBe(status);
    if (status === 400) expect(reply.body.errors[0]?.field).toBe("asOf");
  }
});

const MALFORMED = [
  "seatId=x",
  "seatId=1&seatId=2",
  "from=yesterday",
  "to=2026-02-30",
  "fromSequence=-",
  "sort=colour",
];

test.each(MALFORMED)("the trail with %s is 400 and names the parameter", async (query) => {
  const server = new TestServer();
  const reply = await server.get(auditPath(server.a, query));
  expect(reply.status).toBe(400);
  expect(reply.body.errors[0]?.field).toBe(query.split("=")[0]);
});

test("an unknown sort below an unknown event is 404", async () => {
  const server = new TestServer();
  for (const list of ["audit/?", "seats/?", "seats/?asOf=9&"]) {
    const path = `${V2}/events/${NOWHERE}/${list}sort=x`;
    expectProblem(await server.get(path), NOT_FOUND);
  }
});

test("the past of the seats with an unknown sort is 400", async () => {
  const server = new TestServer();
  const path = `${V2}/events/${server.a.eventId}/seats/?asOf=9&sort=x`;
  expectProblem(await server.get(path), invalid("sort UNKNOWN"));
});

const NO_ANSWERS = [
  [AuditGap.BUSY, "OVERLOADED"],
  [AuditGap.UNAVAILABLE, "LOG_UNAVAILABLE"],
] as const;

test.each(NO_ANSWERS)(
  "a trail that is %s is 503, and other requests are answered",
  async (gap, code) => {
    const server = new TestServer({ audit: { ask: () => Promise.resolve({ gap, extent: null }) } });
    const event = `${V2}/events/${server.a.eventId}`;
    const unknown = `${V2}/events/${NOWHERE}`;
    const past = [`${event}/seats/?asOf=9`, `${event}/areas/?asOf=9`];
    for (const target of [`${event}/audit/`, `${event}/history/`, ...past, `${unknown}/audit/`]) {
      const { status, body, headers } = await server.get(target);
      expect([status, body.errorCode, headers["Retry-After"]]).toEqual([503, code, "1"]);
    }
    expect((await server.get(`${event}/seats/`)).status).toBe(200);
  },
);

test("a damaged part of the trail is 410 on every path that needs it", async () => {
  const outcome = { gap: AuditGap.DAMAGED, extent: null };
  const server = new TestServer({ audit: { ask: () => Promise.resolve(outcome) } });
  const event = `${V2}/events/${server.a.eventId}`;
  for (const target of ["audit/", "history/", "seats/?asOf=9", "areas/?asOf=9"]) {
    const { status, body } = await server.get(`${event}/${target}`);
    expect([target, status, body.errorCode]).toEqual([target, 410, "HISTORY_GONE"]);
  }
});

test("a page that would read too many transitions is 400 and names the range", async () => {
  const outcome = { gap: AuditGap.TOO_LONG, extent: null };
  const server = new TestServer({ audit: { ask: () => Promise.resolve(outcome) } });
  expectProblem(await server.get(auditPath(server.a)), invalid("fromSequence SIZE"));
});

test("a moment before the beginning of the trail is 400 and names the first record", async () => {
  const server = new TestServer();
  const { a } = server;
  const early = server.engine.sequence;
  server.world.clock.timeMs += 3 * 86_400_000;
  await book(server, "lock", { sessionId: "s", seats: [seat(a, "A1")] });
  const first = server.engine.sequence;
  await audit(server);
  server.trail.book.archiveAll();
  server.trail.book.removeBefore(server.world.clock.timeMs - 86_400_000);
  const page = await audit(server);
  expect(page.trail).toMatchObject({ firstSequence: first, firstTime: "2026-03-21T10:00:00.000" });
  expect(page.content.map(textOf)).toEqual(["lock ACTIVE>LOCKED"]);
  const seats = `${V2}/events/${a.eventId}/seats/?asOf=`;
  const asked = async (target: string) => {
    const { status, body } = await server.get(target);
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
