/** Callers: every kind of credentials on every kind of path. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { ActorKind } from "../../../engine/records.ts";
import { isRefused } from "../../../engine/results.ts";
import { Access, bearerOf, identify } from "../../../server/auth/access.ts";
import { actingFor, ADDRESS, type CallOptions } from "../../support/answers/exchange.ts";
import { BAD_KEYS_MAX, MANAGEMENT, TestServer, V2 } from "../../support/server.ts";
import { DENIED, expectProblem } from "../wire/wire.ts";

const ORGANIZATIONS = `${MANAGEMENT}/organizations/`;
const V1_EVENTS = "/api/private/v1.0/events/";

interface Created {
  readonly id: number;
  readonly privateKey: string;
}

const server = new TestServer();
const { a, b, c, tenantToken, otherTenantToken } = server;
const tenantId = a.caller.tenantId;

interface Shown {
  readonly key?: string;
  readonly authorization?: string;
  readonly organizationId?: string | number;
  readonly orgId?: string | number;
}

/** Actor, tenant and organization, as `ORGANIZATION 7 of 1 for 7`. */
function who(access: Access, { key = "", authorization = "", ...rest }: Shown): string {
  const organizationId = String(rest.organizationId ?? "");
  const orgId = rest.orgId === undefined ? null : String(rest.orgId);
  const credentials = { apiKey: key, authorization, organizationId };
  const found = identify(server.services, access, credentials, orgId);
  if (isRefused(found)) return found.errors === undefined ? "denied" : "invalid";
  const kind = Object.entries(ActorKind).find(([, code]) => code === found.actor.kind)![0];
  return `${kind} ${found.actor.id} of ${found.tenantId} for ${found.organizationId}`;
}

const { PUBLIC, ORGANIZATION, EDITOR, TENANT, TENANT_ORGANIZATION } = Access;
const GUARDED = [ORGANIZATION, EDITOR, TENANT, TENANT_ORGANIZATION];
const OF_A = `ORGANIZATION ${a.id} of ${tenantId} for ${a.id}`;
const FOR_A = `TENANT ${tenantId} of ${tenantId} for ${a.id}`;
const ALONE = `TENANT ${tenantId} of ${tenantId} for 0`;
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

test("a public path ignores all credentials", () => {
  for (const shown of [{}, { key: "x" }, { key: a.key }, { organizationId: "abc" }]) {
    expect(who(PUBLIC, shown)).toBe("SYSTEM 0 of 0 for 0");
  }
});

const NONE = ["denied", "denied", "denied", "denied"];
const EVERYWHERE = [FOR_A, FOR_A, FOR_A, FOR_A];

/** Credentials, and who they stand for on the paths of each kind, in the order of `GUARDED`. */
const MATRIX: readonly (readonly [string, Shown, readonly string[]])[] = [
  ["nothing", {}, NONE],
  ["an unknown key", { key: "fro_1_x" }, NONE],
  ["the key of A", { key: a.key }, [OF_A, OF_A, "denied", "denied"]],
  ["the key of A as bearer", bearer(a.key), [OF_A, OF_A, "denied", "denied"]],
  ["the key of A naming A", { key: a.key, organizationId: a.id }, [OF_A, OF_A, "denied", "denied"]],
  ["the key of A naming B", { key: a.key, organizationId: b.id }, NONE],
  ["the key of A with orgId B", { key: a.key, orgId: b.id }, [OF_A, "denied", "denied", "denied"]],
  ["a tenant token", { key: tenantToken }, ["denied", "denied", ALONE, "denied"]],
  ["a tenant token naming A", { key: tenantToken, organizationId: a.id }, EVERYWHERE],
  [
    "a tenant token with orgId A",
    { key: tenantToken, orgId: a.id },
    ["denied", FOR_A, ALONE, "denied"],
  ],
  [
    "a tenant token naming A with orgId C",
    { key: tenantToken, organizationId: a.id, orgId: c.id },
    EVERYWHERE,
  ],
  ["a tenant token naming C", { key: tenantToken, organizationId: c.id }, NONE],
  ["the other tenant's token naming A", { key: otherTenantToken, organizationId: a.id }, NONE],
  ["a wrong key with a valid bearer", { key: "wrong", ...bearer(a.key) }, NONE],
  [
    "the key of A naming a word",
    { key: a.key, organizationId: "A" },
    ["invalid", "invalid", "invalid", "invalid"],
  ],
  ["an unknown key naming a word", { key: "x", organizationId: "A" }, NONE],
];

test.each(MATRIX)("%s is accepted or denied by the kind of path", (_, shown, expected) => {
  expect(GUARDED.map((access) => who(access, shown))).toEqual(expected);
});

