/** Key rotation: the version increases, and the previous key stays valid for its grace period. */
import { expect, test } from "vitest";
import { START_MS, World } from "../../support/engine.ts";
import { section } from "../../support/layout.ts";
import { expectConsistent } from "../../support/table.ts";

const HALL = [section("Stalls", { A: "1" })];

test("a rotation increases the version and retires the previous key for its grace period", () => {
  const world = new World(HALL);
  const rotate = (graceSeconds?: number) =>
    world.must("rotateOrganizationKey", world.caller, { body: { graceSeconds } });
  expect(rotate()).toMatchObject({ keyVersion: 2, retiredKey: null });
  expect(rotate(60)).toMatchObject({
    keyVersion: 3,
    retiredKey: { keyVersion: 2, tokenSha256: null, validUntilMs: START_MS + 60_000 },
  });
  expect(rotate(0)).toMatchObject({ keyVersion: 4, retiredKey: null });
  expectConsistent(world);
});

test("rotating an initial token retires its hash, and the new token is derived", () => {
  const world = new World(HALL);
  const { actor } = world.tenant;
  const nobody = { actor, tenantId: 0, organizationId: 0 };
  const tokenSha256 = "a".repeat(64);
  const given = { name: "Given", tokenSha256, administrator: null };
  const { id: tenantId } = world.must("createTenant", nobody, given);
  const caller = { actor, tenantId, organizationId: 0 };
  const body = { graceSeconds: 1 };
  expect(world.must("rotateTenantToken", caller, { body })).toEqual({
    id: tenantId,
    name: "Given",
    tokenSha256: null,
    keyVersion: 2,
    retiredKey: { keyVersion: 1, tokenSha256, validUntilMs: START_MS + 1_000 },
  });
  expect(world.must("rotateTenantToken", caller, { body })).toMatchObject({
    retiredKey: { keyVersion: 2, tokenSha256: null },
  });
  expectConsistent(world);
});
