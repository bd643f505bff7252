/** The rows of pricing zones. */
import { expect, test } from "vitest";
import { type House, type PageBody, TestServer, V2 } from "../../support/server.ts";
import {
  DENIED,
  type ExpectedProblem,
  expectPage,
  expectProblem,
  invalid,
  NO_ID,
  NOT_FOUND,
} from "../wire/wire.ts";

interface ZoneBody {
  readonly id: number;
  readonly name: string;
  readonly schemaId: number;
}

interface GroupBody {
  readonly id: number;
  readonly pricingZoneId: number | null;
}

const zonesOf = ({ schemaId }: Pick<House, "schemaId">) =>
  `${V2}/schemas/${schemaId}/pricing_zones/`;

async function create(server: TestServer, names: readonly string[], house = server.a) {
  const { schemaId } = house;
  const body = names.map((name) => ({ name, schemaId }));
  const reply = await server.post<readonly ZoneBody[]>(zonesOf(house), body, house);
  expect(reply.status).toBe(201);
  return reply.body;
}

/** Assigns a zone of A to a group, or several of them. */
const assign = (server: TestServer, body: unknown) =>
  server.post(`${zonesOf(server.a)}assignments/`, body);

/** The zones of the groups of A, by label. */
async function zonedGroups(server: TestServer): Promise<Record<string, number | null>> {
  const { schemaId, labels } = server.a;
  const path = `${V2}/schemas/${schemaId}/seatmaps/`;
  const { body } = await server.get<readonly GroupBody[]>(path);
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
  const read = await server.get(`${zonesOf(server.a)}${gold!.id}`);
  expect([read.status, read.body]).toEqual([200, gold]);
});

/** For requests that are refused: it never changes. */
const unchanged = new TestServer();
const { a, b } = unchanged;
const [gold] = await create(unchanged, ["Gold"]);
const [foreign] = await create(unchanged, ["Foreign"], b);
const isNew = { name: "Gold", schemaId: a.schemaId };

const INVALID: readonly (readonly [string, unknown, string])[] = [
  ["a zone with an id", [{ ...isNew, id: 7 }], "[0].id TYPE"],
  ["a zone without a name", [{ ...isNew, name: null }], "[0].name NOT_NULL"],
  ["a zone without a schema", [{ name: "Gold" }], "[0].schemaId NOT_NULL"],
  ["another schema", [isNew, { ...isNew, schemaId: b.schemaId }], "[1].schemaId MISMATCH"],
];

test.each(INVALID)("new zones are refused: %s", async (_, body, error) => {
  const before = unchanged.digest;
  expectProblem(await unchanged.post(zonesOf(a), body), invalid(error));
  expect(unchanged.digest).toBe(before);
});

test("a foreign or unknown schema is 403; only an update answers 404", async () => {
  const before = unchanged.digest;
  for (const [schemaId, updated] of [
    [b.schemaId, DENIED],
    [NO_ID, NOT_FOUND],
  ] as const) {
    const path = zonesOf({ schemaId });
    expectProblem(await unchanged.post(path, [{ name: "Gold", schemaId }]), DENIED);
    expectProblem(await unchanged.post(`${path}assignments/`, {}), DENIED);
    expectProblem(await unchanged.get(path), DENIED);
    expectProblem(await unchanged.put(path, [{ ...gold!, schemaId }]), updated);
  }
  expect(unchanged.digest).toBe(before);
});

test(`GET ${V2}/schemas/{schemaId}/pricing_zones/ lists the zones of the schema`, async () => {
  const server = new TestServer();
  const made = await create(server, ["Gold", "Blue"]);
  await create(server, ["Foreign"], server.b);
  const read = (query: string) => server.get<PageBody<ZoneBody>>(`${zonesOf(server.a)}${query}`);
  const all = await read("");
  expectPage(all, { total: 2, count: 2 });
  expect(all.body.content).toEqual(made);
  expect((await read("?sort=name&size=1")).body.content).toEqual([made[1]]);
});

const changed = { ...gold!, name: "New" };
const REFUSED: readonly (readonly [string, object[], ExpectedProblem])[] = [
  ["null for an id", [{ ...changed, id: null }], invalid("[0].id NOT_NULL")],
  ["another schema", [{ ...changed, schemaId: b.schemaId }], invalid("[0].schemaId MISMATCH")],
  ["a zone twice", [changed, changed], invalid("[1].id DUPLICATE")],
  [
    "a zone of another schema",
    [changed, { ...changed, id: foreign!.id }],
    { ...NOT_FOUND, errors: ["[1].id NOT_FOUND"] },
  ],
];

test.each(REFUSED)("an update of zones is refused: %s", async (_, body, expected) => {
  const before = unchanged.digest;
  expectProblem(await unchanged.put(zonesOf(a), body), expected);
  expect(unchanged.digest).toBe(before);
});

test.each(["GET", "DELETE"])(
  "%s /api/private/v2.0/schemas/{schemaId}/pricing_zones/{id} is 404 for another schema's zone",
  async (method) => {
    const server = new TestServer();
    const [own] = await create(server, ["Gold"]);
    const [others] = await create(server, ["Foreign"], server.b);
    const { caller, venueId } = server.a;
    const body = { name: "Two", venueId };
    const second = server.world.must("createSchema", caller, { body }).id;
    const before = server.digest;
    for (const path of [
      `${zonesOf(server.a)}${others!.id}`,
      `${zonesOf({ schemaId: second })}${own!.id}`,
    ]) {
      expectProblem(await server.call(method, path, server.a), NOT_FOUND);
    }
    expect(server.digest).toBe(before);
  },
);

test(`POST ${V2}/schemas/{schemaId}/pricing_zones/assignments/ shows in the seat map`, async () => {
  const server = new TestServer();
  const idOf = (label: string) => server.a.labels.idOf(label);
  const made = await create(server, ["Gold", "Blue"]);
  const [one, two] = made.map(({ id }) => id);
  const groupOfSeats = [
    { objectId: idOf("Stalls"), assignmentId: one, activeCount: null, properties: null },
    { objectId: idOf("row B"), assignmentId: two },
    { objectId: idOf("Pit"), assignmentId: two },
  ];
  const seats = [{ seatId: idOf("A1"), assignmentId: two }];
  const reply = await assign(server, { seats, groupOfSeats });
  expect([reply.status, reply.text]).toEqual([200, "true"]);
  expect(await zonedGroups(server)).toEqual({
    Stalls: one,
    "row A": one,
    "row B": two,
    Round: null,
    "row Round": null,
    Pit: two,
  });
});

const stalls = a.labels.idOf("Stalls");
const BAD_ASSIGNMENTS: readonly (readonly [string, unknown, string])[] = [
  ["an empty seat", { seats: [{}] }, "seats[0].seatId NOT_NULL, seats[0].assignmentId NOT_NULL"],
  [
    "the zone of another schema",
    { groupOfSeats: [{ objectId: stalls, assignmentId: foreign!.id }] },
    "groupOfSeats[0].assignmentId NOT_FOUND",
  ],
  [
    "the seat of another schema",
    { seats: [{ objectId: b.labels.idOf("A1"), assignmentId: gold!.id }] },
    "seats[0].objectId NOT_FOUND",
  ],
];

test.each(BAD_ASSIGNMENTS)("an assignment of zones is refused: %s", async (_, body, errors) => {
  const before = unchanged.digest;
  expectProblem(await assign(unchanged, body), invalid(...errors.split(", ")));
  expect(unchanged.digest).toBe(before);
});
