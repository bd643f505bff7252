/** The error catalogue agrees with the table of refusals and with the server's answers. */
import { beforeAll, expect, test } from "vitest";
import { ERROR_ENTRIES } from "../../../server/docs/pages.ts";
import { schemaName } from "../../../server/docs/openapi.ts";
import { REPLIES } from "../../../server/http/answers.ts";
import { type CallOptions, type ProblemBody, type Reply } from "../../support/answers/exchange.ts";
import { BAD_KEYS_MAX, MANAGEMENT, TestServer, V2 } from "../../support/server.ts";

const CODES = [...new Set(Object.values(REPLIES).map(({ errorCode }) => errorCode))].sort();
const server = new TestServer();
const { a, b, tenantToken } = server;
const key = { key: a.key };
const tenant = { key: tenantToken };

test("every code of the table has an entry, and no other", () => {
  expect(Object.keys(ERROR_ENTRIES).sort()).toEqual(CODES);
});

test.each(CODES)("the page of %s has its status, cause, advice and an example", async (code) => {
  const { text } = await server.call<string>("GET", `/docs/errors/${code}`);
  const { status } = Object.values(REPLIES).find(({ errorCode }) => errorCode === code)!;
  expect(text.replaceAll("<wbr>", "")).toContain(`<h1 id="${code.toLowerCase()}">${code}</h1>`);
  expect(text).toContain(`<strong>${status}</strong>`);
  expect(text).toMatch(/id="what-the-client-does"[^]*id="example"/);
  const [, example = ""] = /<pre><code>([^]*?)<\/code>/.exec(text)!;
  const json = example.replaceAll(/<[^>]*>/g, "").replaceAll("&quot;", '"');
  const problem = JSON.parse(json) as ProblemBody;
  expect(problem).toMatchObject({ type: `/docs/errors/${code}`, status, errorCode: code });
  expect(Object.keys(problem)).toEqual(Object.keys((await server.call("GET", "/no")).body));
});

test("a code that v1 answers with 400 in place of its status says so", async () => {
  const { body } = await server.get<{
    paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
  }>("/openapi.json");
  const v1 = Object.entries(body.paths).filter(([target]) => target.includes("/v1.0/"));
  const operations = v1.flatMap(([, methods]) => Object.values(methods));
  const invalid = JSON.stringify(operations.map(({ responses }) => responses?.["400"]));
  const translated = CODES.filter((code) => {
    const usual = Object.values(REPLIES).find(({ errorCode }) => errorCode === code)!.status;
    return usual !== 400 && invalid.includes(`/schemas/${schemaName(code)}"`);
  });
  expect(translated).toContain("ENTITY_NOT_FOUND");
  for (const code of translated) {
    expect(ERROR_ENTRIES[code]!.client, code).toMatch(/In v1 the status of this answer is 400/);
  }
});

const EVENT = { schemaId: a.schemaId, start: "2030-05-01T20:00", endDate: "2030-05-01T23:00" };
const pick = (...labels: string[]) => ({
  seats: labels.map((name) => ({ id: a.labels.idOf(name) })),
});

function book(call: string, body: unknown, options: CallOptions = {}) {
  const target = `${V2}/booking/${call}?eventId=${a.eventId}`;
  return server.call("POST", target, { ...key, body, ...options });
}

function set(settings: Readonly<Record<string, boolean>>) {
  const target = `${MANAGEMENT}/organizations/${a.id}/settings`;
  return server.call("PUT", target, { ...tenant, body: settings });
}

function createOrganization(name: string, email: string) {
  const body = { name, email, firstName: "A", lastName: "B", password: "correct horse" };
  return server.call<{ id: number }>("POST", `${MANAGEMENT}/organizations/`, { ...tenant, body });
}

function changeStatus(eventId: string, status: string) {
  return server.call("POST", `${V2}/events/${eventId}/status`, { ...key, body: { status } });
}

async function createEvent(more: object = {}): Promise<string> {
  const body = { ...EVENT, name: "Another", ...more };
  return (await server.call<{ id: string }>("POST", `${V2}/events/`, { ...key, body })).body.id;
}

