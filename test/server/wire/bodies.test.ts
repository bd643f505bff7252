/** Bodies that come in pieces: their kept bytes, by sender and time. */
import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { inSlices, LONG_BODIES_MAX } from "../../../server/api/overload.ts";
import { BODY_BYTES, BodyBudget, BodyPieces } from "../../../server/http/limits.ts";
import type { Answer } from "../../../server/http/answers.ts";
import { guidOf } from "../../support/layout.ts";
import { TestServer, V2 } from "../../support/server.ts";
import { type Connection, Listening, until } from "./connection.ts";

const KIB = 1_024;
const LOGIN = "/api/auth/login";
/** Takes bodies of 384 KiB. */
const LARGE = `${V2}/schemas/`;

/** Sends a head that announces a body. */
function sendHead({ socket }: Connection, line: string, bytes: number, key?: string): void {
  const headers = [`${line} HTTP/1.1`, "Host: x", `Content-Length: ${bytes}`];
  if (key !== undefined) headers.push(`X-API-Key: ${key}`);
  socket.write([...headers, "", ""].join("\r\n"));
}

/** Sends a head and all of its body but the last byte. */
async function leaveUnfinished(
  listening: Listening,
  line: string,
  { bytes, key }: { readonly bytes: number; readonly key?: string },
): Promise<Connection> {
  const connection = await listening.connection();
  sendHead(connection, line, bytes, key);
  connection.socket.write(" ".repeat(bytes - 1));
  return connection;
}

const SERVICE_UNAVAILABLE = "HTTP/1.1 503 Service Unavailable";
const isAnswered = ({ answers }: Connection) => answers.length > 0;

test("nothing is kept of a body without a valid key, whatever its size and path", async () => {
  const listening = await Listening.start();
  const { server, http } = listening;
  const path = server.bookingPath("lock");
  const strangers: readonly (readonly [string, string | undefined, number])[] = [
    [`POST ${path}`, undefined, 403],
    [`POST ${path}`, "fro_1_wrong", 403],
    [`PUT ${V2}/schemas/1/layout`, "wrong", 403],
    ["POST /api/private/management/v2.0/organizations/", server.a.key, 403],
    ["POST /nothing", server.a.key, 404],
    ["POST /healthz", undefined, 405],
  ];
  for (const [line, key, status] of strangers) {
    const bytes = 60 * KIB;
    const access = key === undefined ? {} : { key };
    const connection = await leaveUnfinished(listening, line, { bytes, ...access });
    await until(() => http.stats.bodies.count === 1);
    await listening.settled();
    expect([line, http.stats.bodyBudget.bytes]).toEqual([line, 0]);
    connection.socket.write(" ");
    await until(() => isAnswered(connection));
    expect([line, connection.answers[0]!.split(" ")[1]]).toEqual([line, String(status)]);
    expect(http.stats.bodies.count).toBe(0);
  }
  const own = await leaveUnfinished(listening, `POST ${path}`, { bytes: 9, key: server.a.key });
  await until(() => http.stats.bodyBudget.bytes === 9);
  own.socket.destroy();
  await until(() => http.stats.bodyBudget.bytes === 0);
});

test("a key is counted as a bad one once for each body, in pieces or not", async () => {
  const listening = await Listening.start();
  const { badKeys } = listening.server.services;
  let failures = 0;
  Object.defineProperty(badKeys, "failed", { value: () => (failures += 1) });
  const connection = await leaveUnfinished(listening, `POST ${V2}/venues/`, { bytes: 100 });
  await listening.settled();
  expect(await connection.statusOf(" ")).toBe(403);
  expect(failures).toBe(1);
});

test("600 unfinished logins take their share of the memory, and no one else's", async () => {
  const bodyLimits = { all: 2_048 * KIB, addresses: 512 * KIB, address: 256 * KIB };
  const listening = await Listening.start({ bodyLimits });
  const { stats } = listening.http;
  const logins: Connection[] = [];
  for (let i = 0; i < 600; i++) {
    logins.push(await leaveUnfinished(listening, `POST ${LOGIN}`, { bytes: 4 * KIB }));
  }
  await until(() => stats.bodyBudget.refused > 0 && stats.bodyBudget.bytes > 255 * KIB);
  await listening.settled();
  expect(stats.bodyBudget.bytes).toBeLessThanOrEqual(256 * KIB);
  const refused = logins.filter(isAnswered);
  expect(refused.length).toBeGreaterThan(500);
  for (const { answers } of refused) expect(answers).toEqual(["HTTP/1.1 503 Service Unavailable"]);
  // An organization sends its largest body meanwhile.
  const body = listening.lockBody("A1").padEnd(BODY_BYTES.booking, " ");
  expect((await listening.post(listening.server.bookingPath("lock"), body)).status).toBe(200);
  for (const { socket } of logins) socket.destroy();
  await until(() => stats.bodyBudget.bytes === 0);
  const login = await leaveUnfinished(listening, `POST ${LOGIN}`, { bytes: 4 * KIB });
  await listening.settled();
  expect(await login.statusOf(" ")).toBe(400);
});

