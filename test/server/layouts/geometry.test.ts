/** The geometry of a schema over HTTP: compressed or not, by version, and for its owner alone. */
import { expect, test } from "vitest";
import { GEOMETRIES_MAX, GeometryCache } from "../../../server/layouts/large-layouts.ts";
import type { Answer } from "../../../server/http/answers.ts";
import { TestServer, V2 } from "../../support/server.ts";
import { DENIED, expectProblem, invalid, NOT_FOUND } from "../wire/wire.ts";

interface Shown {
  readonly version: number;
  readonly sections: readonly { readonly name: string }[];
  readonly seats: { readonly ids: readonly number[] };
}

const pathOf = (schemaId: number) => `${V2}/schemas/${schemaId}/geometry/`;

test("a new version of the layout has another geometry", async () => {
  const server = new TestServer();
  const { a } = server;
  const before = await server.get<Shown>(pathOf(a.schemaId));
  expect(before.body.seats.ids).toHaveLength(12);
  expect((await server.get<Shown>(pathOf(a.schemaId))).body).toEqual(before.body);
  const sectors = [{ guid: "aaaaaaaa-0000-4000-8000-000000000001", name: "Gallery", ga: false }];
  const put = await server.call("PUT", `${V2}/schemas/${a.schemaId}/layout`, {
    key: a.key,
    body: { sectors },
  });
  expect(put.status).toBe(200);
  const { body: after } = await server.get<Shown>(pathOf(a.schemaId));
  expect(after.version).toBe(before.body.version + 1);
  expect(after.sections.map(({ name }) => name)).toContain("Gallery");
});

test("a schema that does not exist, or is another organization's, is refused", async () => {
  const server = new TestServer();
  const { a, b } = server;
  expectProblem(await server.get(pathOf(999_999)), NOT_FOUND);
  expectProblem(await server.get(pathOf(a.schemaId), b), DENIED);
  expectProblem(await server.get(`${V2}/schemas/first/geometry/`), invalid("id TYPE"));
});

test("of many geometries at once, some are refused, and later ones are not", async () => {
  const server = new TestServer();
  const { a } = server;
  const ids: number[] = [];
  for (let i = 0; i < 12; i++) {
    const body = { name: `Hall ${i}`, venueId: a.venueId };
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const made = await server.call<{ id: number }>("POST", `${V2}/schemas/`, { key: a.key, body });
    expect(made.status).toBe(201);
    ids.push(made.body.id);
  }
  const shown = await Promise.all(ids.map((id) => server.get(pathOf(id))));
  const refused = shown.filter(({ status }) => status !== 200);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThan(ids.length);
  for (const reply of refused) expectProblem(reply, { status: 503, errorCode: "OVERLOADED" });
  for (const id of ids) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    expect((await server.get(pathOf(id))).status).toBe(200);
  }
});

test("the geometries of sixteen schemas are kept, but none that failed", async () => {
  const cache = new GeometryCache();
  let made = 0;
  const make = () => {
    made += 1;
    return Promise.resolve({ status: 200 } as Answer);
  };
  for (let id = 0; id <= GEOMETRIES_MAX; id++) await cache.of(id, 1, make);
  await cache.of(GEOMETRIES_MAX, 1, make);
  expect(made).toBe(GEOMETRIES_MAX + 1);
  await cache.of(0, 1, make);
  expect(made).toBe(GEOMETRIES_MAX + 2);
  await cache.of(0, 2, make);
  expect(made).toBe(GEOMETRIES_MAX + 3);
  const reject = () => Promise.reject(new Error("broken"));
  await expect(cache.of(77, 1, reject)).rejects.toThrow("broken");
  await cache.of(77, 1, make);
  expect(made).toBe(GEOMETRIES_MAX + 4);
});
