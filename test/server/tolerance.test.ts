/** Tolerated requests: null, empty and repeated parameters, byte order marks, NFC. */
import { expect, test } from "vitest";
import type { Shape } from "../../engine/schema.ts";
import { checksOf } from "../../server/api/validate.ts";
import { type PageBody, ROUTES, TestServer, V2 } from "../support/server.ts";

interface Named {
  readonly id: number;
  readonly name: string;
  readonly address?: string;
}

/** The optional members of a shape and of the shapes inside it. */
function optionalMembers(shape: Shape): (readonly [string, Shape])[] {
  const {
    items,
    properties = {},
    required = [],
  } = shape as {
    items?: Shape;
    properties?: Readonly<Record<string, Shape>>;
    required?: readonly string[];
  };
  if (items !== undefined) return optionalMembers(items);
  return Object.entries(properties).flatMap(([name, member]) => [
    ...(required.includes(name) ? [] : [[name, member] as const]),
    ...optionalMembers(member),
  ]);
}

test("null is accepted for every optional member of every request", () => {
  const refused = ROUTES.flatMap(({ method, path, body = {} }) =>
    optionalMembers(body)
      .filter(([, member]) => checksOf({ body: member }).body(null).length > 0)
      .map(([name]) => `${method} ${path} ${name}`),
  );
  expect(refused).toEqual([]);
});

test("null in an optional member means not given", async () => {
  const server = new TestServer();
  const { schemaId, eventId } = server.a;
  const times = { start: "2030-05-01T20:00", endDate: "2030-05-01T23:00" };
  const event = { id: null, name: "Gala", schemaId, ...times, status: null };
  expect(await server.post(`${V2}/events/`, event)).toMatchObject({
    status: 201,
    body: { status: "PUBLISHED" },
  });
  const rotation = await server.post(`${V2}/keys/rotate`, { graceSeconds: null }, server.b);
  expect(rotation.status).toBe(200);
  const price = [{ id: null, name: "Full", eventId, externalId: null }];
  expect((await server.post(`${V2}/event/${eventId}/prices/`, price)).status).toBe(201);
});

test("an empty optional parameter is not given, and an equal repetition counts once", async () => {
  const server = new TestServer();
  const { eventId } = server.a;
  const list = async (query: string) => {
    const { status, body } = await server.get<PageBody<Named>>(`${V2}/events/?${query}`);
    return [status, body.content?.length];
  };
  expect(await list("id=&name=&sort=&size=&page=&status=&startDate=&schemaId=")).toEqual([200, 1]);
  expect(await list(`id=${eventId}&id=${eventId}&size=5&size=5`)).toEqual([200, 1]);
  expect(await list("size=5&size=&sort=name&sort=name")).toEqual([200, 1]);
  expect(await list("size=5&size=6")).toEqual([400, undefined]);
  expect(await list("name=a&name=b")).toEqual([400, undefined]);
  expect(await list("unknown=a&unknown=b")).toEqual([200, 1]);
});

test("an unknown member or parameter → ignored; refused by name where handling is strict", async () => {
  const server = new TestServer();
  const strict = { ...server.a, headers: { prefer: "handling=strict" } };
  const venue = { name: "Odeon", nmae: "x", address: null };
  expect((await server.post(`${V2}/venues/`, venue)).status).toBe(201);
  const fieldsOf = async (path: string, body: unknown, by: object = strict) => {
    const reply = await server.post(path, body, by);
    return (reply.body.errors ?? []).map(({ field, code }) => `${field} ${code}`);
  };
  expect(await fieldsOf(`${V2}/venues/?dry=1`, venue)).toEqual(["dry UNKNOWN", "nmae UNKNOWN"]);
  const prices = `${V2}/event/${server.a.eventId}/prices/`;
  const { eventId } = server.a;
  const price = { name: "Full", eventId };
  const listed = [price, { ...price, amuont: 1 }];
  expect(await fieldsOf(prices, listed)).toEqual(["[1].amuont UNKNOWN"]);
  const seats = [{ id: server.a.labels.idOf("A1"), colour: "red" }];
  const lock = server.bookingPath("lock");
  expect(await fieldsOf(lock, { seats, toString: 1 })).toEqual([
    "seats[0].colour UNKNOWN",
    "toString UNKNOWN",
  ]);
  expect(await fieldsOf(lock, { seats: [{ id: 0, a: 1 }] })).toEqual([
    "seats[0].id RANGE",
    "seats[0].a UNKNOWN",
  ]);
  // A check knows the members of its call, and no others.
  const members = { sessionId: "s", seats: [], seconds: 0, holdType: "CART", quantity: 2 };
  for (const [call, wrong] of [
    ["lock", ["seconds UNKNOWN", "quantity UNKNOWN"]],
    ["extend", ["seconds RANGE", "holdType UNKNOWN", "quantity UNKNOWN"]],
    ["best", ["seats UNKNOWN", "seconds UNKNOWN"]],
  ] as const) {
    const path = call === "lock" ? lock : `${V2}/booking/${call}?eventId=${eventId}`;
    expect([call, await fieldsOf(path, members)]).toEqual([call, wrong]);
    const check = `${V2}/booking/check?eventId=${eventId}&call=${call}`;
    expect([call, await fieldsOf(check, members)]).toEqual([call, wrong]);
  }
});