test("unfinished logins of addresses of one /64 share its room", async () => {
  const bodyLimits = { address: 6 * KIB };
  const listening = await Listening.start({ bodyLimits, trustedProxies: ["127.0.0.1"] });
  const { bodyBudget } = listening.http.stats;
  const begin = async (address: string) => {
    const connection = await listening.connection();
    const length = `Content-Length: ${4 * KIB}`;
    const head = [`POST ${LOGIN} HTTP/1.1`, "Host: x", length, `X-Forwarded-For: ${address}`];
    connection.socket.write([...head, "", "{"].join("\r\n"));
    return connection;
  };
  await begin("2001:db8::1");
  await until(() => bodyBudget.bytes === 4 * KIB);
  const same = await begin("2001:db8::2");
  await until(() => isAnswered(same));
  expect(same.answers).toEqual([SERVICE_UNAVAILABLE]);
  await begin("2001:db8:0:1::1");
  await until(() => bodyBudget.bytes === 8 * KIB);
});

test("unfinished bodies of one organization do not refuse those of another", async () => {
  const listening = await Listening.start({ bodyLimits: { organization: 300 * KIB } });
  const { server, http } = listening;
  const line = `POST ${LARGE}`;
  const of = ({ key }: { readonly key: string }) => ({ bytes: 200 * KIB, key });
  const first = await leaveUnfinished(listening, line, of(server.a));
  await until(() => http.stats.bodyBudget.bytes === 200 * KIB);
  const second = await leaveUnfinished(listening, line, of(server.a));
  await until(() => second.socket.closed);
  expect(http.stats.bodyBudget.refused).toBe(1);
  const other = await leaveUnfinished(listening, line, of(server.b));
  await until(() => http.stats.bodyBudget.bytes === 400 * KIB);
  expect(await other.statusOf(" ")).toBe(400);
  expect(await first.statusOf(" ")).toBe(400);
  expect(http.stats.bodyBudget.bytes).toBe(0);
});

test("a body has its room from its first piece on", async () => {
  const listening = await Listening.start({ bodyLimits: { organization: 300 * KIB } });
  const { server, http } = listening;
  const begin = async () => {
    const connection = await listening.connection();
    sendHead(connection, `POST ${LARGE}`, 200 * KIB, server.a.key);
    connection.socket.write(" ");
    return connection;
  };
  const first = await begin();
  await until(() => http.stats.bodyBudget.bytes === 200 * KIB);
  const second = await begin();
  await until(() => isAnswered(second));
  expect(second.answers).toEqual(["HTTP/1.1 503 Service Unavailable"]);
  expect(await first.statusOf(" ".repeat(200 * KIB - 1))).toBe(400);
  expect(http.stats.bodyBudget).toMatchObject({ bytes: 0, refused: 1 });
});

test("unfinished bodies are bounded by sender, for all without a key, and in all", () => {
  const budget = new BodyBudget({ all: 100, organization: 60, address: 20, addresses: 30 });
  const organization = (name: string) => ({ name, hasKey: true });
  const address = (name: string) => ({ name, hasKey: false });
  expect(budget.take(address("first"), 21)).toBe(false);
  expect(budget.take(address("first"), 20)).toBe(true);
  expect(budget.take(address("second"), 11)).toBe(false);
  expect(budget.take(address("second"), 10)).toBe(true);
  expect(budget.take(organization("A"), 61)).toBe(false);
  expect(budget.take(organization("A"), 60)).toBe(true);
  expect(budget.take(organization("B"), 11)).toBe(false);
  expect(budget.take(organization("B"), 10)).toBe(true);
  expect(budget).toMatchObject({ bytes: 100, refused: 4 });
  budget.giveBack(organization("A"), 60);
  expect(budget.take(organization("B"), 50)).toBe(true);
});

