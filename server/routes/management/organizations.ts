/** Management: organizations, their settings and hold types. Tenant token only. */
import { randomUUID } from "node:crypto";
import type { Administrator, CommandOf, OrganizationBody } from "../../../engine/commands.ts";
import { isRefusal, tenantsOrganization } from "../../../engine/queries/access.ts";
import { BODIES, ORGANIZATION_WITH_USER } from "../../../engine/shapes.ts";
import { PAGE_QUERY, pageOfRows, pageShape } from "../../routing/page.ts";
import { Access, type Context, type Handled, type Route } from "../../routing/route.ts";
import { answer, NO_CONTENT } from "../../wire/answers.ts";
import { HOLD_TYPES, ORGANIZATION, SESSION_CONFIG, SETTINGS } from "../../wire/shapes.ts";
import { organizationView, settingsView } from "../../wire/views.ts";
import { LONG_ID, submit } from "../handling.ts";

const BASE = { tag: "Management", access: Access.TENANT, durable: true } as const;

const SORTS = ["id", "name", "domain", "type"] as const;

export const ORGANIZATION_ROUTES: readonly Route[] = [
  {
    ...BASE,
    method: "post",
    path: "/api/private/management/v2.0/organizations/",
    summary: "Create an organization with its administrator",
    body: ORGANIZATION_WITH_USER,
    answers: { 201: ORGANIZATION },
    problems: [400, 403, 409],
    isConfidential: true,
    handle: createOrganization,
  },
  {
    ...BASE,
    method: "get",
    path: "/api/private/management/v2.0/organizations/",
    summary: "List organizations",
    query: PAGE_QUERY,
    answers: { 200: pageShape(ORGANIZATION) },
    problems: [400, 403],
    handle: listOrganizations,
  },
  {
    ...BASE,
    method: "get",
    path: "/api/private/management/v2.0/organizations/{id}",
    summary: "Read an organization",
    params: LONG_ID,
    answers: { 200: ORGANIZATION },
    problems: [400, 403, 404],
    handle: readOrganization,
  },
  {
    ...BASE,
    method: "put",
    path: "/api/private/management/v2.0/organizations/",
    summary: "Change an organization",
    body: BODIES.updateOrganization,
    answers: { 200: ORGANIZATION },
    problems: [400, 403, 404, 409],
    handle: updateOrganization,
  },
  {
    ...BASE,
    method: "delete",
    path: "/api/private/management/v2.0/organizations/{id}",
    summary: "Delete an organization with all that it owns",
    params: LONG_ID,
    answers: { 204: null },
    problems: [400, 403, 404, 409],
    handle: deleteOrganization,
  },
  {
    ...BASE,
    method: "put",
    path: "/api/private/management/v2.0/session-config/",
    summary: "Switch public booking sessions",
    access: Access.TENANT_ORGANIZATION,
    body: BODIES.configureSessions,
    answers: { 200: SESSION_CONFIG },
    problems: [400, 403, 409],
    handle: configureSessions,
  },
  {
    ...BASE,
    method: "put",
    path: "/api/private/management/v2.0/organizations/{id}/settings",
    summary: "Switch sales control, booking and orphan seat prevention",
    params: LONG_ID,
    body: BODIES.changeSettings,
    answers: { 200: SETTINGS },
    problems: [400, 403, 404],
    handle: changeSettings,
  },
  {
    ...BASE,
    method: "put",
    path: "/api/private/management/v2.0/hold-types/",
    summary: "Replace the organization's own hold types",
    access: Access.TENANT_ORGANIZATION,
    body: BODIES.replaceHoldTypes,
    answers: { 200: HOLD_TYPES },
    problems: [400, 403],
    handle: replaceHoldTypes,
  },
];

type OrganizationWithUser = OrganizationBody &
  Omit<Administrator, "passwordHash"> & { readonly password: string };

async function createOrganization(context: Context): Promise<Handled> {
  const { caller, services } = context;
  const { password, email, firstName, lastName, ...body } = context.body as OrganizationWithUser;
  const passwordHash = await services.passwords.hash(password);
  const administrator = { email, firstName, lastName, passwordHash };
  const keys = { publicKey: randomUUID(), privateKey: randomUUID() };
  const command = { kind: "createOrganization", caller, body, administrator, ...keys } as const;
  return submit(context, command, (organization) =>
    answer(201, {
      ...organizationView(organization),
      secretKey: services.keys.organizationKey(organization),
    }),
  );
}

function listOrganizations({ services, caller, query }: Context): Handled {
  const organizations = [...services.engine.state.catalog.organizations.values()]
    .filter(({ tenantId }) => tenantId === caller.tenantId)
    .map(organizationView);
  return pageOfRows(organizations, query, SORTS);
}

function readOrganization({ services, caller, params }: Context): Handled {
  const organization = tenantsOrganization(services.engine.state, caller, Number(params["id"]));
  return isRefusal(organization) ? organization : answer(200, organizationView(organization));
}

function updateOrganization(context: Context): Handled {
  const { caller, body } = context;
  const command = { kind: "updateOrganization", caller, body } as CommandOf<"updateOrganization">;
  return submit(context, command, (organization) => answer(200, organizationView(organization)));
}

function deleteOrganization(context: Context): Handled {
  const { caller, params } = context;
  const organizationId = Number(params["id"]);
  return submit(context, { kind: "deleteOrganization", caller, organizationId }, () => NO_CONTENT);
}

function configureSessions(context: Context): Handled {
  const { caller, body } = context;
  const command = { kind: "configureSessions", caller, body } as CommandOf<"configureSessions">;
  return submit(context, command, ({ publicSessionsEnabled }) =>
    answer(200, { publicSessionsEnabled }),
  );
}

function changeSettings(context: Context): Handled {
  const { caller, params, body } = context;
  const command = { kind: "changeSettings", caller, organizationId: params["id"], body };
  return submit(context, command as CommandOf<"changeSettings">, (organization) =>
    answer(200, settingsView(organization)),
  );
}

function replaceHoldTypes(context: Context): Handled {
  const { caller, body } = context;
  const command = { kind: "replaceHoldTypes", caller, body } as CommandOf<"replaceHoldTypes">;
  return submit(context, command, (holdTypes) => answer(200, holdTypes));
}
