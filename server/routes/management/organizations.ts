/** Management: organizations, their settings and hold types. Tenant token only. */
import { randomUUID } from "node:crypto";
import type { OrganizationRow } from "../../../engine/catalog.ts";
import { callersOrganization, tenantsOrganization } from "../../../engine/queries/access.ts";
import { accountsByEmail, holdTypesOf } from "../../../engine/queries/lookups.ts";
import { isRefused, refuseInvalid } from "../../../engine/results.ts";
import { ORGANIZATION_MEMBERS } from "../../../engine/shapes/bodies.ts";
import { EMAIL, NAME, PASSWORD } from "../../../engine/shapes/fields.ts";
import { object, optional, TEXT } from "../../../engine/shapes/shape.ts";
import { identify } from "../../auth/access.ts";
import { commandRoute, problemsOf, submit } from "../../routing/command-route.ts";
import { listRoute } from "../../routing/page.ts";
import { Access, type Route, route } from "../../routing/route.ts";
import type { Services } from "../../routing/services.ts";
import { checksOf } from "../../routing/validate.ts";
import { answer, NO_CONTENT } from "../../wire/answers.ts";
import {
  HOLD_TYPES,
  NEW_ORGANIZATION,
  ORGANIZATION,
  SESSION_CONFIG,
  SETTINGS,
} from "../../wire/shapes.ts";
import { organizationView, settingsView } from "../../wire/views.ts";
import { LONG_ID, TOO_MANY_ACCOUNTS } from "../handling.ts";

const BASE = { tag: "Management", access: Access.TENANT, durable: true };

/** An organization together with its administrator's account. */
const ORGANIZATION_WITH_USER = object({
  ...ORGANIZATION_MEMBERS,
  email: EMAIL,
  firstName: NAME,
  lastName: NAME,
  /** Of a new account. An account that exists keeps its own. */
  password: optional(TEXT),
});
const { body: passwordErrors } = checksOf({ body: object({ password: PASSWORD }) });

export const ORGANIZATION_ROUTES: readonly Route[] = [
  route(BASE, "POST /api/private/management/v2.0/organizations/", {
    body: ORGANIZATION_WITH_USER,
    answers: { 201: NEW_ORGANIZATION },
    problems: problemsOf("createOrganization"),
    isConfidential: true,
    handle: async ({ services, caller, head, body: sent }) => {
      const { password, email, firstName, lastName, ...body } = sent;
      let passwordHash = "";
      if (accountsByEmail(services.engine.state, email).length === 0) {
        const errors = passwordErrors({ password });
        if (errors.length > 0) return refuseInvalid(errors);
        if (!services.passwords.hashes.hasRoom()) return TOO_MANY_ACCOUNTS;
        passwordHash = await services.passwords.hash(password!);
        // The token may have been revoked meanwhile.
        const known = identify(services, Access.TENANT, head, null);
        if (isRefused(known)) return known;
      }
      const administrator = { email, firstName, lastName, passwordHash };
      const command = { caller, body, administrator, publicKey: randomUUID() };
      return submit(services, { kind: "createOrganization", ...command }, (organization) => {
        const secretKey = services.keys.organizationKey(organization);
        return answer(201, { ...viewOf(services, organization), secretKey });
      });
    },
  }),
  listRoute(BASE, "GET /api/private/management/v2.0/organizations/", {
    item: ORGANIZATION,
    rows: ({ services, caller }) =>
      [...services.engine.state.catalog.organizations.values()]
        .filter(({ tenantId }) => tenantId === caller.tenantId)
        .map((organization) => viewOf(services, organization)),
  }),
  route(BASE, "GET /api/private/management/v2.0/organizations/{id}", {
    params: LONG_ID,
    answers: { 200: ORGANIZATION },
    problems: [400, 403, 404],
    handle: ({ services, caller, params }) => {
      const organization = tenantsOrganization(services.engine.state, caller, params.id);
      return isRefused(organization) ? organization : answer(200, viewOf(services, organization));
    },
  }),
  commandRoute(BASE, "PUT /api/private/management/v2.0/organizations/", "updateOrganization", {
    answers: { 200: ORGANIZATION },
    show: (organization, services) => answer(200, viewOf(services, organization)),
  }),
  commandRoute(
    BASE,
    "DELETE /api/private/management/v2.0/organizations/{id}",
    "deleteOrganization",
    {
      answers: { 204: null },
      show: () => NO_CONTENT,
    },
  ),
  route(BASE, "GET /api/private/management/v2.0/session-config/", {
    access: Access.TENANT_ORGANIZATION,
    answers: { 200: SESSION_CONFIG },
    problems: [400, 403],
    handle: ({ services, caller }) => {
      const { publicSessionsEnabled } = callersOrganization(services.engine.state, caller);
      return answer(200, { publicSessionsEnabled });
    },
  }),
  commandRoute(BASE, "PUT /api/private/management/v2.0/session-config/", "configureSessions", {
    access: Access.TENANT_ORGANIZATION,
    answers: { 200: SESSION_CONFIG },
    show: ({ publicSessionsEnabled }) => answer(200, { publicSessionsEnabled }),
  }),
  route(BASE, "GET /api/private/management/v2.0/organizations/{id}/settings", {
    params: LONG_ID,
    answers: { 200: SETTINGS },
    problems: [400, 403, 404],
    handle: ({ services, caller, params }) => {
      const organization = tenantsOrganization(services.engine.state, caller, params.id);
      return isRefused(organization) ? organization : answer(200, settingsView(organization));
    },
  }),
  commandRoute(
    BASE,
    "PUT /api/private/management/v2.0/organizations/{id}/settings",
    "changeSettings",
    {
      answers: { 200: SETTINGS },
      show: (organization) => answer(200, settingsView(organization)),
    },
  ),
  route(BASE, "GET /api/private/management/v2.0/hold-types/", {
    access: Access.TENANT_ORGANIZATION,
    answers: { 200: HOLD_TYPES },
    problems: [400, 403],
    handle: ({ services, caller }) =>
      answer(200, holdTypesOf(callersOrganization(services.engine.state, caller))),
  }),
  commandRoute(BASE, "PUT /api/private/management/v2.0/hold-types/", "replaceHoldTypes", {
    access: Access.TENANT_ORGANIZATION,
    answers: { 200: HOLD_TYPES },
    show: (holdTypes) => answer(200, holdTypes),
  }),
];

function viewOf({ keys }: Services, organization: OrganizationRow) {
  return organizationView(organization, keys.privateKey(organization));
}