test("a body that comes too slowly ends its connection, and others go on", async () => {
  let nowMs = 0;
  const listening = await Listening.start({ nowMs: () => nowMs });
  const { key } = listening.server.a;
  const line = `POST ${V2}/venues/`;
  const slow = await leaveUnfinished(listening, line, { bytes: 64 * KIB, key });
  await until(() => listening.http.stats.bodies.count === 1);
  nowMs = 15_000;
  const later = await leaveUnfinished(listening, line, { bytes: 64 * KIB, key });
  await until(() => listening.http.stats.bodies.count === 2);
  nowMs = 21_025;
  await pause(1_100);
  await until(() => slow.socket.closed);
  expect(slow.text).toBe("");
  expect(await later.statusOf(" ")).toBe(400);
  expect(listening.http.stats.bodies).toMatchObject({ count: 0, abandoned: 1 });
  expect(listening.http.stats.bodyBudget.bytes).toBe(0);
});

test.each([
  ["a short body keeps its pieces", 100 * KIB, 3],
  ["a body of more than a few pages is joined as it comes", 700 * KIB, 1],
  ["a long body is joined as it comes", 3_000 * KIB, 1],
])("%s, in memory of its own", (_, bytes, count) => {
  const whole = Buffer.from(Array.from({ length: bytes }, (_value, i) => i % 251));
  const pieces = new BodyPieces(bytes);
  const pieceBytes = Math.ceil(bytes / 3);
  for (let from = 0; from < bytes; from += pieceBytes) {
    // The library uses the memory of a piece again.
    const piece = Uint8Array.from(whole.subarray(from, from + pieceBytes));
    pieces.add(piece);
    piece.fill(0);
  }
  const { parts } = pieces;
  expect(parts).toHaveLength(count);
  expect(Buffer.concat(parts).equals(whole)).toBe(true);
  const moved = structuredClone(parts, {
    transfer: parts.map(({ buffer }) => buffer as ArrayBuffer),
  });
  expect(parts.every(({ length }) => length === 0)).toBe(true);
  expect(Buffer.concat(moved).equals(whole)).toBe(true);
});

test.each([200, 2_000])("a body of %i KiB gives its memory back, unless it has moved", (size) => {
  const pieces = new BodyPieces(3_000 * KIB);
  pieces.add(new Uint8Array(size * KIB));
  const { parts } = pieces;
  pieces.free();
  expect(parts.map(({ length }) => length)).toEqual([0]);
  const moving = new BodyPieces(3_000 * KIB);
  moving.add(new Uint8Array(size * KIB).fill(1));
  const moved = structuredClone(moving.parts, {
    transfer: [moving.parts[0]!.buffer as ArrayBuffer],
  });
  moving.free();
  expect(Buffer.alloc(size * KIB, 1).equals(moved[0]!)).toBe(true);
});

test("the answer to a long body gives its memory back once it has been sent", async () => {
  const answers: Answer[] = [];
  const listening = await Listening.start({ onAnswer: (_, answer) => void answers.push(answer) });
  const { a, world } = listening.server;
  const schema = world.must("createSchema", a.caller, { body: { name: "", venueId: a.venueId } });
  const sector = { guid: guidOf("sector"), name: "Stalls", ga: false };
  const row = { guid: guidOf("row"), sectorGuid: sector.guid, rowNumber: "1" };
  const seats = Array.from({ length: 1_500 }, (_, i) => {
    return { guid: guidOf(`${i}`), rowGuid: row.guid, name: `${i}`, padding: "x".repeat(1_000) };
  });
  const put = await fetch(`${listening.base}${V2}/schemas/${schema.id}/layout`, {
    method: "PUT",
    headers: { "X-API-Key": a.key, "Content-Type": "application/json" },
    body: JSON.stringify({ sectors: [sector], rows: [row], seats }),
  });
  expect(((await put.json()) as { seats: object[] }).seats).toMatchObject(seats);
  await until(() => answers[0]!.body.length === 0);
  expect(listening.http.stats.bodyBudget.bytes).toBe(0);
  expect(listening.broken).toEqual([]);
});

/** Work of an organization that keeps its turns until it is released. */
function occupy({ caller: { organizationId } }: Listening["server"]["a"]) {
  const turns = { isReleased: false };
  function* work(): Generator<void, void> {
    while (!turns.isReleased) yield;
  }
  void inSlices(work(), organizationId);
  onTestFinished(() => void (turns.isReleased = true));
  return turns;
}

