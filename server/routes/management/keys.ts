/** Rotation of keys. The answer and the login are the only places that show the new key. */
import { commandRoute } from "../../routing/command-route.ts";
import { Access, type Route } from "../../routing/route.ts";
import { answer } from "../../wire/answers.ts";
import { SECRET_KEY, TENANT_TOKEN } from "../../wire/shapes.ts";

const BASE = {
  tag: "Keys",
  access: Access.ORGANIZATION,
  isConfidential: true,
  durable: true,
  mayBeEmpty: true,
  needsCurrentKey: true,
};

export const KEY_ROUTES: readonly Route[] = [
  commandRoute(BASE, "POST /api/private/v2.0/keys/rotate", "rotateOrganizationKey", {
    summary: "Replace the organization's secret key",
    answers: { 200: SECRET_KEY },
    show: (organization, { keys }) =>
      answer(200, { secretKey: keys.organizationKey(organization) }),
  }),
  commandRoute(BASE, "POST /api/private/management/v2.0/keys/rotate", "rotateTenantToken", {
    summary: "Replace the tenant's token",
    access: Access.TENANT,
    answers: { 200: TENANT_TOKEN },
    show: (tenant, { keys }) => answer(200, { tenantToken: keys.tenantToken(tenant) }),
  }),
];
