/** Names and labels with odd characters, in each place that takes one. */
import { expect, test } from "vitest";
import { open, valueOf } from "../../persistence/library/library.ts";
import { newFolder } from "../support/box-office.ts";
import { area, guidOf, layoutOf, section } from "../support/layout.ts";
import { MANAGEMENT, type PageBody, TestServer, V2 } from "../support/server.ts";
import { Desk, V1 } from "./routes/desk.ts";

const TIMES = { start: "2030-05-01T20:00", endDate: "2030-05-01T23:00" };
/** More objects than the engine's thread takes. */
const LARGE = layoutOf(
  section("Hall", Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`R${i}-`, seats(40)]))),
);
function seats(count: number): string {
  return Array.from({ length: count }, (_, i) => i + 1).join(" ");
}

interface Place {
  /** Creates a thing of the name. @returns Its status, and its name as it is shown. */
  readonly create: (server: TestServer, name: string) => Promise<readonly [number, unknown]>;
  /** The field of the name in a refusal. */
  readonly field: string;
  /** The field in a refusal of a second thing of the name; undefined where names may repeat. */
  readonly taken?: string;
}

interface Shown {
  readonly status: number;
  readonly body: unknown;
}

/** The member with the name in an answer, or all of a refusal. */
const shown = ({ status, body }: Shown, ...path: (string | number)[]) => {
  const member = path.reduce<unknown>((value, step) => (value as never)?.[step], body);
  return [status, status < 300 ? member : body] as const;
};

/** Guids of new objects: each server gets several. */
let count = 0;
const newGuid = () => guidOf(`new ${(count += 1)}`);
const STALLS = { guid: guidOf("Stalls"), name: "Stalls", ga: false };
const last = (list: readonly unknown[]) => list.length - 1;

async function putLayout(server: TestServer, list: string, object: object, member: string) {
  const path = `${V2}/schemas/${server.a.schemaId}/layout`;
  const reply = await server.put<Record<string, unknown[]>>(path, { [list]: [object] });
  return reply.status < 300 ? shown(reply, list, last(reply.body[list]!), member) : shown(reply);
}

const PLACES: Readonly<Record<string, Place>> = {
  "the name of a venue": {
    field: "name",
    create: async (server, name) => shown(await server.post(`${V2}/venues/`, { name }), "name"),
  },
  "the name of a schema": {
    field: "name",
    create: async (server, name) => {
      const { venueId } = server.a;
      return shown(await server.post(`${V2}/schemas/`, { name, venueId }), "name");
    },
  },
  "the name of an event": {
    field: "name",
    create: async (server, name) => {
      const { schemaId } = server.a;
      return shown(await server.post(`${V2}/events/`, { name, schemaId, ...TIMES }), "name");
    },
  },
  "the name of a series": {
    field: "name",
    create: async (server, name) => shown(await server.post(`${V2}/series/`, { name }), "name"),
  },
  "the name of a price": {
    field: "[0].name",
    create: async (server, name) => {
      const { eventId } = server.a;
      const path = `${V2}/event/${eventId}/prices/`;
      return shown(await server.post(path, [{ name, eventId }]), 0, "name");
    },
  },
  "the name of a pricing zone": {
    field: "[0].name",
    create: async (server, name) => {
      const { schemaId } = server.a;
      const path = `${V2}/schemas/${schemaId}/pricing_zones/`;
      return shown(await server.post(path, [{ name, schemaId }]), 0, "name");
    },
  },
  "the name of an organization": {
    field: "name",
    taken: "name",
    create: async (server, name) => {
      const admin = { email: "ada@opera.example", firstName: "Ada", lastName: "Byron" };
      const body = { ...admin, name, password: "correct horse" };
      const by = { key: server.tenantToken };
      return shown(await server.post(`${MANAGEMENT}/organizations/`, body, by), "name");
    },
  },
  "the name of a hold type": {
    field: "[0].name",
    taken: "[1].name",
    create: async (server, name) => {
      const path = `${MANAGEMENT}/hold-types/`;
      const by = { key: server.tenantToken, headers: { "x-organization-id": `${server.a.id}` } };
      const own = server.engine.state.catalog.organizations.get(server.a.id)!.holdTypes;
      return shown(await server.put(path, [...own, { name }], by), own.length, "name");
    },
  },
  "the label of a section": {
    field: "sectors[0].name",
    taken: "sectors[0].name",
    create: (server, name) =>
      putLayout(server, "sectors", { guid: newGuid(), name, ga: false }, "name"),
  },
  "the label of a row": {
    field: "rows[0].rowNumber",
    taken: "rows[0].rowNumber",
    create: (server, rowNumber) => {
      const row = { guid: newGuid(), sectorGuid: STALLS.guid, rowNumber };
      return putLayout(server, "rows", row, "rowNumber");
    },
  },
  "the label of a seat": {
    field: "seats[0].name",
    taken: "seats[0].name",
    create: (server, name) => {
      const seat = { guid: newGuid(), rowGuid: guidOf("row A"), name };
      return putLayout(server, "seats", seat, "name");
    },
  },
  "the label of a seat in a large layout": {
    field: "seats[0].name",
    taken: "seats[0].name",
    create: async (server, name) => {
      const { a, world } = server;
      const known = [...server.engine.state.catalog.schemas.values()].find(
        (schema) => schema.name === "Large",
      );
      const body = { name: "Large", venueId: a.venueId };
      const { id } = known ?? world.must("createSchema", a.caller, { body });
      const path = `${V2}/schemas/${id}/layout`;
      if (known === undefined) expect((await server.put(path, LARGE)).status).toBe(200);
      const seat = { guid: newGuid(), rowGuid: guidOf("row R3-"), name };
      const reply = await server.put<{ seats: unknown[] }>(path, { seats: [seat] });
      if (reply.status >= 300) return shown(reply);
      return shown(reply, "seats", last(reply.body.seats), "name");
    },
  },
  "the name of a v1 event": {
    field: "name",
    create: async (server, name) => {
      const { schemaId } = server.a;
      return shown(await server.post(`${V1}/events/`, { name, schemaId, ...TIMES }), "name");
    },
  },
  "the name of a v1 price": {
    field: "name",
    taken: "name",
    create: async (server, name) => {
      const { eventId } = server.a;
      return shown(await server.post(`${V1}/prices/?id=${eventId}`, { name, eventId }), "name");
    },
  },
};

