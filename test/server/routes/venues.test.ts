/** The venue rows of the interface. */
import { expect, test } from "vitest";
import { type PageBody, TestServer, V2 } from "../../support/server.ts";
import { expectPage, expectProblem } from "../wire/wire.ts";

/** For what is refused: it never changes. */
const unchanged = new TestServer();

const VENUES = `${V2}/venues/`;

interface VenueBody {
  readonly id: number;
  readonly name: string;
}

async function create(server: TestServer, body: object): Promise<VenueBody> {
  const { key } = server.a;
  const reply = await server.call<VenueBody>("POST", VENUES, { key, body });
  expect(reply.status).toBe(201);
  return reply.body;
}

test("a venue is created with what was given, the rest null, and read back the same", async () => {
  const server = new TestServer();
  const { key } = server.a;
  const id = expect.any(Number) as number;
  const small = await create(server, { name: "Barn" });
  expect(small).toEqual({ id, name: "Barn", address: null, lat: null, lng: null, draft: false });
  const body = { name: "Hall", address: "1 Main St", lat: -90, lng: 180, draft: true };
  const large = await create(server, { ...body, id: null, organizationId: server.b.id });
  expect(large).toEqual({ id, ...body });
  const read = await server.call("GET", VENUES + large.id, { key });
  expect([read.status, read.body]).toEqual([200, large]);
});

const INVALID: readonly (readonly [string, unknown, string])[] = [
  ["nothing", {}, "name NOT_NULL"],
  ["a list", [], " TYPE"],
  ["an empty name", { name: "" }, "name SIZE"],
  ["a name of 256", { name: "x".repeat(256) }, "name SIZE"],
  ["a name with a tab", { name: "a\tb" }, "name FORMAT"],
  ["an address as a list", { name: "x", address: [] }, "address TYPE"],
  ["a latitude of 90.1", { name: "x", lat: 90.1 }, "lat RANGE"],
  ["a latitude of -91", { name: "x", lat: -91 }, "lat RANGE"],
  ["a latitude as text", { name: "x", lat: "1" }, "lat TYPE"],
  ["a latitude of 1e400", '{"name":"x","lat":1e400}', "lat TYPE"],
  ["a longitude of 180.5", { name: "x", lng: 180.5 }, "lng RANGE"],
  ["a draft as a number", { name: "x", draft: 1 }, "draft TYPE"],
];

test.each(INVALID)("%s is no venue, to create or to change", async (_, body, error) => {
  const { key, venueId } = unchanged.a;
  const before = unchanged.digest;
  const expected = { status: 400, errorCode: "VALIDATION_FAILED", path: VENUES, errors: [error] };
  expectProblem(await unchanged.call("POST", VENUES, { key, body }), expected);
  const isObject = typeof body === "object" && !Array.isArray(body);
  const changed = isObject ? { id: venueId, ...body } : body;
  expectProblem(await unchanged.call("PUT", VENUES, { key, body: changed }), expected);
  expect(unchanged.digest).toBe(before);
});

test("a venue is changed whole", async () => {
  const server = new TestServer();
  const { key } = server.a;
  const { id } = await create(server, { name: "Hall", address: "1 Main St", draft: true });
  const reply = await server.call("PUT", VENUES, { key, body: { id, name: "New Hall", lat: 1.5 } });
  const expected = { id, name: "New Hall", address: null, lat: 1.5, lng: null, draft: false };
  expect([reply.status, reply.body]).toEqual([200, expected]);
  expect((await server.call("GET", VENUES + id, { key })).body).toEqual(expected);
});

test("a change without id is refused, and one of another's venue as well", async () => {
  const server = new TestServer();
  const { key } = server.a;
  const path = VENUES;
  const before = server.digest;
  const put = (body: object) => server.call("PUT", path, { key, body: { name: "x", ...body } });
  const errors = ["id NOT_NULL"];
  expectProblem(await put({}), { status: 400, errorCode: "VALIDATION_FAILED", path, errors });
  expectProblem(await put({ id: 999_999 }), { status: 404, errorCode: "ENTITY_NOT_FOUND", path });
  for (const { venueId: id } of [server.b, server.c]) {
    expectProblem(await put({ id }), { status: 403, errorCode: "ACCESS_DENIED", path });
  }
  expect(server.digest).toBe(before);
});

