/** Management: organizations, their settings and hold types. Tenant token only. */
import { randomUUID } from "node:crypto";
import { tenantsOrganization } from "../../../engine/queries/access.ts";
import { isRefused } from "../../../engine/results.ts";
import { ORGANIZATION_MEMBERS } from "../../../engine/shapes/bodies.ts";
import { EMAIL, NAME, PASSWORD } from "../../../engine/shapes/fields.ts";
import { object, type TypeOf } from "../../../engine/shapes/shape.ts";
import { commandRoute, problemsOf, submit } from "../../routing/command-route.ts";
import { PAGE_QUERY, pageOfRows, type PageQuery, pageShape } from "../../routing/page.ts";
import { Access, type Context, type Handled, type Route, route } from "../../routing/route.ts";
import { answer, NO_CONTENT } from "../../wire/answers.ts";
import { HOLD_TYPES, ORGANIZATION, SESSION_CONFIG, SETTINGS } from "../../wire/shapes.ts";
import { organizationView, settingsView } from "../../wire/views.ts";
import { type ById, LONG_ID } from "../handling.ts";

const BASE = { tag: "Management", access: Access.TENANT, durable: true };

/** An organization together with its administrator's account. */
const ORGANIZATION_WITH_USER = object({
  ...ORGANIZATION_MEMBERS,
  email: EMAIL,
  firstName: NAME,
  lastName: NAME,
  password: PASSWORD,
});
type OrganizationWithUser = TypeOf<typeof ORGANIZATION_WITH_USER>;

export const ORGANIZATION_ROUTES: readonly Route[] = [
  route({
    ...BASE,
    method: "post",
    path: "/api/private/management/v2.0/organizations/",
    summary: "Create an organization with its administrator",
    body: ORGANIZATION_WITH_USER,
    answers: { 201: ORGANIZATION },
    problems: problemsOf("createOrganization"),
    isConfidential: true,
    handle: createOrganization,
  }),
  route({
    ...BASE,
    method: "get",
    path: "/api/private/management/v2.0/organizations/",
    summary: "List organizations",
    query: PAGE_QUERY,
    answers: { 200: pageShape(ORGANIZATION) },
    problems: [400, 403],
    handle: listOrganizations,
  }),
  route({
    ...BASE,
    method: "get",
    path: "/api/private/management/v2.0/organizations/{id}",
    summary: "Read an organization",
    params: LONG_ID,
    answers: { 200: ORGANIZATION },
    problems: [400, 403, 404],
    handle: readOrganization,
  }),
  commandRoute("updateOrganization", {
    ...BASE,
    method: "put",
    path: "/api/private/management/v2.0/organizations/",
    summary: "Change an organization",
    answers: { 200: ORGANIZATION },
    show: (organization) => answer(200, organizationView(organization)),
  }),
  commandRoute("deleteOrganization", {
    ...BASE,
    method: "delete",
    path: "/api/private/management/v2.0/organizations/{id}",
    summary: "Delete an organization with all that it owns",
    answers: { 204: null },
    show: () => NO_CONTENT,
  }),
  commandRoute("configureSessions", {
    ...BASE,
    method: "put",
    path: "/api/private/management/v2.0/session-config/",
    summary: "Switch public booking sessions",
    access: Access.TENANT_ORGANIZATION,
    answers: { 200: SESSION_CONFIG },
    show: ({ publicSessionsEnabled }) => answer(200, { publicSessionsEnabled }),
  }),
  commandRoute("changeSettings", {
    ...BASE,
    method: "put",
    path: "/api/private/management/v2.0/organizations/{id}/settings",
    summary: "Switch sales control, booking and orphan seat prevention",
    answers: { 200: SETTINGS },
    show: (organization) => answer(200, settingsView(organization)),
  }),
  commandRoute("replaceHoldTypes", {
    ...BASE,
    method: "put",
    path: "/api/private/management/v2.0/hold-types/",
    summary: "Replace the organization's own hold types",
    access: Access.TENANT_ORGANIZATION,
    answers: { 200: HOLD_TYPES },
    show: (holdTypes) => answer(200, holdTypes),
  }),
];

async function createOrganization({
  services,
  caller,
  body: sent,
}: Context<unknown, unknown, OrganizationWithUser>): Promise<Handled> {
  const { password, email, firstName, lastName, ...body } = sent;
  const passwordHash = await services.passwords.hash(password);
  const administrator = { email, firstName, lastName, passwordHash };
  const keys = { publicKey: randomUUID(), privateKey: randomUUID() };
  return submit(
    services,
    { kind: "createOrganization", caller, body, administrator, ...keys },
    (organization) =>
      answer(201, {
        ...organizationView(organization),
        secretKey: services.keys.organizationKey(organization),
      }),
  );
}

function listOrganizations({ services, caller, query }: Context<unknown, PageQuery>): Handled {
  const organizations = [...services.engine.state.catalog.organizations.values()]
    .filter(({ tenantId }) => tenantId === caller.tenantId)
    .map(organizationView);
  return pageOfRows(organizations, query, ["id", "name", "domain", "type"]);
}

function readOrganization({ services, caller, params }: ById): Handled {
  const organization = tenantsOrganization(services.engine.state, caller, params.id);
  return isRefused(organization) ? organization : answer(200, organizationView(organization));
}