test("strict handling beside a representation → both are applied, in any spelling", async () => {
  const server = new TestServer();
  const lock = async (label: string, prefer: string) => {
    const by = { ...server.a, headers: { prefer } };
    const selection = server.selection("ann", label);
    return (await server.post(server.bookingPath("lock"), selection, by)).headers;
  };
  const applied = (name: string) => ({ "Preference-Applied": name });
  const both = "return=representation, handling=strict";
  expect(await lock("A1", "handling=strict, return=representation")).toMatchObject(applied(both));
  expect(await lock("A2", 'Handling = "Strict"')).toMatchObject(applied("handling=strict"));
  const lenient = await lock("A3", "handling=lenient, handling=strict");
  expect(lenient["Preference-Applied"]).toBeUndefined();
});

test("a byte order mark before a body is skipped", async () => {
  const server = new TestServer();
  const marked = (body: unknown) => `\ufeff${JSON.stringify(body)}`;
  expect((await server.post(`${V2}/venues/`, marked({ name: "Odeon" }))).status).toBe(201);
  const lock = await server.post(server.bookingPath("lock"), marked(server.selection("s", "A1")));
  expect(lock.body).toBe(true);
});

test("names are stored, compared and measured in the composed form", async () => {
  const server = new TestServer();
  const create = (body: unknown) => server.post<Named>(`${V2}/venues/`, body);
  const { body: venue } = await create({ name: "Cafe\u0301", address: "Rue A\u0300\nParis" });
  expect(venue).toMatchObject({ name: "Caf\u00e9", address: "Rue \u00c0\nParis" });
  const escaped = await create(String.raw`{"name":"Cafe\u0301"}`);
  expect(escaped.body.name).toBe("Caf\u00e9");
  expect((await create({ name: "e\u0301".repeat(255) })).status).toBe(201);
  expect((await create({ name: "e\u0301".repeat(256) })).status).toBe(400);
  expect((await create({ name: "two\nlines" })).status).toBe(400);
  expect((await create({ name: "Odeon", address: "nul \u0000" })).status).toBe(400);
});

test("the name filter of events finds a name in any composition and letter case", async () => {
  const server = new TestServer();
  const { schemaId } = server.a;
  const times = { start: "2030-05-01T20:00", endDate: "2030-05-01T23:00" };
  await server.post(`${V2}/events/`, { name: "Soire\u0301e", schemaId, ...times });
  for (const part of ["soir\u00e9e", "SOIRE\u0301E", "\u00c9E"]) {
    const path = `${V2}/events/?name=${encodeURIComponent(part)}`;
    expect([part, (await server.get<PageBody<Named>>(path)).body.totalElements]).toEqual([part, 1]);
  }
});

test("a session id is taken as it is", async () => {
  const server = new TestServer();
  await server.book("lock", "e\u0301", "A1");
  const other = await server.book("unlock", "\u00e9", "A1");
  expect(other.body.errors[0]?.code).toBe("HELD_BY_ANOTHER_SESSION");
  expect((await server.book("unlock", "e\u0301", "A1")).status).toBe(200);
});