test("reading and deleting answer 404 for nobody's, 403 for another's, 400 for no id", async () => {
  const server = new TestServer();
  const { key } = server.a;
  const cases: [string | number, number, string, string[]][] = [
    [999_999, 404, "ENTITY_NOT_FOUND", []],
    [Number.MAX_SAFE_INTEGER, 404, "ENTITY_NOT_FOUND", []],
    [server.a.schemaId, 404, "ENTITY_NOT_FOUND", []],
    [server.b.venueId, 403, "ACCESS_DENIED", []],
    [server.c.venueId, 403, "ACCESS_DENIED", []],
    [0, 400, "VALIDATION_FAILED", ["id RANGE"]],
    [-1, 400, "VALIDATION_FAILED", ["id RANGE"]],
    ["9007199254740992", 400, "VALIDATION_FAILED", ["id RANGE"]],
    ["9223372036854775808", 400, "VALIDATION_FAILED", ["id RANGE"]],
    ["1e3", 400, "VALIDATION_FAILED", ["id TYPE"]],
    ["0x10", 400, "VALIDATION_FAILED", ["id TYPE"]],
    ["%31", 400, "VALIDATION_FAILED", ["id TYPE"]],
    ["1%00", 400, "VALIDATION_FAILED", ["id TYPE"]],
  ];
  const before = server.digest;
  for (const [id, status, errorCode, errors] of cases) {
    const path = VENUES + id;
    for (const method of ["GET", "DELETE"]) {
      const reply = await server.call(method, path, { key });
      expectProblem(reply, { status, errorCode, path, errors });
    }
  }
  expect(server.digest).toBe(before);
});

test("a venue without schemas is deleted, without a body; with schemas it stays", async () => {
  const server = new TestServer();
  const { key, venueId } = server.a;
  const { id } = await create(server, { name: "Barn" });
  const gone = await server.call("DELETE", VENUES + id, { key });
  expect([gone.status, gone.text, gone.type]).toEqual([204, "", ""]);
  expect((await server.call("GET", VENUES + id, { key })).status).toBe(404);
  expect((await server.call("DELETE", VENUES + id, { key })).status).toBe(404);
  const path = VENUES + venueId;
  const kept = await server.call("DELETE", path, { key });
  expectProblem(kept, { status: 409, errorCode: "ENTITY_IN_USE", path });
});

test("an id is never given twice, even after its venue is gone", async () => {
  const server = new TestServer();
  const { key } = server.a;
  const { id } = await create(server, { name: "Barn" });
  await server.call("DELETE", VENUES + id, { key });
  expect((await create(server, { name: "Barn" })).id).toBeGreaterThan(id);
});

test("the list gives pages of the caller's own venues", async () => {
  const server = new TestServer();
  const { key } = server.a;
  for (const name of ["b", "c", "a"])
    await create(server, { name, address: name === "c" ? "z" : null });
  const reply = await server.call<PageBody<VenueBody>>("GET", `${VENUES}?sort=name,desc`, { key });
  expectPage(reply, { total: 4, count: 4, isSorted: true });
  const cases: [string, string[]][] = [
    ["", ["House", "b", "c", "a"]],
    ["?sort=name", ["House", "a", "b", "c"]],
    ["?sort=address,desc&sort=name,desc", ["c", "b", "a", "House"]],
    ["?sort=draft&sort=id,desc&size=2", ["a", "c"]],
    ["?size=3&page=1", ["a"]],
    ["?size=3&page=2", []],
  ];
  for (const [query, names] of cases) {
    const { body } = await server.call<PageBody<VenueBody>>("GET", VENUES + query, { key });
    expect([query, body.content.map(({ name }) => name)]).toEqual([query, names]);
  }
  for (const query of ["size=0", "size=101", "size=abc", "page=-1", "sort=organizationId"]) {
    const refused = await server.call("GET", `${VENUES}?${query}`, { key });
    expect([query, refused.status]).toEqual([query, 400]);
  }
});
