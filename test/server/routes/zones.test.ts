/** The rows of pricing zones. */
import { expect, test } from "vitest";
import { type House, type PageBody, TestServer, V2 } from "../../support/server.ts";
import { expectPage, expectProblem } from "../wire/wire.ts";

const INVALID = { status: 400, errorCode: "VALIDATION_FAILED" };
const NOT_FOUND = { status: 404, errorCode: "ENTITY_NOT_FOUND" };
const DENIED = { status: 403, errorCode: "ACCESS_DENIED" };

interface ZoneBody {
  readonly id: number;
  readonly name: string;
  readonly schemaId: number;
}

interface GroupBody {
  readonly id: number;
  readonly pricingZoneId: number | null;
}

function zonesOf({ schemaId }: Pick<House, "schemaId">): string {
  return `${V2}/schemas/${schemaId}/pricing_zones/`;
}

async function create(server: TestServer, names: readonly string[], house = server.a) {
  const { key, schemaId } = house;
  const body = names.map((name) => ({ name, schemaId }));
  const reply = await server.call<readonly ZoneBody[]>("POST", zonesOf(house), { key, body });
  expect(reply.status).toBe(201);
  return reply.body;
}

/** The zones of the groups of A's plan, by label. */
async function zonedGroups(server: TestServer): Promise<Record<string, number | null>> {
  const { key, schemaId, labels } = server.a;
  const path = `${V2}/schemas/${schemaId}/seatmaps/`;
  const { body } = await server.call<readonly GroupBody[]>("GET", path, { key });
  return Object.fromEntries(
    body.map(({ id, pricingZoneId }) => [labels.labelOf(id), pricingZoneId]),
  );
}

test(`POST ${V2}/schemas/{schemaId}/pricing_zones/ creates zones in order`, async () => {
  const server = new TestServer();
  const { schemaId } = server.a;
  const [gold, blue] = await create(server, ["Gold", "Blue"]);
  expect(gold).toEqual({ id: expect.any(Number) as number, name: "Gold", schemaId });
  expect(blue).toEqual({ id: gold!.id + 1, name: "Blue", schemaId });
});

test(`POST ${V2}/schemas/{schemaId}/pricing_zones/ refuses what is no zone`, async () => {
  const server = new TestServer();
  const { a, b } = server;
  const zone = { name: "Gold", schemaId: a.schemaId };
  const cases: [unknown, string][] = [
    [{}, " TYPE"],
    [[{ ...zone, id: 7 }], "[0].id TYPE"],
    [[{ schemaId: a.schemaId }], "[0].name NOT_NULL"],
    [[{ ...zone, name: "" }], "[0].name SIZE"],
    [[{ name: "Gold" }], "[0].schemaId NOT_NULL"],
    [[zone, { ...zone, schemaId: b.schemaId }], "[1].schemaId MISMATCH"],
  ];
  const before = server.digest;
  for (const [body, error] of cases) {
    const path = zonesOf(a);
    const reply = await server.call("POST", path, { key: a.key, body });
    expectProblem(reply, { ...INVALID, path, errors: [error] });
  }
  for (const schemaId of [b.schemaId, 999_999]) {
    const path = zonesOf({ schemaId });
    const reply = await server.call("POST", path, { key: a.key, body: [{ ...zone, schemaId }] });
    expectProblem(reply, { ...DENIED, path });
  }
  expect(server.digest).toBe(before);
});

test("GET /api/private/v2.0/schemas/{schemaId}/pricing_zones/ gives pages of its own", async () => {
  const server = new TestServer();
  const { a, b } = server;
  const made = await create(server, ["Gold", "Blue"]);
  await create(server, ["Foreign"], b);
  const read = (query: string) =>
    server.call<PageBody<ZoneBody>>("GET", `${zonesOf(a)}${query}`, { key: a.key });
  const all = await read("");
  expectPage(all, { total: 2, count: 2 });
  expect(all.body.content).toEqual(made);
  expect((await read("?sort=name&size=1")).body.content).toEqual([made[1]]);
  const path = zonesOf(a);
  const bad = await server.call("GET", `${path}?sort=colour`, { key: a.key });
  expectProblem(bad, { ...INVALID, path, errors: ["sort UNKNOWN"] });
  const foreign = await server.call("GET", zonesOf(b), { key: a.key });
  expectProblem(foreign, { ...DENIED, path: zonesOf(b) });
});

