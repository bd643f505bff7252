/** The memory that the operator gives to rows, layouts and events, as clients meet it. */
import { expect, test } from "vitest";
import { HOLD_TYPES_MAX } from "../../engine/constants.ts";
import { EVENT_SEAT_BYTES, type Quota } from "../../engine/state.ts";
import { layoutOf, section } from "../support/layout.ts";
import { actingFor } from "../support/answers/exchange.ts";
import { MANAGEMENT, TestServer, V2 } from "../support/server.ts";
import { expectProblem } from "./wire/wire.ts";

const NO_ROOM = { status: 429, errorCode: "RATE_LIMITED" };

function gauges(text: string): Record<string, number> {
  const lines = [...text.matchAll(/^frontrow_((?:catalog|event)_(?:max_)?bytes) (\S+)$/gm)];
  return Object.fromEntries(lines.map(([, name, value]) => [name, Number(value)]));
}

test("an event or venue without room is refused with 429, and the metrics show why", async () => {
  const server = new TestServer({ hasMetrics: true });
  const { state } = server.engine;
  const { used } = state;
  const limit = (quota: Quota) => (state.quota = quota);
  const { schemaId } = server.a;
  const times = { start: "2026-05-01T20:00:00", endDate: "2026-05-01T23:00:00" };
  const create = () => server.post(`${V2}/events/`, { name: "Late", schemaId, ...times });
  const venue = () => server.post(`${V2}/venues/`, { name: "Annex" });
  limit({ catalog: Infinity, events: used.events + 12 * EVENT_SEAT_BYTES - 1 });
  const { digest } = server;
  const refused = await create();
  expectProblem(refused, NO_ROOM);
  expect(refused.headers["Retry-After"]).toBe("60");
  limit({ catalog: used.catalog, events: Infinity });
  expectProblem(await venue(), NO_ROOM);
  expectProblem(
    await server.put(`${V2}/schemas/${schemaId}/layout`, layoutOf(section("New", { Z: "1" }))),
    NO_ROOM,
  );
  expect(server.digest).toBe(digest);
  limit(used);
  const shown = gauges((await server.call("GET", "/metrics")).text);
  expect(shown).toEqual({
    catalog_bytes: used.catalog,
    catalog_max_bytes: used.catalog,
    event_bytes: used.events,
    event_max_bytes: used.events,
  });
  expect((await server.book("lock", "s", "A1")).status).toBe(200);
  expect((await server.delete(`${V2}/events/${server.a.eventId}`)).status).toBe(204);
  expect((await create()).status).toBe(201);
});

test("an organization may define a hundred hold types, and no more", async () => {
  const server = new TestServer();
  const types = Array.from({ length: HOLD_TYPES_MAX + 1 }, (_, i) => ({
    name: `T${i}`,
    ttlSeconds: 60,
  }));
  const put = (body: unknown) =>
    server.put(`${MANAGEMENT}/hold-types/`, body, actingFor(server.tenantToken, server.a));
  expect((await put(types.slice(1))).status).toBe(200);
  const { status, body } = await put(types);
  expect([status, body]).toMatchObject([400, { errors: [{ code: "SIZE" }] }]);
});

test("an event has one hold for each seat and place at most", async () => {
  const server = new TestServer();
  const lock = (i: number, object: string) => server.book("lock", `session ${i}`, object);
  const { body } = await server.get<{ content: object[] }>(
    `${V2}/events/${server.a.eventId}/seats/`,
  );
  const labels = ["A1", "A2", "A3", "A4", "A5", "A6", "B1", "B2", "B3", "B4", "Round1", "Round2"];
  expect(body.content).toHaveLength(labels.length);
  for (const [i, label] of labels.entries()) await lock(i, label);
  for (let i = 0; i < 100; i++) expect((await lock(100 + i, "Pit:1")).status).toBe(200);
  const { holds } = server.world.partition;
  expect(holds.count).toBe(labels.length + 100);
  for (const object of ["A1", "Pit:1"]) {
    const { status, body: problem } = await lock(999, object);
    expect([status, problem.errorCode]).toEqual([400, "INVENTORY_NOT_AVAILABLE"]);
  }
  expect(holds.count).toBe(labels.length + 100);
});