/** A connection whose whole body waits for its turn. */
async function waitingBody(listening: Listening, ...labels: readonly string[]) {
  const connection = await listening.connection();
  const body = JSON.stringify(listening.server.selection("s", ...labels)).padEnd(40 * KIB);
  const { longBodies } = listening.server.services.waiting;
  const before = longBodies.used;
  connection.socket.write(listening.bookingRequest(body));
  await until(() => longBodies.used > before);
  return connection;
}

test("a body of more than 32 KiB waits for its turn, and a shorter one does not", async () => {
  const listening = await Listening.start();
  const { server, http } = listening;
  const turns = occupy(server.a);
  const [long, other] = [await listening.connection(), await listening.connection()];
  long.socket.write(listening.bookingRequest(listening.lockBody("A1").padEnd(40 * KIB)));
  await until(() => http.stats.bodyBudget.bytes === 40 * KIB);
  // Of the same sender.
  expect((await listening.lock("A2")).status).toBe(200);
  const body = JSON.stringify({ seats: [] }).padEnd(40 * KIB);
  const path = server.bookingPath("lock", server.b.eventId);
  const head = [`POST ${path} HTTP/1.1`, "Host: x", `X-API-Key: ${server.b.key}`];
  const request = [...head, `Content-Length: ${body.length}`, "", body].join("\r\n");
  expect(await other.statusOf(request)).toBe(400);
  expect(long.answers).toEqual([]);
  turns.isReleased = true;
  await until(() => isAnswered(long));
  expect(long.answers).toEqual(["HTTP/1.1 200 OK"]);
  expect(http.stats.bodyBudget.bytes).toBe(0);
});

