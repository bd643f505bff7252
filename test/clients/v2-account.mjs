// Topics of the v2 client: organizations, logins, keys, settings and tenants.

import assert from "node:assert/strict";
import { MANAGEMENT, V2, caller, withKey, step, done } from "./v2-kit.mjs";
import { forbidden, invalid, members, missing, page, problem } from "./v2-kit.mjs";

const PASSWORD = "correct horse battery";
const ORGANIZATION = {
  id: "long",
  name: "text",
  publicKey: "uuid",
  privateKey: "uuid",
  domain: "string?",
  autologinEnabled: "boolean",
  appendDomainToLogin: "boolean",
  type: "text",
  tenantId: "long",
};

const person = (world, name) => ({
  name: `${name} ${world.run}`,
  email: `${name}.${world.run}@example.com`.toLowerCase(),
  firstName: "Ann",
  lastName: "Lee",
  password: PASSWORD,
});

/** Creates an organization. */
async function found(world, name, more) {
  const asked = { ...person(world, name), ...more };
  const made = done(await world.manage.post("/organizations/", asked), 201);
  members(made, { ...ORGANIZATION, secretKey: "text" });
  assert.ok(["VENUE", "DEFAULT"].includes(made.type));
  assert.equal(made.name, asked.name);
  assert.ok(!("password" in made));
  return { ...made, email: asked.email };
}

export async function organizations(world) {
  await step("an organization is created", async () => {
    world.organization = await found(world, "Odeon");
    world.api = withKey(V2, world.organization.secretKey);
    const named = { "X-Organization-ID": String(world.organization.id) };
    world.manageOwn = withKey(MANAGEMENT, world.token, named);
  });
  const { id, email } = world.organization;
  await step("an organization is read by id", async () => {
    const read = done(await world.manage.get(`/organizations/${id}`));
    members(read, ORGANIZATION);
    const { secretKey: _secret, email: _email, ...rest } = world.organization;
    for (const member of Object.keys(ORGANIZATION)) assert.deepEqual(read[member], rest[member]);
    missing(await world.manage.get("/organizations/999999999"));
  });
  await step("organizations are listed, sorted and paged", async () => {
    await found(world, "Second", { email: email.toUpperCase(), password: "is ignored" });
    const answer = await world.manage.get("/organizations/?size=1&sort=id,desc&sort=name,asc");
    const [newest] = page(answer, { size: 1 });
    members(newest, ORGANIZATION);
    assert.equal(newest.name, `Second ${world.run}`);
    assert.ok(!("secretKey" in newest));
    page(await world.manage.get("/organizations/"));
  });
  await step("an organization is renamed and deleted", async () => {
    const third = await found(world, "Third");
    const { secretKey, email: _email, ...whole } = third;
    const renamed = { ...whole, name: `Renamed ${world.run}`, domain: "example.com" };
    const put = done(await world.manage.put("/organizations/", renamed));
    assert.equal(put.name, renamed.name);
    assert.equal(put.domain, "example.com");
    assert.equal(put.publicKey, third.publicKey);
    const twin = { ...whole, name: world.organization.name };
    problem(await world.manage.put("/organizations/", twin), 409, "DUPLICATE_NAME");
    missing(await world.manage.put("/organizations/", { ...renamed, id: 999999999 }));
    done(await world.manage.delete(`/organizations/${third.id}`), 204);
    missing(await world.manage.get(`/organizations/${third.id}`));
    missing(await world.manage.delete(`/organizations/${third.id}`));
    forbidden(await withKey(V2, secretKey).get("/events/"));
  });
  await step("public sessions are configured for the organization of the header", async () => {
    const on = { publicSessionsEnabled: true };
    const put = done(await world.manageOwn.put("/session-config/", on));
    assert.equal(put.publicSessionsEnabled, true);
    invalid(await world.manageOwn.put("/session-config/", {}), "publicSessionsEnabled");
  });
}

const auth = caller("/api/auth", {});

const signIn = (username, password) => auth.post("/login", { username, password });

function checkLogin(world, body) {
  assert.equal(body.success, true);
  members(body, { token: "text", refreshToken: "text", user: "object", organizations: "array" });
  members(body.user, { id: "long", email: "text", name: "text", organizationId: "long" });
  assert.equal(body.user.email, world.organization.email);
  assert.ok(!("tenantToken" in body), "tenantToken is for super admins only");
  const own = body.organizations.find(({ id }) => id === world.organization.id);
  assert.equal(own.name, world.organization.name);
  assert.equal(own.secretKey, world.organization.secretKey);
}