const places = Object.entries(PLACES);
const unique = places.filter(([, { taken }]) => taken !== undefined);

/** Written another way, "Box 12" in its stored form. */
const BLANK: Readonly<Record<string, string>> = {
  "a blank before": " Box 12",
  "a blank after": "Box 12 ",
  "two inner blanks": "Box  12",
  "a no-break blank": "Box\u00a012",
  "an ideographic blank": "\u3000Box 12\u2003",
};
/** Looks like "Box 12", and is stored as it is. */
const ALIKE: Readonly<Record<string, string>> = {
  "full-width letters": "Ｂｏｘ １２",
  "a circled number": "Box ⑫",
};
const INVISIBLE: Readonly<Record<string, string>> = {
  "a zero-width blank": "Box\u200b 12",
  "a direction mark": "Box 12\u200e",
  "a byte order mark": "\ufeffBox 12",
  "a joiner at the end": "Box 12\u200d",
};

test.each(places)("%s with odd blanks → stored trimmed, with single blanks", async (_, place) => {
  for (const [what, name] of Object.entries(BLANK)) {
    const [status, stored] = await place.create(new TestServer(), name);
    expect([what, status < 300, stored]).toEqual([what, true, "Box 12"]);
  }
});

test.each(places)("%s with an invisible character → refused, and names it", async (_, place) => {
  const server = new TestServer();
  const { field } = place;
  for (const [what, name] of Object.entries(INVISIBLE)) {
    const [status, body] = await place.create(server, name);
    const error = { field, code: "FORMAT", message: expect.stringMatching(/invisible/) as string };
    expect([what, status, body]).toMatchObject([what, 400, { errors: [error] }]);
  }
  const [status, body] = await place.create(server, " \u00a0");
  expect([status, body]).toMatchObject([400, { errors: [{ field, code: "SIZE" }] }]);
});

test.each(unique)("%s that looks like another → refused as a duplicate", async (_, place) => {
  for (const [what, name] of Object.entries({ ...BLANK, ...ALIKE })) {
    const server = new TestServer();
    const [, stored] = await place.create(server, "Box 12");
    expect([what, stored]).toEqual([what, "Box 12"]);
    const before = server.digest;
    const [status, body] = await place.create(server, name);
    const error = { field: place.taken, code: "DUPLICATE" };
    expect([what, status >= 400, body]).toMatchObject([what, true, { errors: [error] }]);
    expect(server.digest).toBe(before);
  }
});

test("labels that look the same in two rows, and two looks of one row, sent together", async () => {
  const server = new TestServer();
  const [rowGuid, other] = [guidOf("row A"), guidOf("row B")];
  const seat = (guid: string, name: string, row = rowGuid) => ({ guid, rowGuid: row, name });
  const sent = [seat(newGuid(), "9"), seat(newGuid(), "９"), seat(newGuid(), "９", other)];
  const path = `${V2}/schemas/${server.a.schemaId}/layout`;
  const { body } = await server.put(path, { seats: sent });
  expect(body.errors).toEqual([
    {
      field: "seats[1].name",
      code: "DUPLICATE",
      message: 'appears twice in the row: it looks like "9"',
      rejectedValue: "９",
    },
  ]);
});

test("labels with the separator of composite keys in full width → refused", async () => {
  const [status, body] = await PLACES["the label of a row"]!.create(new TestServer(), "A；；B");
  expect([status, body]).toMatchObject([
    400,
    { errors: [{ field: "rows[0].rowNumber", code: "PATTERN" }] },
  ]);
});