test("a client leaves before the turn of its body → nothing is carried out, as log and metrics say", async () => {
  const statuses: number[] = [];
  const server = new TestServer({ hasMetrics: true });
  const onAnswer = (_: unknown, { status }: Answer) => void statuses.push(status);
  const listening = await Listening.start({ onAnswer }, server);
  const { http } = listening;
  const turns = occupy(server.a);
  const leaving = await waitingBody(listening, "A1");
  leaving.socket.destroy();
  const { longBodies } = server.services.waiting;
  // It does not wait any longer, although its turn has not come.
  await until(() => longBodies.used === 0);
  expect(http.stats.bodyBudget.bytes).toBe(0);
  turns.isReleased = true;
  await until(() => statuses.length > 0);
  expect(statuses).toEqual([499]);
  const { text } = await server.get("/metrics");
  expect(text).toMatch(/^frontrow_http_requests_total\{.*lock".*status="499"\} 1$/m);
  expect([await server.states("A1"), listening.broken]).toEqual([["ACTIVE"], []]);
});

test("more long bodies of one organization than locks in flight → others lock, and reads go on", async () => {
  const server = new TestServer({ waitingMax: 2 });
  const listening = await Listening.start({}, server);
  const turns = occupy(server.a);
  const waiting: Connection[] = [];
  for (const label of ["A1", "A2", "A3", "A4", "A5"]) {
    waiting.push(await waitingBody(listening, label));
  }
  expect(server.services.waiting.count).toBe(0);
  const { b } = server;
  const selection = { sessionId: "s", seats: [{ id: b.labels.idOf("A1") }] };
  const lock = await server.post(server.bookingPath("lock", b.eventId), selection, b);
  expect(lock.status).toBe(200);
  expect((await listening.lock("B1")).status).toBe(200);
  turns.isReleased = true;
  await until(() => waiting.every(isAnswered));
  const answers = waiting.map(({ answers: [line] }) => line);
  expect(answers).toEqual(answers.map(() => "HTTP/1.1 200 OK"));
});

test("beyond the long bodies of an organization → its next one is refused after a delay, another's not", async () => {
  const server = new TestServer({ hasMetrics: true });
  const listening = await Listening.start({}, server);
  const { longBodies, refusals } = server.services.waiting;
  const turns = occupy(server.a);
  const first = await waitingBody(listening, "A1");
  expect(longBodies.take(server.a.caller.organizationId, LONG_BODIES_MAX - 1)).toBe(true);
  const beyond = await listening.connection();
  beyond.socket.write(listening.bookingRequest(listening.lockBody("A2").padEnd(40 * KIB)));
  await until(() => refusals.count === 1);
  expect(beyond.answers).toEqual([]);
  await until(() => isAnswered(beyond));
  expect(beyond.text).toMatch(/^HTTP\/1\.1 429 .*retry-after: 1\r.*RATE_LIMITED/is);
  const { b } = server;
  const path = server.bookingPath("lock", b.eventId);
  const selection = {
    sessionId: "s",
    seats: [{ id: b.labels.idOf("A1") }],
    x: " ".repeat(40 * KIB),
  };
  expect((await server.post(path, selection, b)).status).toBe(200);
  const { text } = await server.get("/metrics");
  expect(text).toContain(`\nfrontrow_waiting_bodies ${LONG_BODIES_MAX}\n`);
  expect(text).toContain("\nfrontrow_waiting_bodies_refused_total 1\n");
  turns.isReleased = true;
  await until(() => isAnswered(first));
  expect([first.answers, longBodies.used]).toEqual([["HTTP/1.1 200 OK"], LONG_BODIES_MAX - 1]);
});

const endKey = (world: TestServer["world"]) =>
  world.must("rotateOrganizationKey", world.caller, { body: { graceSeconds: 0 } });

test.each([
  ["its key ends", 403, ({ world }: TestServer) => void endKey(world)],
  ["the server stops", 503, (server: TestServer) => void (server.isReady = false)],
])(
  "%s while a body waits for its turn → %i, and nothing is carried out",
  async (_, status, end) => {
    const listening = await Listening.start();
    const { server } = listening;
    const turns = occupy(server.a);
    const waiting = await waitingBody(listening, "A1");
    end(server);
    turns.isReleased = true;
    await until(() => isAnswered(waiting));
    expect(waiting.answers[0]).toContain(` ${status} `);
    server.isReady = true;
    const key = server.services.keys.organizationKey(
      server.engine.state.catalog.organizations.get(server.a.caller.organizationId)!,
    );
    const seats = await server.seats({ ...server.a, key });
    expect(seats.map(({ state }) => state)).not.toContain("LOCKED");
  },
);

test.each([
  ["in two pieces", [9, 200]],
  ["of more than 32 KiB", [40 * KIB]],
])("a busy server refuses a body %s after a delay, and counts it", async (_, pieces) => {
  const server = new TestServer({ waitingMax: 1, hasMetrics: true });
  const listening = await Listening.start({}, server);
  server.journal.withholds = true;
  const lock = server.book("lock", "s", "A1");
  const refused = await listening.connection();
  const bytes = pieces.reduce((sum, piece) => sum + piece, 0);
  sendHead(refused, `POST ${server.bookingPath("lock")}`, bytes, server.a.key);
  for (const piece of pieces) {
    await listening.settled();
    refused.socket.write(" ".repeat(piece));
  }
  await until(() => server.services.waiting.refusals.count === 1);
  expect(refused.answers).toEqual([]);
  await until(() => isAnswered(refused));
  expect(refused.answers).toEqual(["HTTP/1.1 429 Too Many Requests"]);
  server.journal.withholds = false;
  server.journal.sync();
  await lock;
  const { text } = await server.get("/metrics");
  expect(text).toMatch(/^frontrow_http_requests_total\{.*lock".*status="429"\} 1$/m);
});

test("a body beyond the room of its organization is counted among the answers", async () => {
  const server = new TestServer({ hasMetrics: true });
  const listening = await Listening.start({ bodyLimits: { organization: 30 * KIB } }, server);
  const refused = await listening.connection();
  refused.socket.write(listening.bookingRequest(" ".repeat(40 * KIB)));
  await until(() => isAnswered(refused));
  expect(refused.answers).toEqual([SERVICE_UNAVAILABLE]);
  const { text } = await server.get("/metrics");
  expect(text).toMatch(/^frontrow_http_requests_total\{.*lock".*status="503"\} 1$/m);
});

test("bodies that wait for their turn take the room of their sender", async () => {
  const listening = await Listening.start({ bodyLimits: { organization: 100 * KIB } });
  const { server, http } = listening;
  const turns = occupy(server.a);
  const request = listening.bookingRequest(" ".repeat(40 * KIB));
  const waiting: Connection[] = [];
  for (const bytes of [40, 80, 80]) {
    const connection = await listening.connection();
    connection.socket.write(request);
    await until(() => http.stats.bodyBudget.bytes === bytes * KIB);
    waiting.push(connection);
  }
  await until(() => isAnswered(waiting[2]!));
  expect(waiting.map(({ answers }) => answers)).toEqual([[], [], [SERVICE_UNAVAILABLE]]);
  turns.isReleased = true;
  await until(() => waiting.every(isAnswered));
});