test("a bearer token is one word after the scheme, which may have any letter case", () => {
  const cases: [string, string][] = [
    ["Bearer abc", "abc"],
    ["bearer   abc", "abc"],
    ["BEARER a.b-c_d", "a.b-c_d"],
    ["", ""],
    ["Bearer", ""],
    ["Bearer ", ""],
    ["Bearer a b", ""],
    ["Basic abc", ""],
    ["abc", ""],
    ["xBearer abc", ""],
  ];
  for (const [text, token] of cases) expect([text, bearerOf(text)]).toEqual([text, token]);
});

test("many bad keys from one address are limited for a minute; a good key is not", async () => {
  const guarded = new TestServer();
  const path = `${V2}/venues/`;
  const guess = (i: number) => guarded.get(path, { key: `fro_1_${i}` });
  expect((await guess(1)).status).toBe(403);
  const { badKeys, engine } = guarded.services;
  for (let i = 2; i < BAD_KEYS_MAX; i++) badKeys.failed(ADDRESS, engine.nowMs());
  expect((await guess(2)).status).toBe(403);
  const limited = await guess(BAD_KEYS_MAX);
  expectProblem(limited, { status: 429, errorCode: "RATE_LIMITED" });
  expect(limited.headers["Retry-After"]).toBe("60");
  expect((await guarded.get(path)).status).toBe(200);
  // A guess that is refused does not prolong the minute.
  guarded.world.clock.timeMs += 59_999;
  expect((await guess(0)).status).toBe(429);
  guarded.world.clock.timeMs += 1;
  expect((await guess(0)).status).toBe(403);
});

test("the private key of an organization opens v1 paths, and no others", async () => {
  const guarded = new TestServer();
  const by = { key: guarded.tenantToken };
  const person = { email: "x@x.example", firstName: "X", lastName: "Y", password: "long enough" };
  const create = async (name: string) =>
    (await guarded.post<Created>(ORGANIZATIONS, { name, ...person }, by)).body;
  const status = async (path: string, options: CallOptions) =>
    (await guarded.get(path, options)).status;
  const first = await create("First");
  const { privateKey: key } = first;
  expect(await status(V1_EVENTS, { key })).toBe(200);
  expect(await status(V1_EVENTS, { headers: { authorization: `Bearer ${key}` } })).toBe(200);
  expect(await status(V1_EVENTS, actingFor(key, first))).toBe(200);
  expect(await status(V1_EVENTS, actingFor(key, guarded.a))).toBe(403);
  for (const path of [`${V2}/events/`, `/api/seatmap/${guarded.a.schemaId}/`, ORGANIZATIONS]) {
    expect([path, await status(path, { key })]).toEqual([path, 403]);
  }
  expect(await status(V1_EVENTS, guarded.a)).toBe(200);
  const second = await create("Second");
  expect(await status(V1_EVENTS, { key: second.privateKey })).toBe(200);
  await guarded.delete(`${ORGANIZATIONS}${first.id}`, by);
  expect(await status(V1_EVENTS, { key })).toBe(403);
  expect(await status(V1_EVENTS, { key: randomUUID() })).toBe(403);
});

test("a refused key → told what to send, and never whether another's organization exists", async () => {
  const events = `${V2}/events/`;
  const as = (key: string, organization?: number | string): CallOptions => {
    return organization === undefined ? { key } : actingFor(key, { id: Number(organization) });
  };
  const cases: readonly (readonly [what: string, by: CallOptions, detail: RegExp])[] = [
    ["no key", {}, /missing: send it in X-API-Key/],
    ["an unknown key", as("wrong"), /not known here/],
    ["the key of another server", as(`${a.key.slice(0, -3)}xyz`), /not known here/],
    ["the tenant token alone", as(tenantToken), /send X-Organization-ID with the tenant token/],
    [
      "the tenant token for another's",
      as(tenantToken, c.id),
      /names no organization of the tenant/,
    ],
    ["the tenant token for none", as(tenantToken, 999_999), /names no organization of the tenant/],
    ["a key for another organization", as(a.key, b.id), /another organization than the API key/],
    ["a key for another tenant's", as(a.key, c.id), /another organization than the API key/],
    ["a key for none", as(a.key, 999_999), /another organization than the API key/],
  ];
  const details = new Set<string>();
  for (const [what, by, detail] of cases) {
    const reply = await server.get(events, by);
    expectProblem(reply, DENIED);
    expect([what, reply.body.detail]).toEqual([what, expect.stringMatching(detail) as string]);
    details.add(reply.body.detail);
  }
  expect(details.size).toBe(5);
});

test("an organization's key on a tenant's path is told to use the tenant token", async () => {
  const paths = [ORGANIZATIONS, `${MANAGEMENT}/hold-types/`, `${MANAGEMENT}/session-config/`];
  for (const path of paths) {
    const reply = await server.get(path);
    expectProblem(reply, DENIED);
    expect(reply.body.detail).toContain("tenant token");
    expect((await server.get(path, { key: "wrong" })).body.detail).not.toContain("tenant token");
  }
});
