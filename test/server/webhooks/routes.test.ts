/** The rows of webhooks. */
import { expect, test } from "vitest";
import type { CallOptions } from "../../support/answers/exchange.ts";
import { type PageBody, TestServer, V2 } from "../../support/server.ts";
import { DENIED, expectPage, expectProblem, invalid, NO_ID, NOT_FOUND } from "../wire/wire.ts";

const WEBHOOKS = `${V2}/webhooks/`;
const URL = "https://odeon.example/hook";
const SECRET = /^whsec_[\w+/]{43}=$/;

interface WebhookBody {
  readonly id: number;
  readonly url: string;
  readonly events: readonly string[];
  readonly eventIds: readonly string[];
  readonly active: boolean;
  readonly secret?: string;
}

async function create(server: TestServer, members: object = {}, by: CallOptions = server.a) {
  const body = { url: URL, events: ["change"], ...members };
  const reply = await server.post<WebhookBody>(WEBHOOKS, body, by);
  expect(reply.status).toBe(201);
  return reply.body;
}

const keyed = ({ a }: TestServer, key: string): CallOptions => ({
  ...a,
  headers: { ...(a as CallOptions).headers, "idempotency-key": key },
});

test("POST /api/private/v2.0/webhooks/ creates a webhook and shows its secret", async () => {
  const server = new TestServer();
  const { eventId } = server.a;
  const created = await create(server, { eventIds: [eventId.toUpperCase()] });
  const members = { id: created.id, url: URL, events: ["change"], eventIds: [eventId] };
  const secret = expect.stringMatching(SECRET) as string;
  expect(created).toEqual({ ...members, active: true, secret });
  const other = await create(server);
  expect(other.secret).not.toBe(created.secret);
  const post = (body: object, by?: CallOptions) => server.post(WEBHOOKS, body, by);
  expectProblem(await post({ events: ["change"] }), invalid("url NOT_NULL"));
  expectProblem(await post({ url: URL }), invalid("events NOT_NULL"));
  expectProblem(await post({ url: URL, events: [] }), invalid("events SIZE"));
  expectProblem(await post({ url: URL, events: ["sale"] }), invalid("events[0] ENUM"));
  expectProblem(await post({ url: "https://10.0.0.1/", events: ["change"] }), invalid("url URL"));
  expectProblem(
    await post({ url: "http://odeon.example/", events: ["change"] }),
    invalid("url URL"),
  );
  expectProblem(await post({ url: URL, events: ["change"] }, {}), DENIED);
});

test("another organization's event is refused, whoever asks", async () => {
  const server = new TestServer();
  const body = { url: URL, events: ["change"], eventIds: [server.b.eventId] };
  const refused = { status: 403, errorCode: "EVENT_ACCESS_DENIED" };
  expect((await server.post(WEBHOOKS, body)).body).toMatchObject(refused);
  const { id } = await create(server);
  expect((await server.put(WEBHOOKS, { ...body, id })).body).toMatchObject(refused);
});

test("a repetition with its Idempotency-Key gets the first answer without the secret", async () => {
  const server = new TestServer();
  const byKey = keyed(server, "hook-1");
  const { secret, ...created } = await create(server, {}, byKey);
  expect(secret).toMatch(SECRET);
  expect(await create(server, {}, byKey)).toEqual(created);
  const rotate = `${WEBHOOKS}${created.id}/rotate`;
  const rotation = keyed(server, "rotate-1");
  const first = await server.post<WebhookBody>(rotate, {}, rotation);
  expect(first.body.secret).toMatch(SECRET);
  expect((await server.post(rotate, {}, rotation)).body).toEqual({});
  const log = JSON.stringify(server.journal.kept);
  for (const shown of [secret!, first.body.secret!]) expect(log).not.toContain(shown);
});

test("PUT /api/private/v2.0/webhooks/ replaces all members", async () => {
  const server = new TestServer();
  const { id } = await create(server, { eventIds: [server.a.eventId], active: false });
  const changed = { id, url: `${URL}/2`, events: ["status", "soldout"] };
  const reply = await server.put(WEBHOOKS, changed);
  expect([reply.status, reply.body]).toEqual([200, { ...changed, eventIds: [], active: true }]);
  expectProblem(await server.put(WEBHOOKS, { ...changed, id: null }), invalid("id NOT_NULL"));
  expectProblem(await server.put(WEBHOOKS, { ...changed, id: NO_ID }), NOT_FOUND);
  expectProblem(await server.put(WEBHOOKS, changed, server.b), DENIED);
  const url = "https://[::1]/";
  expectProblem(await server.put(WEBHOOKS, { ...changed, url }), invalid("url URL"));
});

test("a webhook is read, listed and deleted by its organization alone", async () => {
  const server = new TestServer();
  const { secret: _, ...created } = await create(server);
  await create(server, {}, server.b);
  const target = `${WEBHOOKS}${created.id}`;
  expect((await server.get(target)).body).toEqual(created);
  const list = await server.get<PageBody<WebhookBody>>(WEBHOOKS);
  expectPage(list, { total: 1, count: 1 });
  expect(list.body.content).toEqual([created]);
  for (const path of [target, `${target}/deliveries/`]) {
    expect((await server.get(path, server.b)).status).toBe(403);
    expect((await server.get(path.replace(/\/\d+/, "/999999"))).status).toBe(404);
  }
  const deliveries = await server.get<PageBody<unknown>>(`${target}/deliveries/`);
  expectPage(deliveries, { total: 0, count: 0 });
  expectProblem(await server.get(`${target}/deliveries/?size=0`), invalid("size RANGE"));
  expect((await server.delete(target, server.b)).status).toBe(403);
  expect((await server.delete(target)).status).toBe(204);
  expect((await server.get(target)).status).toBe(404);
});

test("a list of deliveries that cannot be read now is refused", async () => {
  const server = new TestServer();
  const { webhooks } = server.services;
  Object.assign(server.services, { webhooks: { ...webhooks, list: () => Promise.resolve(null) } });
  const { id } = await create(server);
  const reply = await server.get(`${WEBHOOKS}${id}/deliveries/`);
  expectProblem(reply, { status: 503, errorCode: "OVERLOADED" });
});

test("a webhook names a thousand events at most", async () => {
  const server = new TestServer();
  const named = (count: number) => {
    const eventIds = Array.from({ length: count }, () => server.a.eventId);
    return server.post(WEBHOOKS, { url: URL, events: ["change"], eventIds });
  };
  expect((await named(1_000)).status).toBe(201);
  expectProblem(await named(1_001), invalid("eventIds SIZE"));
});
