/** The door over HTTP: its settings, visitors with and without a key, tokens at the lock. */
import { createHash, createHmac } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import { VISITOR_CALLS_PER_SECOND } from "../../../server/door/doors.ts";
import { judgeDraw } from "../../../server/door/verify-draw.ts";
import type { Reply } from "../../support/answers/exchange.ts";
import { START_MS } from "../../support/engine.ts";
import { TestServer, V2 } from "../../support/server.ts";
import { expectProblem } from "../wire/wire.ts";

/** A minute after the start of the clock. */
const OPENS_AT = "2026-03-19T10:01:00";
const MINUTE_MS = 60_000;

interface Visitor {
  readonly visitor: string;
  readonly entry: string;
  readonly state: string;
  readonly place: number | null;
  readonly until: string | null;
  readonly taken: number;
  readonly admission: string;
}

let server: TestServer;
let admission: string;
let door: string;

beforeEach(() => {
  server = new TestServer();
  admission = `${V2}/events/${server.a.eventId}/admission`;
  door = `/door/${server.a.eventId}`;
});

const call = <Body = Visitor>(method: string, target: string, body?: unknown, key = server.a.key) =>
  server.call<Body>(method, target, { key, body });
/** Without a key. */
const open = <Body = Visitor>(method: string, target: string, headers = {}) =>
  server.call<Body>(method, target, { headers });
const put = (body: object = {}) =>
  call("PUT", admission, { opensAt: OPENS_AT, perMinute: 60, ...body });
const join = async (customer?: string) =>
  (await call("POST", `${admission}/visitors`, { customer })).body;
const lock = (body: object, target = `${V2}/booking/lock?eventId=${server.a.eventId}`) =>
  call("POST", target, { ...server.selection("S", "A1"), ...body });

function headersOf(reply: Reply<unknown>): Readonly<Record<string, string | undefined>> {
  return reply.headers;
}

/** Waits, and lets the doors of the server do their work. */
async function wait(ms: number): Promise<void> {
  server.world.clock.timeMs += ms;
  await server.services.doors.tick();
}

/** A visitor of an open door who is inside. */
async function admitted(body: object = {}): Promise<Visitor> {
  await put({ opensAt: "2026-03-19T09:00:00", draw: false, perMinute: 6_000, ...body });
  const { visitor } = await join();
  return (await call("POST", `${admission}/visitors/${visitor}/enter`)).body;
}

test("PUT → 201 when new, 200 later; GET shows the same; the event keeps its sequence", async () => {
  const before = (await call("GET", `${V2}/events/${server.a.eventId}/seats/`)).headers;
  const created = await put({ maxInside: 5, exemptHoldTypes: ["RESERVED"] });
  expect(created.status).toBe(201);
  expect(created.body).toMatchObject({
    opensAt: "2026-03-19T10:01:00.000",
    perMinute: 60,
    maxInside: 5,
    claimSeconds: 120,
    insideSeconds: 600,
    seatsPerVisitor: null,
    draw: true,
    paused: false,
    exemptHoldTypes: ["RESERVED"],
    shop: null,
    state: "before",
    seed: null,
    joined: 0,
    drawn: 0,
    serving: 0,
    waiting: 0,
    invited: 0,
    inside: 0,
    gone: 0,
  });
  const changed = await put({ perMinute: 7 });
  expect(changed).toMatchObject({ status: 200, body: { perMinute: 7, maxInside: null } });
  expect((await call("GET", admission)).body).toEqual(changed.body);
  const after = (await call("GET", `${V2}/events/${server.a.eventId}/seats/`)).headers;
  expect(after["X-Sequence"]).toBe(before["X-Sequence"]);
});

test("DELETE → 204, then 404; a new door has another commitment and key", async () => {
  const first = (await put()).body as unknown as Record<string, unknown>;
  expect((await call("DELETE", admission)).status).toBe(204);
  for (const method of ["GET", "DELETE"]) {
    expectProblem(await call(method, admission), { status: 404, errorCode: "ENTITY_NOT_FOUND" });
  }
  const second = (await put()).body as unknown as Record<string, unknown>;
  expect(second["commitment"]).not.toBe(first["commitment"]);
  expect(second["tokenKey"]).not.toBe(first["tokenKey"]);
});

