/** Rotation of keys. The answer is the only place that shows the new one, beside a login. */
import type { CommandOf } from "../../../engine/commands.ts";
import { BODIES } from "../../../engine/shapes.ts";
import { Access, type Context, type Handled, type Route } from "../../routing/route.ts";
import { answer } from "../../wire/answers.ts";
import { SECRET_KEY, TENANT_TOKEN } from "../../wire/shapes.ts";
import { submit } from "../handling.ts";

const BASE = { isConfidential: true, durable: true } as const;

export const KEY_ROUTES: readonly Route[] = [
  {
    ...BASE,
    method: "post",
    path: "/api/private/v2.0/keys/rotate",
    tag: "Keys",
    summary: "Replace the organization's secret key",
    access: Access.ORGANIZATION,
    body: BODIES.rotateOrganizationKey,
    answers: { 200: SECRET_KEY },
    problems: [400, 403],
    handle: rotateOrganizationKey,
  },
  {
    ...BASE,
    method: "post",
    path: "/api/private/management/v2.0/keys/rotate",
    tag: "Keys",
    summary: "Replace the tenant's token",
    access: Access.TENANT,
    body: BODIES.rotateTenantToken,
    answers: { 200: TENANT_TOKEN },
    problems: [400, 403],
    handle: rotateTenantToken,
  },
];

function rotateOrganizationKey(context: Context): Handled {
  const { caller, body, services } = context;
  const command = { kind: "rotateOrganizationKey", caller, body };
  return submit(context, command as CommandOf<"rotateOrganizationKey">, (organization) =>
    answer(200, { secretKey: services.keys.organizationKey(organization) }),
  );
}

function rotateTenantToken(context: Context): Handled {
  const { caller, body, services } = context;
  const command = { kind: "rotateTenantToken", caller, body } as CommandOf<"rotateTenantToken">;
  return submit(context, command, (tenant) =>
    answer(200, { tenantToken: services.keys.tenantToken(tenant) }),
  );
}