test(`PUT ${V2}/schemas/{schemaId}/pricing_zones/ renames, assignments stay`, async () => {
  const server = new TestServer();
  const { a } = server;
  const [gold] = await create(server, ["Gold"]);
  const groupOfSeats = [{ objectId: a.labels.idOf("Pit"), assignmentId: gold!.id }];
  const body = { groupOfSeats };
  await server.call("POST", `${zonesOf(a)}assignments/`, { key: a.key, body });
  const renamed = [{ ...gold!, name: "Amber" }];
  const reply = await server.call("PUT", zonesOf(a), { key: a.key, body: renamed });
  expect([reply.status, reply.body]).toEqual([200, renamed]);
  expect((await zonedGroups(server))["Pit"]).toBe(gold!.id);
});

test("PUT /api/private/v2.0/schemas/{schemaId}/pricing_zones/ is all or nothing", async () => {
  const server = new TestServer();
  const { a, b } = server;
  const [gold] = await create(server, ["Gold"]);
  const [foreign] = await create(server, ["Foreign"], b);
  const item = (more: object) => ({ ...gold!, name: "New", ...more });
  const before = server.digest;
  const cases: [unknown, object][] = [
    [[item({ id: null })], { ...INVALID, errors: ["[0].id NOT_NULL"] }],
    [[item({ schemaId: b.schemaId })], { ...INVALID, errors: ["[0].schemaId MISMATCH"] }],
    [[item({}), item({})], { ...INVALID, errors: ["[1].id DUPLICATE"] }],
    [[item({}), item({ id: foreign!.id })], { ...NOT_FOUND, errors: ["[1].id NOT_FOUND"] }],
  ];
  for (const [body, expected] of cases) {
    const reply = await server.call("PUT", zonesOf(a), { key: a.key, body });
    expectProblem(reply, { ...(expected as typeof NOT_FOUND), path: zonesOf(a) });
  }
  for (const [schemaId, expected] of [
    [999_999, NOT_FOUND],
    [b.schemaId, DENIED],
  ] as const) {
    const path = zonesOf({ schemaId });
    const reply = await server.call("PUT", path, { key: a.key, body: [item({ schemaId })] });
    expectProblem(reply, { ...expected, path });
  }
  expect(server.digest).toBe(before);
});

test("GET /api/private/v2.0/schemas/{schemaId}/pricing_zones/{id} reads a zone", async () => {
  const server = new TestServer();
  const [gold] = await create(server, ["Gold"]);
  const { key } = server.a;
  const reply = await server.call("GET", `${zonesOf(server.a)}${gold!.id}`, { key });
  expect([reply.status, reply.body]).toEqual([200, gold]);
});

test.each(["GET", "DELETE"])(
  "%s /api/private/v2.0/schemas/{schemaId}/pricing_zones/{id} is 404, 403 and 400",
  async (method) => {
    const server = new TestServer();
    const { a, b } = server;
    const [gold] = await create(server, ["Gold"]);
    const [foreign] = await create(server, ["Foreign"], b);
    const second = server.world.must("createSchema", a.caller, {
      body: { name: "Two", venueId: a.venueId },
    });
    const before = server.digest;
    const cases: [string, object][] = [
      [`${zonesOf(a)}999999`, NOT_FOUND],
      [`${zonesOf(a)}${foreign!.id}`, NOT_FOUND],
      [`${zonesOf({ schemaId: second.id })}${gold!.id}`, NOT_FOUND],
      [`${zonesOf({ schemaId: 999_999 })}${gold!.id}`, NOT_FOUND],
      [`${zonesOf(b)}${foreign!.id}`, DENIED],
      [`${zonesOf(a)}x`, { ...INVALID, errors: ["id TYPE"] }],
    ];
    for (const [path, expected] of cases) {
      const reply = await server.call(method, path, { key: a.key });
      expectProblem(reply, { ...(expected as typeof NOT_FOUND), path });
    }
    expect(server.digest).toBe(before);
  },
);