test("another organization, an unknown event → 403, 404 as for the event", async () => {
  await put();
  const { visitor } = await join();
  const calls = [
    ["PUT", ""],
    ["GET", ""],
    ["DELETE", ""],
    ["POST", "/visitors"],
    ["GET", `/visitors/${visitor}`],
    ["POST", `/visitors/${visitor}/enter`],
    ["DELETE", `/visitors/${visitor}`],
  ] as const;
  for (const [method, path] of calls) {
    const bodies: Readonly<Record<string, object>> = {
      PUT: { opensAt: OPENS_AT, perMinute: 1 },
      POST: {},
    };
    const foreign = await call(method, admission + path, bodies[method], server.b.key);
    expectProblem(foreign, { status: 403, errorCode: "ACCESS_DENIED" });
    const nowhere = admission.replace(server.a.eventId, "00000000-0000-4000-8000-00000000beef");
    const unknown = await call(method, nowhere + path, bodies[method]);
    expectProblem(unknown, { status: 404, errorCode: "ENTITY_NOT_FOUND" });
  }
});

test("settings that are not valid → 400; opensAt of an open door → 409", async () => {
  const wrong = [
    [{ perMinute: 0 }, "perMinute"],
    [{ perMinute: 600_001 }, "perMinute"],
    [{ maxInside: 1_000_001 }, "maxInside"],
    [{ claimSeconds: 4 }, "claimSeconds"],
    [{ insideSeconds: 86_401 }, "insideSeconds"],
    [{ seatsPerVisitor: 1_001 }, "seatsPerVisitor"],
    [{ opensAt: "now" }, "opensAt"],
    [{ opensAt: "2026-03-19T10:00:00" }, "opensAt"],
    [{ shop: "https://shop.example/" }, "shop"],
  ] as const;
  for (const [body, field] of wrong) {
    const reply = await put(body);
    expect([reply.status, reply.body]).toMatchObject([400, { errors: [{ field }] }]);
  }
  await put({ opensAt: "2026-03-19T09:00:00", draw: false });
  expectProblem(await put(), { status: 409, errorCode: "INVALID_STATUS_TRANSITION" });
});

test("the draw → opens in its time; entries, seed and commitment let anybody recompute it", async () => {
  const { commitment } = (await put()).body as unknown as { commitment: string };
  const visitors = await Promise.all(Array.from({ length: 50 }, (_, i) => join(`customer ${i}`)));
  expect(visitors.every(({ place, state }) => place === null && state === "waiting")).toBe(true);
  for (const path of ["", "/status", "/entries"]) {
    expect((await open("GET", door + path)).status).toBe(path === "/entries" ? 409 : 200);
  }
  await wait(MINUTE_MS - 1);
  expect((await open("GET", `${door}/status`)).body).toMatchObject({ state: "before", seed: null });
  await wait(1);
  await wait(0);
  const late = await join();
  expect(late).toMatchObject({ place: 51, state: "waiting" });
  const status = (await open<{ seed: string; drawn: number }>("GET", `${door}/status`)).body;
  expect(status).toMatchObject({ state: "open", draw: true, drawn: 50, joined: 51, serving: 1 });
  const seed = Buffer.from(status.seed, "hex");
  expect(createHash("sha256").update(seed).digest("hex")).toBe(commitment);
  const entries = (await open("GET", `${door}/entries`)).text.trim().split("\n");
  expect(entries).toEqual(visitors.map(({ entry }) => entry));
  const keyOf = (entry: string) => createHmac("sha256", seed).update(entry).digest("hex");
  const order = [...entries].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  for (const { visitor, entry } of visitors) {
    const own = (await open("GET", `${door}/visitors/${visitor}`)).body;
    expect(own.place).toBe(order.indexOf(entry) + 1);
    expect(createHash("sha256").update(visitor).digest("hex").slice(0, 32)).toBe(entry);
  }
});