export async function login(world) {
  const { email } = world.organization;
  world.signIn = async () => done(await signIn(email, PASSWORD));
  await step("the administrator logs in and gets the secret key", async () => {
    world.session = done(await signIn(email, PASSWORD));
    checkLogin(world, world.session);
    page(await withKey(V2, world.session.organizations[0].secretKey).get("/events/"));
  });
  await step("a token is refreshed, shows its user, and ends at logout", async () => {
    const { refreshToken } = world.session;
    const again = done(await auth.post("/refresh", { refreshToken }));
    checkLogin(world, again);
    const bearer = { Authorization: `Bearer ${again.token}` };
    const user = done(await auth.get("/user/", bearer));
    assert.match(JSON.stringify(user), new RegExp(email));
    done(await auth.post("/logout", { refreshToken: again.refreshToken }), 204);
    const ended = done(await auth.post("/refresh", { refreshToken: again.refreshToken }), 401);
    assert.equal(ended.success, false);
    assert.equal(done(await auth.get("/user/", bearer), 401).success, false);
    assert.equal(done(await auth.get("/user/"), 401).success, false);
  });
}

export async function keys(world) {
  const old = world.organization.secretKey;
  await step("after a rotation the old key works until the end of its grace period", async () => {
    const { secretKey } = done(await world.api.post("/keys/rotate", { graceSeconds: 3600 }));
    assert.notEqual(secretKey, old);
    page(await withKey(V2, old).get("/events/"));
    page(await withKey(V2, secretKey).get("/events/"));
    world.api = withKey(V2, secretKey);
  });
  await step("a login shows the newest key", async () => {
    const session = done(await signIn(world.organization.email, PASSWORD));
    const own = session.organizations.find(({ id }) => id === world.organization.id);
    page(await withKey(V2, own.secretKey).get("/events/"));
    invalid(await world.api.post("/keys/rotate", { graceSeconds: -1 }), "graceSeconds");
  });
}

export async function holdTypes(world) {
  const { manage, manageOwn, organization } = world;
  await step("an organization sets its hold types", async () => {
    const types = [
      { name: "SHORT", ttlSeconds: 1 },
      { name: "FOREVER", ttlSeconds: null },
    ];
    done(await manageOwn.put("/hold-types/", types));
    done(await manageOwn.get("/hold-types/"));
    done(await manageOwn.get("/session-config/"));
    invalid(await manageOwn.put("/hold-types/", [{ ttlSeconds: 1 }]), "[0].name");
  });
  await step("the settings of an organization are changed", async () => {
    const asked = { salesControl: true, bookingEnabled: true, orphanPrevention: false };
    const put = done(await manage.put(`/organizations/${organization.id}/settings`, asked));
    assert.deepEqual({ ...put, ...asked }, put);
    assert.deepEqual(done(await manage.get(`/organizations/${organization.id}/settings`)), put);
  });
}

/** Needs the operator: PLATFORM_TOKEN. */
export async function tenants(world) {
  const platform = process.env.PLATFORM_TOKEN;
  if (platform === undefined) return;
  const admin = withKey("/api/admin", platform);
  const email = `root.${world.run}@example.com`;
  let tenant;
  await step("the operator creates a tenant", async () => {
    const asked = { name: `Tenant ${world.run}`, adminEmail: email, adminPassword: PASSWORD };
    tenant = done(await admin.post("/tenants/", asked), 201);
    members(tenant, { id: "long", name: "text", tenantToken: "text" });
    done(await admin.get("/tenants/"));
    forbidden(await withKey("/api/admin", world.token).get("/tenants/"));
  });
  const manage = withKey(MANAGEMENT, tenant.tenantToken);
  await step("an organization leaves its cell in parts, which no other cell takes", async () => {
    const touring = await found({ ...world, manage }, "Touring");
    const move = `/organizations/${touring.id}/move`;
    assert.equal(done(await admin.get(move)).phase, "HERE");
    const before = done(await admin.get(`${move}/parts/0`));
    const begin = { step: "begin", toCell: 7, address: "https://cell-7.example.com" };
    assert.equal(done(await admin.post(move, begin)).phase, "LEAVING");
    const { content } = done(await admin.get(`${move}/parts/0`));
    done(await admin.post(move, { step: "cancel" }));
    done(await manage.delete(`/organizations/${touring.id}`), 204);
    const arriving = await admin.put(`${move}/parts/0`, { content, tenantId: tenant.id });
    problem(arriving, 409, "INVALID_STATUS_TRANSITION");
    const trial = { content: before.content, tenantId: tenant.id, isTrial: true };
    assert.equal(done(await admin.put(`${move}/parts/0`, trial)).phase, "ABSENT");
    assert.equal(done(await admin.get(move)).phase, "ABSENT");
  });
  await step(
    "after a rotation the old tenant token works until the end of its grace period",
    async () => {
      assert.equal(done(await signIn(email, PASSWORD)).tenantToken, tenant.tenantToken);
      const next = done(await manage.post("/keys/rotate", { graceSeconds: 3600 })).tenantToken;
      assert.notEqual(next, tenant.tenantToken);
      page(await manage.get("/organizations/"));
      page(await withKey(MANAGEMENT, next).get("/organizations/"));
    },
  );
}