test(`DELETE ${V2}/schemas/{schemaId}/pricing_zones/{id} takes its assignments`, async () => {
  const server = new TestServer();
  const { a } = server;
  const [gold] = await create(server, ["Gold"]);
  const groupOfSeats = [{ objectId: a.labels.idOf("Stalls"), assignmentId: gold!.id }];
  const options = { key: a.key, body: { groupOfSeats } };
  await server.call("POST", `${zonesOf(a)}assignments/`, options);
  const path = `${zonesOf(a)}${gold!.id}`;
  const reply = await server.call("DELETE", path, { key: a.key });
  expect([reply.status, reply.text]).toEqual([204, ""]);
  expect(new Set(Object.values(await zonedGroups(server)))).toEqual(new Set([null]));
  expectProblem(await server.call("GET", path, { key: a.key }), { ...NOT_FOUND, path });
});

test(`POST ${V2}/schemas/{schemaId}/pricing_zones/assignments/ shows in the map`, async () => {
  const server = new TestServer();
  const { a } = server;
  const idOf = (label: string) => a.labels.idOf(label);
  const [gold, blue] = (await create(server, ["Gold", "Blue"])).map(({ id }) => id);
  const groupOfSeats = [
    { objectId: idOf("Stalls"), assignmentId: gold, activeCount: null, properties: null },
    { objectId: idOf("row B"), assignmentId: blue },
    { objectId: idOf("Pit"), assignmentId: blue },
  ];
  const seats = [{ seatId: idOf("A1"), assignmentId: blue }];
  const path = `${zonesOf(a)}assignments/`;
  const reply = await server.call("POST", path, { key: a.key, body: { seats, groupOfSeats } });
  expect([reply.status, reply.text]).toEqual([200, "true"]);
  expect(await zonedGroups(server)).toEqual({
    Stalls: gold,
    "row A": gold,
    "row B": blue,
    Round: null,
    "row Round": null,
    Pit: blue,
  });
});

test(`POST ${V2}/schemas/{schemaId}/pricing_zones/assignments/ refuses others`, async () => {
  const server = new TestServer();
  const { a, b } = server;
  const [gold] = await create(server, ["Gold"]);
  const [foreign] = await create(server, ["Foreign"], b);
  const stalls = a.labels.idOf("Stalls");
  const before = server.digest;
  const cases: [unknown, string[]][] = [
    [{ seats: [{}] }, ["seats[0].seatId NOT_NULL", "seats[0].assignmentId NOT_NULL"]],
    [{ seats: 7 }, ["seats TYPE"]],
    [
      { groupOfSeats: [{ objectId: stalls, assignmentId: foreign!.id }] },
      ["groupOfSeats[0].assignmentId NOT_FOUND"],
    ],
    [
      { seats: [{ objectId: b.labels.idOf("A1"), assignmentId: gold!.id }] },
      ["seats[0].objectId NOT_FOUND"],
    ],
  ];
  for (const [body, errors] of cases) {
    const path = `${zonesOf(a)}assignments/`;
    const reply = await server.call("POST", path, { key: a.key, body });
    expectProblem(reply, { ...INVALID, path, errors });
  }
  for (const schemaId of [b.schemaId, 999_999]) {
    const path = `${zonesOf({ schemaId })}assignments/`;
    expectProblem(await server.call("POST", path, { key: a.key, body: {} }), { ...DENIED, path });
  }
  expect(server.digest).toBe(before);
});