function hashOf(entries: readonly string[]): string {
  let hash: Buffer = Buffer.alloc(32);
  for (const entry of entries) {
    const next = Buffer.concat([hash, Buffer.from(entry, "hex")]);
    hash = createHash("sha256").update(next).digest();
  }
  return hash.toString("hex");
}

test("a beacon, named before and fulfilled at the opening → decides the draw, for all to recompute", async () => {
  const name = "drand round 7";
  const named = await put({ beacon: { name } });
  expect(named).toMatchObject({ status: 201, body: { beacon: { name, value: null } } });
  const early = await put({ beacon: { name, value: "a3c1" } });
  expectProblem(early, {
    status: 400,
    errorCode: "VALIDATION_FAILED",
    errors: ["beacon.value RANGE"],
  });
  const wrong = [{}, { name: "" }, { name, value: "" }, { name: "x".repeat(256) }];
  for (const beacon of wrong) expect((await put({ beacon })).status).toBe(400);
  const visitors = await Promise.all(Array.from({ length: 20 }, (_, i) => join(`customer ${i}`)));
  const statusNow = async () => (await open<Record<string, unknown>>("GET", `${door}/status`)).body;
  await wait(MINUTE_MS);
  await join("late");
  await wait(59_000);
  expect(await statusNow()).toMatchObject({
    state: "before",
    beacon: { name, value: null },
    joined: 21,
    joinedHash: hashOf(visitors.map(({ entry }) => entry)),
    seed: null,
  });
  expect((await put({ beacon: { name, value: "a3c1" } })).status).toBe(200);
  await wait(500);
  const status = await statusNow();
  expect(status).toMatchObject({ state: "open", drawn: 20, beacon: { name, value: "a3c1" } });
  const seed = Buffer.from(status["seed"] as string, "hex");
  const keyOf = ({ entry }: Visitor) =>
    createHmac("sha256", seed).update(`${entry}:a3c1`).digest("hex");
  const order = visitors.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  for (const [i, { visitor }] of order.entries()) {
    expect((await open("GET", `${door}/visitors/${visitor}`)).body.place).toBe(i + 1);
  }
  const { text } = await open("GET", `${door}/entries`);
  expect(hashOf(text.trim().split("\n"))).toBe(status["joinedHash"]);
  const { isRight } = judgeDraw(JSON.stringify(status), text, { visitor: order[0]!.visitor });
  expect(isRight).toBe(true);
});

test("a beacon that never comes → the door opens a minute later, with the seed alone", async () => {
  await put({ beacon: { name: "drand" } });
  const { visitor } = await join();
  await wait(2 * MINUTE_MS - 1);
  expect((await open("GET", `${door}/visitors/${visitor}`)).body.place).toBeNull();
  await wait(1);
  expect((await open("GET", `${door}/visitors/${visitor}`)).body.place).toBe(1);
  const { body } = await open<object>("GET", `${door}/status`);
  expect(body).toMatchObject({ state: "open", beacon: { value: null } });
});

test("the hash of the status → over the entries so far; null without a draw", async () => {
  await put();
  const entries: string[] = [];
  for (let i = 0; i < 5; i++) {
    const { body } = await open<object>("GET", `${door}/status`);
    expect(body).toMatchObject({ joined: i, joinedHash: hashOf(entries), beacon: null });
    entries.push((await join()).entry);
    await wait(500);
  }
  await call("DELETE", admission);
  await put({ draw: false });
  expect((await open("GET", `${door}/status`)).body).toMatchObject({ joinedHash: null });
});

test("many visitors after a start → the status waits for their hash, other calls do not", async () => {
  await put();
  const count = 5_000;
  for (let i = 0; i < count; i++) {
    const entry = createHash("sha256").update(`${i}`).digest().subarray(0, 16);
    const { caller, eventId } = server.a;
    server.world.must("joinDoor", caller, { eventId, entry });
  }
  const asked = open<{ joined: number; joinedHash: string }>("GET", `${door}/status`);
  let isAnswered = false;
  void asked.then(() => (isAnswered = true));
  const { entry } = await join();
  expect(isAnswered).toBe(false);
  const { body } = await asked;
  const entries = Array.from({ length: count }, (_, i) =>
    createHash("sha256").update(`${i}`).digest("hex").slice(0, 32),
  );
  expect(body).toMatchObject({ joined: count + 1, joinedHash: hashOf([...entries, entry]) });
});

