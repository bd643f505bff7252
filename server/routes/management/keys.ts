/** Rotation of keys. The answer and the login are the only places that show the new key. */
import { commandRoute } from "../../routing/command-route.ts";
import { Access, type Route } from "../../routing/route.ts";
import { answer } from "../../wire/answers.ts";
import { SECRET_KEY, TENANT_TOKEN } from "../../wire/shapes.ts";

const BASE = { tag: "Keys", isConfidential: true, durable: true };

export const KEY_ROUTES: readonly Route[] = [
  commandRoute("rotateOrganizationKey", {
    ...BASE,
    method: "post",
    path: "/api/private/v2.0/keys/rotate",
    summary: "Replace the organization's secret key",
    access: Access.ORGANIZATION,
    answers: { 200: SECRET_KEY },
    show: (organization, { keys }) =>
      answer(200, { secretKey: keys.organizationKey(organization) }),
  }),
  commandRoute("rotateTenantToken", {
    ...BASE,
    method: "post",
    path: "/api/private/management/v2.0/keys/rotate",
    summary: "Replace the tenant's token",
    access: Access.TENANT,
    answers: { 200: TENANT_TOKEN },
    show: (tenant, { keys }) => answer(200, { tenantToken: keys.tenantToken(tenant) }),
  }),
];
