// The topic of the v2 client that needs the operator: tenants, if PLATFORM_TOKEN is set.

import assert from "node:assert/strict";
import { MANAGEMENT, V2, caller, done, forbidden, members } from "./v2-kit.mjs";
import { page, problem, step, withKey } from "./v2-kit.mjs";

const platform = process.env.PLATFORM_TOKEN;
const password = "a password of eighteen";

export async function tenants(world) {
  if (platform === undefined) return;
  const admin = withKey("/api/admin", platform);
  const email = `root.${world.run}@example.com`;
  const auth = caller("/api/auth", {});
  const signIn = async () => done(await auth.post("/login", { username: email, password }));
  const person = { firstName: "Ann", lastName: "Lee", password };
  let tenant;
  await step("the operator creates a tenant", async () => {
    const asked = { name: `Tenant ${world.run}`, adminEmail: email, adminPassword: password };
    tenant = done(await admin.post("/tenants/", asked), 201);
    members(tenant, { id: "long", name: "text", tenantToken: "text" });
    done(await admin.get("/tenants/"));
    forbidden(await withKey("/api/admin", world.token).get("/tenants/"));
  });
  const manage = withKey(MANAGEMENT, tenant.tenantToken);
  await step("its super admin sees the tenant token at login", async () => {
    assert.equal((await signIn()).tenantToken, tenant.tenantToken);
  });
  await step("an account of another tenant, or of a super admin, is not reused", async () => {
    for (const taken of [world.organization.email, email]) {
      const asked = { ...person, name: `Taken ${world.run}`, email: taken };
      problem(await manage.post("/organizations/", asked), 409, "ACCOUNT_EMAIL_IN_USE");
    }
    page(await manage.get("/organizations/"), { total: 0 });
  });
  await step("a tenant cannot reach an organization of another tenant", async () => {
    const { id } = world.organization;
    forbidden(await manage.get(`/organizations/${id}`));
    forbidden(await manage.delete(`/organizations/${id}`));
    const named = { "X-Organization-ID": String(id) };
    forbidden(await withKey(V2, tenant.tenantToken, named).get("/events/"));
    const own = withKey(MANAGEMENT, tenant.tenantToken, named);
    forbidden(await own.put("/session-config/", { publicSessionsEnabled: true }));
    forbidden(await own.put("/hold-types/", []));
    forbidden(await manage.put(`/organizations/${id}/settings`, { bookingEnabled: false }));
  });
  await step("a rotated tenant token leaves the old one its grace period", async () => {
    const next = done(await manage.post("/keys/rotate", { graceSeconds: 3600 })).tenantToken;
    assert.notEqual(next, tenant.tenantToken);
    page(await manage.get("/organizations/"));
    page(await withKey(MANAGEMENT, next).get("/organizations/"));
    assert.equal((await signIn()).tenantToken, next);
  });
}