test("a door that goes while its status waits → 404", async () => {
  await put();
  for (let i = 0; i < 5_000; i++) {
    const entry = createHash("sha256").update(`${i}`).digest().subarray(0, 16);
    const { caller, eventId } = server.a;
    server.world.must("joinDoor", caller, { eventId, entry });
  }
  const asked = open("GET", `${door}/status`);
  await call("DELETE", admission);
  expect((await asked).status).toBe(404);
});

test("If-None-Match with the tag of page, status or entries → 304 without a body", async () => {
  await put();
  await join();
  await wait(MINUTE_MS);
  await wait(0);
  for (const path of ["", "/status", "/entries"]) {
    const whole = headersOf(await open("GET", door + path));
    const tag = whole["ETag"]!;
    expect(tag).toMatch(/^"[\w-]{20,}/);
    for (const known of [tag, `"other", ${tag}`, `W/${tag}`, "*"]) {
      const reply = await open("GET", door + path, { "if-none-match": known });
      expect([path, known, reply.status, reply.text, reply.type]).toEqual([
        path,
        known,
        304,
        "",
        "",
      ]);
      expect(headersOf(reply)).toMatchObject({
        ETag: tag,
        "Cache-Control": whole["Cache-Control"],
        "Access-Control-Allow-Origin": "*",
      });
    }
    for (const other of ['"other"', tag.slice(1, -1), "W/*"]) {
      const reply = await open("GET", door + path, { "if-none-match": other });
      expect([path, other, reply.status]).toEqual([path, other, 200]);
      expect(reply.text).not.toBe("");
    }
  }
  const before = headersOf(await open("GET", `${door}/status`))["ETag"]!;
  await wait(1_000);
  expect((await open("GET", `${door}/status`, { "if-none-match": before })).status).toBe(200);
});

test("OPTIONS of a page elsewhere → the methods of each path, whatever its door", async () => {
  const paths = [
    ["", "GET, HEAD, OPTIONS"],
    ["/status", "GET, HEAD, OPTIONS"],
    ["/entries", "GET, HEAD, OPTIONS"],
    ["/visitors/x", "GET, DELETE, HEAD, OPTIONS"],
    ["/visitors/x/enter", "POST, OPTIONS"],
  ] as const;
  for (const [path, methods] of paths) {
    const asks = { origin: "https://shop.example", "access-control-request-method": "DELETE" };
    const reply = await open("OPTIONS", door + path, asks);
    expect([path, reply.status, reply.text]).toEqual([path, 204, ""]);
    expect(headersOf(reply)).toEqual({
      "Access-Control-Allow-Origin": "*",
      "Access-Control-Allow-Methods": methods,
      "Access-Control-Allow-Headers": "*",
      "Access-Control-Expose-Headers": "ETag, Retry-After",
      "Access-Control-Max-Age": "86400",
    });
  }
  for (const target of [admission, `${V2}/booking/lock`, `${door}/nothing`]) {
    expect((await open("OPTIONS", target)).status).toBe(target.endsWith("nothing") ? 404 : 405);
  }
});

test("a refusal on a public path → readable for pages of every origin, too", async () => {
  for (const [method, path, status] of [
    ["GET", "/status", 404],
    ["POST", "/visitors/x/enter", 404],
    ["DELETE", "/visitors/x", 404],
  ] as const) {
    const reply = await open(method, door + path);
    expect([reply.status, headersOf(reply)["Access-Control-Allow-Origin"]]).toEqual([status, "*"]);
  }
  const elsewhere = await call("GET", admission);
  expect(headersOf(elsewhere)["Access-Control-Allow-Origin"]).toBeUndefined();
});

test("a door whose time came while the server was down → is opened by `begin`", async () => {
  await put();
  const { visitor } = await join();
  server.world.clock.timeMs += MINUTE_MS;
  await server.services.doors.begin(() => {});
  server.services.doors.stop();
  expect((await open("GET", `${door}/visitors/${visitor}`)).body.place).toBe(1);
});

test("customer → one place for each, and the name is nowhere", async () => {
  await put();
  const first = await call("POST", `${admission}/visitors`, { customer: "ada@example.com" });
  const again = await call("POST", `${admission}/visitors`, { customer: "ada@example.com" });
  expect([first.status, again.status]).toEqual([201, 200]);
  expect(again.body).toEqual(first.body);
  expect(first.body.visitor).toMatch(/^[\w-]{20,64}$/);
  expect((await join("bob")).visitor).not.toBe(first.body.visitor);
  expect((await join()).visitor).not.toBe((await join()).visitor);
  const log = JSON.stringify(server.journal.kept);
  expect(log).not.toContain("ada@example.com");
  expect(log).not.toContain(first.body.visitor);
  for (const customer of ["", "x".repeat(256), 7]) {
    expect((await call("POST", `${admission}/visitors`, { customer })).status).toBe(400);
  }
});

test("enter → the token, again the same; who waits or is gone → 409; leave twice → 204", async () => {
  await put({ opensAt: "2026-03-19T09:00:00", draw: false, maxInside: 1 });
  const [first, second] = [await join(), await join()];
  expect([first.state, second.state]).toEqual(["invited", "waiting"]);
  const path = (visitor: string, way: string) => `${way}/visitors/${visitor}`;
  const entered = await call("POST", `${path(first.visitor, admission)}/enter`);
  expect(entered).toMatchObject({ status: 200, body: { state: "inside", place: 1, taken: 0 } });
  const again = await open("POST", `${path(first.visitor, door)}/enter`);
  expect(again.body).toEqual(entered.body);
  const [head, payload] = entered.body.admission.split(".") as [string, string];
  const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString()) as object;
  expect(read(head)).toEqual({ alg: "HS256", typ: "JWT" });
  const exp = Date.parse(`${entered.body.until}Z`) / 1_000;
  expect(read(payload)).toEqual({
    iss: "frontrow",
    aud: server.a.eventId,
    sub: first.visitor,
    place: 1,
    iat: START_MS / 1_000,
    exp,
  });
  for (const way of [admission, door]) {
    const waits = await call("POST", `${path(second.visitor, way)}/enter`);
    expectProblem(waits, { status: 409, errorCode: "INVALID_STATUS_TRANSITION" });
    const nobody = await call("POST", `${path("nobody-who-has-ever-joined", way)}/enter`);
    expectProblem(nobody, { status: 404, errorCode: "ENTITY_NOT_FOUND" });
    expect((await call("DELETE", path(first.visitor, way))).status).toBe(204);
    const gone = await call("POST", `${path(first.visitor, way)}/enter`);
    expectProblem(gone, { status: 409, errorCode: "INVALID_STATUS_TRANSITION" });
  }
  await wait(1_000);
  expect((await open("GET", path(second.visitor, door))).body.state).toBe("invited");
});

