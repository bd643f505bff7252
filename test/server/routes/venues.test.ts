/** The rows of venues. */
import { expect, test } from "vitest";
import { type PageBody, TestServer, V2 } from "../../support/server.ts";
import { DENIED, expectPage, expectProblem, invalid, NO_ID, NOT_FOUND } from "../wire/wire.ts";

/** For requests that are refused: it never changes. */
const unchanged = new TestServer();

const VENUES = `${V2}/venues/`;

interface VenueBody {
  readonly id: number;
  readonly name: string;
}

async function create(server: TestServer, body: object): Promise<VenueBody> {
  const reply = await server.post<VenueBody>(VENUES, body);
  expect(reply.status).toBe(201);
  return reply.body;
}

test("a new venue has the given members only, and is read back the same", async () => {
  const server = new TestServer();
  const id = expect.any(Number) as number;
  const small = await create(server, { name: "Barn" });
  expect(small).toEqual({ id, name: "Barn", draft: false });
  const body = { name: "Hall", address: "1 Main St", lat: -90, lng: 180, draft: true };
  const large = await create(server, { ...body, id: null, organizationId: server.b.id });
  expect(large).toEqual({ id, ...body });
  const read = await server.get(VENUES + large.id);
  expect([read.status, read.body]).toEqual([200, large]);
});

const INVALID: readonly (readonly [string, unknown, string])[] = [
  ["an empty object", {}, "name NOT_NULL"],
  ["a name with a tab", { name: "a\tb" }, "name FORMAT"],
  ["a latitude of 90.1", { name: "x", lat: 90.1 }, "lat RANGE"],
  ["a latitude of 1e400", '{"name":"x","lat":1e400}', "lat TYPE"],
  ["a longitude of 180.5", { name: "x", lng: 180.5 }, "lng RANGE"],
];

test.each(INVALID)("a new or changed venue is refused: %s", async (_, body, error) => {
  const before = unchanged.digest;
  expectProblem(await unchanged.post(VENUES, body), invalid(error));
  const isObject = typeof body === "object" && !Array.isArray(body);
  const changed = isObject ? { id: unchanged.a.venueId, ...body } : body;
  expectProblem(await unchanged.put(VENUES, changed), invalid(error));
  expect(unchanged.digest).toBe(before);
});

test("an update replaces the whole venue", async () => {
  const server = new TestServer();
  const { id } = await create(server, { name: "Hall", address: "1 Main St", draft: true });
  const reply = await server.put(VENUES, { id, name: "New Hall", lat: 1.5 });
  const expected = { id, name: "New Hall", lat: 1.5, draft: false };
  expect([reply.status, reply.body]).toEqual([200, expected]);
  expect((await server.get(VENUES + id)).body).toEqual(expected);
});

test("an update without an id, or of an unknown or foreign venue, is refused", async () => {
  const before = unchanged.digest;
  const put = (body: object) => unchanged.put(VENUES, { name: "x", ...body });
  expectProblem(await put({}), invalid("id NOT_NULL"));
  expectProblem(await put({ id: NO_ID }), NOT_FOUND);
  for (const { venueId: id } of [unchanged.b, unchanged.c])
    expectProblem(await put({ id }), DENIED);
  expect(unchanged.digest).toBe(before);
});

test("a venue without schemas can be deleted, and its id is not used again", async () => {
  const server = new TestServer();
  const { id } = await create(server, { name: "Barn" });
  const reply = await server.delete(VENUES + id);
  expect([reply.status, reply.text, reply.type]).toEqual([204, "", ""]);
  expectProblem(await server.get(VENUES + id), NOT_FOUND);
  expectProblem(await server.delete(VENUES + id), NOT_FOUND);
  const kept = await server.delete(VENUES + server.a.venueId);
  expectProblem(kept, { status: 409, errorCode: "ENTITY_IN_USE" });
  expect((await create(server, { name: "Barn" })).id).toBeGreaterThan(id);
});

test("the list shows the venues of the caller, sorted as requested", async () => {
  const server = new TestServer();
  await create(server, { name: "b" });
  await create(server, { name: "c", address: "z" });
  await create(server, { name: "a" });
  const read = (query: string) => server.get<PageBody<VenueBody>>(VENUES + query);
  expectPage(await read("?sort=name,desc"), { total: 4, count: 4, isSorted: true });
  for (const [query, names] of [
    ["", ["House", "b", "c", "a"]],
    ["?sort=name", ["a", "b", "c", "House"]],
    ["?sort=address,desc&sort=name,desc", ["c", "House", "b", "a"]],
    ["?sort=draft&sort=id,desc&size=2", ["a", "c"]],
    ["?size=3&page=1", ["a"]],
  ] as const) {
    const { body } = await read(query);
    expect([query, body.content.map(({ name }) => name)]).toEqual([query, names]);
  }
});
