// Topics of the v2 client: organizations, accounts, logins, keys, isolation of organizations.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { MANAGEMENT, V2, caller, withKey, step, done } from "./v2-kit.mjs";
import { forbidden, invalid, members, missing, page, problem } from "./v2-kit.mjs";
import { onSale } from "./v2-stage.mjs";

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
  const { id, name, email } = world.organization;
  await step("an organization is read by id", async () => {
    const read = done(await world.manage.get(`/organizations/${id}`));
    members(read, ORGANIZATION);
    const { secretKey: _secret, email: _email, ...rest } = world.organization;
    for (const member of Object.keys(ORGANIZATION)) assert.deepEqual(read[member], rest[member]);
    missing(await world.manage.get("/organizations/999999999"));
  });
  await step("a duplicate name is 409", async () => {
    const twin = { ...person(world, "Twin"), name };
    problem(await world.manage.post("/organizations/", twin), 409, "DUPLICATE_NAME");
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
    problem(await world.manage.put("/organizations/", { ...whole, name }), 409, "DUPLICATE_NAME");
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
  await step("an account has all organizations of its email", () => {
    const names = world.session.organizations.map(({ name }) => name).toSorted();
    assert.deepEqual(names, [`Odeon ${world.run}`, `Second ${world.run}`]);
  });
  await step("a wrong password and an unknown account get the same 401", async () => {
    const wrong = done(await signIn(email, "is ignored"), 401);
    const unknown = done(await signIn(`nobody.${world.run}@example.com`, "is ignored"), 401);
    assert.equal(wrong.success, false);
    members(wrong, { error: "text" });
    assert.deepEqual(unknown, wrong);
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

export async function accounts(world) {
  await step("five wrong passwords close an account for a minute", async () => {
    const other = await found(world, "Closed");
    for (let count = 0; count < 5; count += 1) done(await signIn(other.email, "wrong"), 401);
    assert.equal(done(await signIn(other.email, PASSWORD), 429).success, false);
  });
  await step("a missing or wrong key is 403", async () => {
    forbidden(await caller(V2, {}).get("/events/"));
    forbidden(await withKey(V2, "fro_1_nothing").get("/events/"));
    forbidden(await withKey(V2, world.organization.privateKey).get("/events/"));
    forbidden(await withKey(MANAGEMENT, world.organization.secretKey).get("/organizations/"));
  });
  await step("the tenant token acts for the organization of the header", async () => {
    const { id } = world.organization;
    page(await withKey(V2, world.token, { "X-Organization-ID": String(id) }).get("/events/"));
    forbidden(await withKey(V2, world.token).get("/events/"));
    forbidden(await withKey(V2, world.token, { "X-Organization-ID": "99999999" }).get("/events/"));
  });
}

export async function isolation(world) {
  const other = await found(world, "Rival");
  const rival = withKey(V2, other.secretKey);
  const show = await onSale(world, "Behind the wall");
  const { schema, venue } = world;
  await step("another organization's entities are 403, unknown ones 404", async () => {
    const paths = [
      `/events/${show.id}`,
      `/events/${show.id}/seats/`,
      `/events/${show.id}/areas/`,
      `/event/${show.id}/prices/${show.price.id}`,
      `/schemas/${schema.id}`,
      `/schemas/${schema.id}/layout`,
      `/schemas/${schema.id}/seatmaps/`,
      `/venues/${venue.id}`,
    ];
    for (const path of paths) forbidden(await rival.get(path));
    missing(await rival.get(`/events/${randomUUID()}`));
    missing(await rival.get("/schemas/999999999"));
  });
  await step("two organizations may use the same Idempotency-Key", async () => {
    const venueOf = (api) =>
      api.post("/venues/", { name: "Hall" }, { "Idempotency-Key": `hall-${world.run}` });
    const mine = done(await venueOf(world.api), 201);
    const theirs = done(await venueOf(rival), 201);
    assert.notEqual(mine.id, theirs.id);
  });
}

export async function keys(world) {
  const old = world.organization.secretKey;
  await step("a rotated key leaves the old one its grace period", async () => {
    const { secretKey } = done(await world.api.post("/keys/rotate", { graceSeconds: 3600 }));
    assert.notEqual(secretKey, old);
    page(await withKey(V2, old).get("/events/"));
    page(await withKey(V2, secretKey).get("/events/"));
    world.api = withKey(V2, secretKey);
  });
  await step("without a grace period the old key ends at once", async () => {
    const before = world.api;
    const { secretKey } = done(await before.post("/keys/rotate", {}));
    forbidden(await before.get("/events/"));
    forbidden(await withKey(V2, old).get("/events/"));
    world.api = withKey(V2, secretKey);
    page(await world.api.get("/events/"));
  });
  await step("a login shows the newest key", async () => {
    const session = done(await signIn(world.organization.email, PASSWORD));
    const own = session.organizations.find(({ id }) => id === world.organization.id);
    page(await withKey(V2, own.secretKey).get("/events/"));
    invalid(await world.api.post("/keys/rotate", { graceSeconds: -1 }), "graceSeconds");
  });
}