test("public answers → headers for caches and other origins, the same bytes for everybody", async () => {
  await put();
  const { visitor } = await join();
  const status = await open("GET", `${door}/status`);
  expect(headersOf(status)).toMatchObject({
    "Cache-Control": "public, max-age=1",
    "Access-Control-Allow-Origin": "*",
    ETag: expect.stringMatching(/^"[\w-]{22}"$/) as string,
  });
  server.world.clock.timeMs += 400;
  expect((await open("GET", `${door}/status`)).text).toBe(status.text);
  server.world.clock.timeMs += 200;
  expect((await open("GET", `${door}/status`)).text).not.toBe(status.text);
  expect(status.text).not.toContain(visitor);
  const own = await open("GET", `${door}/visitors/${visitor}`);
  expect(headersOf(own)).toMatchObject({
    "Cache-Control": "no-store",
    "Access-Control-Allow-Origin": "*",
  });
  const page = await open("GET", door);
  expect(headersOf(page)["Cache-Control"]).toBe("public, max-age=60");
  expect(headersOf(page)["Content-Security-Policy"]).toMatch(
    /default-src 'none'.*script-src 'sha256/,
  );
  expect(page.text.length).toBeLessThan(64 * 1_024);
  expect(page.text).not.toMatch(/(src|href)="?https?:|url\(|@import/);
});

test("public paths without a door, of an unknown event → 404; of no event id → 400", async () => {
  for (const path of ["", "/status", "/entries", "/visitors/x"]) {
    expectProblem(await open("GET", door + path), { status: 404, errorCode: "ENTITY_NOT_FOUND" });
    expect((await open("GET", `/door/nothing${path}`)).status).toBe(400);
  }
  for (const [method, path] of [
    ["POST", "/visitors/x/enter"],
    ["DELETE", "/visitors/x"],
  ] as const) {
    const reply = await open(method, `/door/nothing${path}`);
    expectProblem(reply, {
      status: 400,
      errorCode: "VALIDATION_FAILED",
      errors: ["eventId FORMAT"],
    });
  }
});

test("visitors beyond the budget of the public paths → 429; the organization's calls go on", async () => {
  await put();
  let reply = await open("GET", `${door}/status`);
  for (let i = 1; i <= VISITOR_CALLS_PER_SECOND && reply.status === 200; i++) {
    server.services.doors.take();
  }
  for (const [method, path] of [
    ["GET", ""],
    ["GET", "/status"],
    ["GET", "/entries"],
    ["GET", "/visitors/x"],
    ["POST", "/visitors/x/enter"],
    ["DELETE", "/visitors/x"],
  ] as const) {
    reply = await open(method, door + path);
    expectProblem(reply, { status: 429, errorCode: "RATE_LIMITED" });
    expect(reply.headers["Retry-After"]).toBe("1");
  }
  expect((await call("GET", admission)).status).toBe(200);
});

test("more visitors than a door takes → 429", async () => {
  await put();
  Object.defineProperty(server.engine.state.doors.values().next().value!, "placesWaiting", {
    get: () => 4_000_000,
  });
  const reply = await call("POST", `${admission}/visitors`, {});
  expectProblem(reply, { status: 429, errorCode: "RATE_LIMITED" });
});

test("a lock at a door → asks for the token, over HTTP, v1 and a dry run", async () => {
  const { admission: token, visitor } = await admitted({ seatsPerVisitor: 2 });
  expectProblem(await lock({}), { status: 403, errorCode: "ADMISSION_REQUIRED" });
  const check = `${V2}/booking/check?eventId=${server.a.eventId}&call=lock`;
  expect(await lock({}, check)).toMatchObject({
    status: 403,
    body: { errorCode: "ADMISSION_REQUIRED" },
  });
  expect((await lock({ admission: token }, check)).status).toBe(200);
  const v1 = `/api/private/v1.0/booking/lock?id=${server.a.eventId}`;
  expect(await call("POST", v1, [{ compositeKey: "Stalls;;A;;3", capacity: null }])).toMatchObject({
    status: 403,
    body: { errorCode: "ADMISSION_REQUIRED" },
  });
  const invalid = await lock({ admission: `${token}x` });
  const errors = ["admission SIGNATURE"];
  expectProblem(invalid, { status: 403, errorCode: "ADMISSION_INVALID", errors });
  expect(invalid.body).toMatchObject({ errors: [{ rejectedValue: null }] });
  expect(invalid.text).not.toContain(token);
  expect((await lock({ admission: token })).text).toBe("true");
  expect((await open("GET", `${door}/visitors/${visitor}`)).body.taken).toBe(1);
  const best = `${V2}/booking/best?eventId=${server.a.eventId}`;
  expectProblem(await call("POST", best, { quantity: 1 }), {
    status: 403,
    errorCode: "ADMISSION_REQUIRED",
  });
  const two = { quantity: 2, sessionId: "S", admission: token };
  expect((await call("POST", best, two)).body).toMatchObject({
    errors: [{ field: "quantity", code: "VISITOR_LIMIT" }],
  });
  const item = { eventId: server.a.eventId, call: "lock", ...server.selection("S", "A2", "A3") };
  const cart = await call("POST", `${V2}/booking/cart`, { items: [{ ...item, admission: token }] });
  expect(cart.body).toMatchObject({ errors: [{ code: "VISITOR_LIMIT" }] });
  expect((await call("POST", best, { ...two, quantity: 1 })).status).toBe(200);
});

/** By reason: the token of a visitor, made unfit. */
const UNFIT: readonly (readonly [string, () => Promise<string>])[] = [
  ["SIGNATURE", async () => `${(await admitted()).admission}x`],
  ["EVENT", () => admittedElsewhere()],
  [
    "EXPIRED",
    async () => {
      const { admission: token } = await admitted({ insideSeconds: 60 });
      await wait(MINUTE_MS);
      return token;
    },
  ],
  [
    "LEFT",
    async () => {
      const { admission: token, visitor } = await admitted();
      expect((await open("DELETE", `${door}/visitors/${visitor}`)).status).toBe(204);
      return token;
    },
  ],
  [
    "SESSION",
    async () => {
      const { admission: token } = await admitted();
      const first = server.selection("another", "A2");
      const target = `${V2}/booking/lock?eventId=${server.a.eventId}`;
      expect((await call("POST", target, { ...first, admission: token })).text).toBe("true");
      return token;
    },
  ],
];

/** The token of a visitor of another event, while this one has a door. */
async function admittedElsewhere(): Promise<string> {
  await admitted();
  const own = admission;
  const clone = `${V2}/events/${server.a.eventId}/clone`;
  const { id } = (await call<{ id: string }>("POST", clone, { name: "B", status: "PUBLISHED" }))
    .body;
  admission = `${V2}/events/${id}/admission`;
  const { admission: token } = await admitted();
  admission = own;
  return token;
}

test.each(UNFIT)(
  "an admission that is unfit by %s → no lock, no best, no dry run",
  async (code, unfit) => {
    const token = await unfit();
    const event = `eventId=${server.a.eventId}`;
    const refusal = { status: 403, errorCode: "ADMISSION_INVALID", errors: [`admission ${code}`] };
    const path = `${V2}/booking/lock`;
    expectProblem(await lock({ admission: token }), refusal);
    const check = `${V2}/booking/check?${event}&call=lock`;
    expectProblem(await lock({ admission: token }, check), { ...refusal, path });
    expectProblem(await lock({ admission: token }, `${path}?${event}&mode=best-effort`), refusal);
    const cart = {
      items: [{ eventId: server.a.eventId, call: "lock", ...server.selection("S", "A1") }],
    };
    const [item] = cart.items;
    expectProblem(
      await call("POST", `${V2}/booking/cart`, { items: [{ ...item, admission: token }] }),
      { ...refusal, errors: [`items[0].admission ${code}`] },
    );
    expectProblem(await call("POST", `${V2}/booking/cart`, cart), {
      status: 403,
      errorCode: "ADMISSION_REQUIRED",
    });
    const wish = { sessionId: "S", quantity: 1, admission: token };
    expectProblem(await call("POST", `${V2}/booking/best?${event}`, wish), refusal);
  },
);

test("a refused lock without a token → its Idempotency-Key may come again with one", async () => {
  const { admission: token } = await admitted();
  const target = `${V2}/booking/lock?eventId=${server.a.eventId}`;
  const send = (body: object) =>
    server.call("POST", target, {
      key: server.a.key,
      body: { ...server.selection("S", "A1"), ...body },
      headers: { "idempotency-key": "one" },
    });
  expect((await send({})).status).toBe(403);
  expect((await send({ admission: `${token}x` })).status).toBe(403);
  expect((await send({ admission: token })).text).toBe("true");
  server.world.clock.timeMs += 60 * MINUTE_MS;
  const replayed = await send({ admission: token });
  expect([replayed.text, replayed.headers["Idempotency-Replayed"]]).toEqual(["true", "true"]);
});
