/** What the operator's rows for moves refuse, between two servers with the same secret. */
import { beforeEach, expect, test } from "vitest";
import { TestServer } from "../../support/server.ts";

const TOKEN = "a-platform-token-of-the-test";
const PEOPLE = { firstName: "Ann", lastName: "Lee", password: "a long password" };
const NAME = "Touring company";
const EMAIL = "ann@touring.example";

let from: TestServer;
let to: TestServer;

beforeEach(() => {
  from = new TestServer({ platformToken: TOKEN });
  to = new TestServer({ platformToken: TOKEN });
});

async function create(server: TestServer, key: string, name: string, email: string) {
  const body = { name, email, ...PEOPLE };
  const path = "/api/private/management/v2.0/organizations/";
  const reply = await server.call<{ readonly id: number }>("post", path, { key, body });
  expect(reply.status).toBe(201);
  return reply.body.id;
}

const moveOf = (id: number | string) => `/api/admin/organizations/${id}/move`;

/** @returns The first part of a new organization that leaves, and the path where it arrives. */
async function leaving() {
  // Its id is that of no organization of the other server.
  await create(from, from.tenantToken, "Filler", "filler@touring.example");
  const id = await create(from, from.tenantToken, NAME, EMAIL);
  const begin = { step: "begin", address: "https://cell-7.tickets.example" };
  expect((await from.call("post", moveOf(id), { key: TOKEN, body: begin })).status).toBe(200);
  const part = await from.call<{ readonly content: string }>("get", `${moveOf(id)}/parts/0`, {
    key: TOKEN,
  });
  expect(part.status).toBe(200);
  return { path: `${moveOf(id)}/parts/0`, content: part.body.content };
}

async function arrive({ path, content }: { readonly path: string; readonly content: string }) {
  const { tenantId } = to.a.caller;
  return to.call("put", path, { key: TOKEN, body: { content, tenantId } });
}

test("an id that is no number, and a body without its members, are refused", async () => {
  for (const [method, path] of [
    ["get", moveOf("x")],
    ["post", moveOf(1)],
    ["get", `${moveOf("x")}/parts/0`],
    ["put", `${moveOf(1)}/parts/0`],
  ] as const) {
    const body = method === "get" ? undefined : {};
    const reply = await to.call(method, path, { key: TOKEN, body });
    expect([path, reply.status, reply.body.errorCode]).toEqual([path, 400, "VALIDATION_FAILED"]);
  }
});

test("a tenant may not move an organization", async () => {
  for (const [method, path, body] of [
    ["get", moveOf(1), undefined],
    ["post", moveOf(1), { step: "cancel" }],
    ["get", `${moveOf(1)}/parts/0`, undefined],
    ["put", `${moveOf(1)}/parts/0`, { content: "" }],
  ] as const) {
    const reply = await to.call(method, path, { key: to.tenantToken, body });
    expect([path, reply.status, reply.body.errorCode]).toEqual([path, 403, "ACCESS_DENIED"]);
  }
});

test("an organization does not arrive where its name is taken", async () => {
  const part = await leaving();
  await create(to, to.tenantToken, NAME, "other@touring.example");
  expect(await arrive(part)).toMatchObject({ status: 409, body: { errorCode: "DUPLICATE_NAME" } });
});

test("an organization does not arrive where another tenant has its account", async () => {
  const part = await leaving();
  await create(to, to.otherTenantToken, "Another", EMAIL);
  const errorCode = "ACCOUNT_EMAIL_IN_USE";
  expect(await arrive(part)).toMatchObject({ status: 409, body: { errorCode } });
});

test("the first part begins an arrival, which can be taken back", async () => {
  const part = await leaving();
  expect(await arrive(part)).toMatchObject({ status: 200, body: { phase: "ARRIVING" } });
  const move = part.path.replace("/parts/0", "");
  const cancel = { key: TOKEN, body: { step: "cancel" } };
  expect(await to.call("post", move, cancel)).toMatchObject({ body: { phase: "ABSENT" } });
});

test("a part does not arrive at the place of another one", async () => {
  const { path, content } = await leaving();
  const errorCode = "INVALID_STATUS_TRANSITION";
  const reply = await arrive({ path: path.replace(/0$/, "1"), content });
  expect(reply).toMatchObject({ status: 409, body: { errorCode } });
});