/** A refused request for each code, except those with need of a fault or a socket. */
const WAYS: Readonly<Record<string, () => Promise<Reply>>> = {
  VALIDATION_FAILED: () => server.call("POST", `${V2}/events/`, { ...key, body: EVENT }),
  MALFORMED_REQUEST: () => book("lock", "{"),
  ACCESS_DENIED: () => server.call("GET", `${V2}/events/`),
  EVENT_ACCESS_DENIED: () => book("lock", pick("A1"), { key: b.key }),
  ENTITY_NOT_FOUND: () => {
    return server.call("GET", `${V2}/events/6f1c8f0e-58a5-4b0e-9a5d-0b8f3c1d2e4f`, key);
  },
  METHOD_NOT_ALLOWED: () => server.call("DELETE", `${V2}/booking/lock`, key),
  UNSUPPORTED_MEDIA_TYPE: () => book("lock", "x", { headers: { "content-type": "text/plain" } }),
  ORGANIZATION_DISABLED: async () => {
    await set({ bookingEnabled: false });
    const reply = await book("lock", pick("A1"));
    await set({ bookingEnabled: true });
    return reply;
  },
  SALES_CONTROL_REQUIRED: async () => {
    await set({ salesControl: false });
    const reply = await book("sale", pick("A1"));
    await set({ salesControl: true });
    return reply;
  },
  ORPHAN_SEAT: async () => {
    await set({ orphanPrevention: true });
    const reply = await book("lock", pick("B2"));
    await set({ orphanPrevention: false });
    return reply;
  },
  EVENT_NOT_PUBLISHED: async () => {
    const target = `${V2}/booking/directsale?eventId=${await createEvent({ status: "DRAFT" })}`;
    return server.call("POST", target, { ...key, body: pick("A1") });
  },
  INVALID_STATUS_TRANSITION: async () => {
    return changeStatus(await createEvent({ status: "DRAFT" }), "ARCHIVED");
  },
  INVENTORY_NOT_AVAILABLE: async () => {
    await book("directsale", pick("A6"));
    const areas = [{ id: a.labels.idOf("Pit"), capacity: 1_000 }];
    const seats = pick("A5", "A6").seats;
    return book("lock", { seats, groupOfSeats: areas });
  },
  INVENTORY_IN_USE: async () => {
    await book("lock", pick("A5"));
    return server.call("DELETE", `${V2}/event/${a.eventId}/prices/${a.priceId}`, key);
  },
  ENTITY_IN_USE: () => server.call("DELETE", `${V2}/venues/${a.venueId}`, key),
  DUPLICATE_NAME: async () => {
    await createOrganization("Odeon", "bea@odeon.example");
    return createOrganization("Odeon", "ann@odeon.example") as unknown as Promise<Reply>;
  },
  ACCOUNT_EMAIL_IN_USE: async () => {
    const foreign = { key: server.otherTenantToken };
    const names = { firstName: "A", lastName: "B", password: "correct horse" };
    const body = { name: "Odeon", email: "cleo@odeon.example", ...names };
    await server.call("POST", `${MANAGEMENT}/organizations/`, { ...foreign, body });
    return createOrganization("Capitol", "cleo@odeon.example") as unknown as Promise<Reply>;
  },
  EVENT_BOUND_TO_SERIES: async () => {
    const series = { ...key, body: { name: "Season" } };
    const { body } = await server.call<{ id: number }>("POST", `${V2}/series/`, series);
    const id = await createEvent();
    const bound = { ...key, body: { seriesId: body.id } };
    await server.call("PUT", `${V2}/events/${id}/series`, bound);
    const moved = { ...EVENT, id, name: "Another", start: "2030-05-01T21:00" };
    return server.call("PUT", `${V2}/events/`, { ...key, body: moved });
  },
  IDEMPOTENCY_KEY_REUSED: async () => {
    const headers = { "idempotency-key": "order-1001" };
    await book("lock", pick("A1"), { headers });
    return book("lock", pick("A2"), { headers });
  },
  IDEMPOTENCY_IN_PROGRESS: async () => {
    const headers = { "idempotency-key": "order-1002" };
    server.journal.withholds = true;
    const first = book("lock", pick("A3"), { headers });
    const second = book("lock", pick("A3"), { headers });
    server.journal.withholds = false;
    server.journal.sync();
    await first;
    return second;
  },
  RATE_LIMITED: async () => {
    for (let i = 0; i < BAD_KEYS_MAX; i++) await server.call("GET", `${V2}/events/`);
    return server.call("GET", `${V2}/events/`);
  },
};

/** Ids and counts are of the moment. */
function shapeOf(detail: string, errors: ProblemBody["errors"]): object {
  const plain = (text: string) => text.replaceAll(/[\da-f]{8}-[\da-f-]{27}|\d+/g, "N");
  const shapes = errors.map(({ field, code, message }) => `${field} ${code} ${plain(message)}`);
  return { detail: plain(detail), errors: shapes };
}

let answers: ReadonlyMap<string, Reply>;

beforeAll(async () => {
  const replies = new Map<string, Reply>();
  // One after the other: the last one uses up the requests with a bad key.
  for (const [code, provoke] of Object.entries(WAYS)) replies.set(code, await provoke());
  answers = replies;
});

test.each(Object.keys(WAYS))("the example of %s is what the server answers", (code) => {
  const { status, body } = answers.get(code)!;
  const { detail, errors = [] } = ERROR_ENTRIES[code]!.example;
  expect([status < 500, body.errorCode]).toEqual([true, code]);
  const example = shapeOf(detail, errors);
  expect(shapeOf(body.detail, body.errors)).toEqual(example);
});
