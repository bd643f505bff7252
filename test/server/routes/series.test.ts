/** The rows of series. */
import { expect, test } from "vitest";
import { type PageBody, TestServer, V2 } from "../../support/server.ts";
import { DENIED, expectPage, expectProblem, invalid } from "../wire/wire.ts";

const SERIES = `${V2}/series/`;

interface SeriesBody {
  readonly id: number;
  readonly name: string;
}

async function create(server: TestServer, name: string, by = server.a): Promise<SeriesBody> {
  const reply = await server.post<SeriesBody>(SERIES, { name }, by);
  expect(reply.status).toBe(201);
  return reply.body;
}

test("POST /api/private/v2.0/series/ creates a series; names may repeat", async () => {
  const server = new TestServer();
  const { id } = await create(server, "Ring");
  expect(await create(server, "Ring")).toEqual({ id: id + 1, name: "Ring" });
  expectProblem(await server.post(SERIES, {}), invalid("name NOT_NULL"));
  expectProblem(await server.post(SERIES, { name: "" }), invalid("name SIZE"));
  expectProblem(await server.post(SERIES, { name: 7 }), invalid("name TYPE"));
  expectProblem(await server.post(SERIES, { name: "x" }, {}), DENIED);
});

test("GET /api/private/v2.0/series/ lists the series of the caller", async () => {
  const server = new TestServer();
  const made = [await create(server, "B"), await create(server, "A")];
  await create(server, "Foreign", server.b);
  const read = (query: string) => server.get<PageBody<SeriesBody>>(`${SERIES}${query}`);
  const all = await read("");
  expectPage(all, { total: 2, count: 2 });
  expect(all.body.content).toEqual(made);
  expect((await read("?sort=name&size=1")).body.content).toEqual([made[1]]);
  expectProblem(await server.get(SERIES, {}), DENIED);
});

test("PUT /api/private/v2.0/events/{id}/series binds an event and unbinds it", async () => {
  const server = new TestServer();
  const { eventId } = server.a;
  const { id: seriesId } = await create(server, "Ring");
  for (const body of [{ seriesId }, { seriesId: null }]) {
    const reply = await server.put(`${V2}/events/${eventId}/series`, body);
    expect([reply.status, reply.body]).toEqual([200, { id: eventId, name: "Night", ...body }]);
  }
});

test("PUT /api/private/v2.0/events/{id}/series refuses what is not a series", async () => {
  const server = new TestServer();
  const { id: foreign } = await create(server, "Foreign", server.b);
  const before = server.digest;
  for (const [body, error] of [
    [{}, "seriesId NOT_NULL"],
    [{ seriesId: "x" }, "seriesId TYPE"],
    [{ seriesId: foreign }, "seriesId NOT_FOUND"],
  ] as const) {
    const reply = await server.put(`${V2}/events/${server.a.eventId}/series`, body);
    expectProblem(reply, invalid(error));
  }
  expect(server.digest).toBe(before);
});

test("DELETE /api/private/v2.0/series/{id} leaves its events, which may move again", async () => {
  const server = new TestServer();
  const { eventId: id, schemaId } = server.a;
  const { id: seriesId } = await create(server, "Ring");
  await server.put(`${V2}/events/${id}/series`, { seriesId });
  const reply = await server.delete(`${SERIES}${seriesId}`);
  expect([reply.status, reply.text]).toEqual([204, ""]);
  const times = { start: "2026-06-01T20:00", endDate: "2026-06-01T23:00" };
  const body = { id, name: "Night", schemaId, ...times };
  expect((await server.put(`${V2}/events/`, body)).status).toBe(200);
});

test("v1 refuses to move an event in a series", async () => {
  const server = new TestServer();
  const { eventId: id, schemaId } = server.a;
  const { id: seriesId } = await create(server, "Ring");
  await server.put(`${V2}/events/${id}/series`, { seriesId });
  const body = { id, name: "Night", schemaId, start: "2026-06-01T20:00" };
  const reply = await server.put("/api/private/v1.0/events/", body);
  expectProblem(reply, { status: 400, errorCode: "EVENT_BOUND_TO_SERIES" });
});