test("a hold type that looks like a built-in one → refused; the built-in name replaces it", async () => {
  const server = new TestServer();
  const place = PLACES["the name of a hold type"]!;
  const [status, body] = await place.create(server, "ＣＡＲＴ");
  expect([status, body]).toMatchObject([
    400,
    { errors: [{ field: "[0].name", code: "DUPLICATE", message: "looks like the built-in CART" }] },
  ]);
  expect(await place.create(server, "CART")).toEqual([200, "CART"]);
});

const KEYS: readonly (readonly [what: string, key: string])[] = [
  ["as it is shown", "Parkett links;;Reihe Ａ;;12"],
  ["with odd blanks", " Parkett\u00a0links ;;\u2003Reihe  Ａ;; 12 "],
  ["in full width", "Ｐａｒｋｅｔｔ links;;Reihe A;;１２"],
  ["in the case of none", "parkett links;;Reihe A;;12"],
];

test("a v1 key finds a seat by labels that look the same", async () => {
  const desk = new Desk();
  const { world, a } = desk;
  const body = { name: "Labels", venueId: a.venueId };
  const { id: schemaId } = world.must("createSchema", a.caller, { body });
  const plan = layoutOf(section("Parkett links", { "Reihe Ａ": "12" }), area("Ｐit", 5));
  expect((await desk.put(`${V2}/schemas/${schemaId}/layout`, plan)).status).toBe(200);
  const eventId = world.createEvent(a.caller, schemaId);
  const lock = async (compositeKey: string, capacity: number | null = null) => {
    const path = `${V1}/booking/lock?id=${eventId}`;
    const { body: failed } = await desk.post<object[]>(path, [{ compositeKey, capacity }]);
    return failed;
  };
  const price = world.createPrice("Full", eventId);
  for (const [what, compositeKey] of KEYS) {
    const assigned = [{ compositeKey, price }];
    const reply = await desk.post(`${V1}/assignments/?id=${eventId}`, assigned);
    const isKnown = what !== "in the case of none";
    expect([what, reply.status, reply.body]).toEqual([what, 200, isKnown ? [] : assigned]);
  }
  await desk.post(`${V1}/assignments/?id=${eventId}`, [
    { compositeKey: "Pit", price, capacity: 5 },
  ]);
  expect(await lock(KEYS[1]![1])).toEqual([]);
  expect(await lock("Pit\u00a0", 2)).toEqual([]);
});

test("the name filter finds names in any blanks, width and letter case", async () => {
  const server = new TestServer();
  await PLACES["the name of an event"]!.create(server, "Grand Ｇala 2030");
  for (const [part, found] of [
    ["grand\u00a0gala", 1],
    ["  Gala  ２０３０ ", 1],
    ["GRAND ＧALA", 1],
    ["gala\u200b", 0],
    ["gala 2031", 0],
  ] as const) {
    const path = `${V2}/events/?name=${encodeURIComponent(part)}`;
    const { body } = await server.get<PageBody<unknown>>(path);
    expect([part, body.totalElements]).toEqual([part, found]);
  }
});

test("a lock's hold type is normalized; its session and external ids are kept", async () => {
  const server = new TestServer();
  await PLACES["the name of a hold type"]!.create(server, "House Seats");
  const lock = (holdType: string, label: string, sessionId: string) => {
    const body = { ...server.selection(sessionId, label), holdType };
    return server.post(server.bookingPath("lock"), body);
  };
  expect((await lock(" House  Seats", "A1", " s ")).status).toBe(200);
  expect((await lock("House\u00a0Seats", "A2", " s ")).status).toBe(200);
  expect((await server.book("unlock", "s", "A1")).status).toBe(400);
  expect((await server.book("unlock", " s ", "A1")).status).toBe(200);
  const { eventId } = server.a;
  const price = { name: "Full  price", eventId, externalId: " x  1\u00a0" };
  const { body } = await server.post(`${V2}/event/${eventId}/prices/`, [price]);
  expect(body).toMatchObject([{ name: "Full price", externalId: " x  1\u00a0" }]);
});

test("the library takes names in the same forms", async () => {
  const folder = newFolder();
  const frontrow = await open({ folder, organization: "Café\u00a0 Odeon" });
  const venue = valueOf(await frontrow.venues.create({ name: " Odeon\u00a0", address: " a\n" }));
  expect(venue).toMatchObject({ name: "Odeon", address: " a\n" });
  const refused = await frontrow.venues.create({ name: "Odeon\u200b" });
  expect(refused).toMatchObject({ ok: false, errors: [{ field: "name", code: "FORMAT" }] });
  const { id } = valueOf(await frontrow.schemas.create({ name: "Hall", venueId: venue.id }));
  const put = (rows: Record<string, string>) =>
    frontrow.layouts.put(id, layoutOf(section("S", rows)));
  expect(await put({ A: "1 2", "\u3000A": "1" })).toMatchObject({
    ok: false,
    errors: [{ field: "rows[1].rowNumber", code: "DUPLICATE" }],
  });
  await frontrow.close();
  const again = await open({ folder, organization: "Cafe\u0301 Ｏdeon" });
  expect(valueOf(await again.venues.list())).toMatchObject([{ name: "Odeon" }]);
  await again.close();
});
