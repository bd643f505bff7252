/** Management: organizations, their settings and hold types. Tenant token only. */
import { randomUUID } from "node:crypto";
import { ORGANIZATION_MEMBERS } from "../../engine/bodies.ts";
import type { HoldTypeRow, OrganizationRow } from "../../engine/catalog.ts";
import { CELL_MAX } from "../../engine/cells.ts";
import {
  accountsByEmail,
  callersOrganization,
  holdTypesOf,
  tenantsOrganization,
} from "../../engine/queries/access.ts";
import { type FieldError, isRefused, refuseInvalid } from "../../engine/results.ts";
import {
  BOOLEAN,
  EMAIL,
  integer,
  LONG,
  NAME,
  object,
  oneOf,
  optional,
  PASSWORD,
  TEXT,
  text,
} from "../../engine/schema.ts";
import {
  HOLD_TYPES,
  MOVE,
  NEW_ORGANIZATION,
  NEW_TENANT,
  ORGANIZATION,
  organizationView,
  SEALED_PART,
  SECRET_KEY,
  SESSION_CONFIG,
  SETTINGS,
  settingsView,
  TENANT,
  TENANT_TOKEN,
} from "../api/entities.ts";
import { listRoute } from "../api/page.ts";
import { type Route, route } from "../api/route.ts";
import { MOVE_STEPS } from "../cells/moves.ts";
import { commandRoute, problemsOf, submit } from "../api/router.ts";
import type { Services } from "../api/services.ts";
import { checksOf } from "../api/validate.ts";
import { Access, identify } from "../auth/access.ts";
import { answer, NO_CONTENT } from "../http/answers.ts";
import { LONG_ID, TOO_MANY_ACCOUNTS } from "./handling.ts";
import { BODY_BYTES } from "../http/limits.ts";

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

/** An account that exists keeps its password, so any is taken with its email. */
function passwordErrorsOf({ engine }: Services, body: unknown): readonly FieldError[] {
  if (typeof body !== "object" || body === null) return [];
  const { email, password } = body as Record<string, unknown>;
  if (typeof email === "string" && accountsByEmail(engine.state, email).length > 0) return [];
  return passwordErrors({ password });
}

export const ORGANIZATION_ROUTES: readonly Route[] = [
  route(BASE, "POST /api/private/management/v2.0/organizations/", {
    body: ORGANIZATION_WITH_USER,
    answers: { 201: NEW_ORGANIZATION },
    problems: problemsOf("createOrganization"),
    isConfidential: true,
    errorsOf: passwordErrorsOf,
    handle: async ({ services, caller, head, body: sent }) => {
      const { password, email, firstName, lastName, ...body } = sent;
      let passwordHash = "";
      if (accountsByEmail(services.engine.state, email).length === 0) {
        const errors = passwordErrors({ password });
        if (errors.length > 0) return refuseInvalid(errors);
        const hash = await services.passwords.hash(password!);
        if (hash === null) return TOO_MANY_ACCOUNTS;
        passwordHash = hash;
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
      answer(
        200,
        holdTypesOf(callersOrganization(services.engine.state, caller)).map(holdTypeView),
      ),
  }),
  commandRoute(BASE, "PUT /api/private/management/v2.0/hold-types/", "replaceHoldTypes", {
    access: Access.TENANT_ORGANIZATION,
    answers: { 200: HOLD_TYPES },
    show: (holdTypes) => answer(200, holdTypes.map(holdTypeView)),
  }),
];

function holdTypeView({ name, ttlSeconds, maxSeconds = ttlSeconds ?? undefined }: HoldTypeRow) {
  return { name, ttlSeconds, maxSeconds: maxSeconds ?? null };
}

function viewOf({ keys }: Services, organization: OrganizationRow) {
  return organizationView(organization, keys.privateKey(organization));
}

// The operator's rows for moves of organizations between cells. See `server/cells/README.md`.

const MOVES_BASE = { tag: "Platform", access: Access.PLATFORM, durable: true };
const PATH = "/api/admin/organizations/{id}/move";
const PART = { id: LONG, part: integer({ minimum: 0, format: "int64" }) };

const STEP = object({
  step: oneOf(MOVE_STEPS),
  toCell: optional(integer({ minimum: 0, maximum: CELL_MAX, format: "int64" })),
  address: optional(text({ minLength: 1, maxLength: 2_048 })),
  receipt: optional(TEXT),
});

const MOVE_ROUTES: readonly Route[] = [
  route(MOVES_BASE, `GET ${PATH}`, {
    params: { id: LONG },
    answers: { 200: MOVE },
    problems: [400, 403],
    handle: ({ services, params }) => answer(200, services.moves.view(params.id)),
  }),
  route(MOVES_BASE, `POST ${PATH}`, {
    params: { id: LONG },
    body: STEP,
    answers: { 200: MOVE },
    problems: [400, 403, 404, 409],
    handle: ({ services, params, body }) => services.moves.step(params.id, body),
  }),
  route(MOVES_BASE, `GET ${PATH}/parts/{part}`, {
    params: PART,
    answers: { 200: SEALED_PART },
    problems: [400, 403, 404, 409],
    handle: ({ services, params }) => services.moves.part(params.id, params.part),
  }),
  route(MOVES_BASE, `PUT ${PATH}/parts/{part}`, {
    params: PART,
    body: object({ content: TEXT, tenantId: optional(LONG), isTrial: optional(BOOLEAN) }),
    bodyBytesMax: BODY_BYTES.part,
    answers: { 200: MOVE },
    problems: [400, 403, 409],
    handle: ({ services, params, body }) => services.moves.take(params.id, params.part, body),
  }),
];

// The operator's rows: tenants, and moves between cells. They exist only when the server has a
// platform token.

const TENANTS_BASE = { tag: "Platform", access: Access.PLATFORM, durable: true };

const TENANT_WITH_ADMIN = object({ name: NAME, adminEmail: EMAIL, adminPassword: PASSWORD });

export const PLATFORM_ROUTES: readonly Route[] = [
  route(TENANTS_BASE, "POST /api/admin/tenants/", {
    body: TENANT_WITH_ADMIN,
    answers: { 201: NEW_TENANT },
    problems: problemsOf("createTenant"),
    isConfidential: true,
    handle: async ({ services, caller, body }) => {
      const { name, adminEmail: email, adminPassword } = body;
      const { keys, passwords } = services;
      const passwordHash = await passwords.hash(adminPassword);
      if (passwordHash === null) return TOO_MANY_ACCOUNTS;
      const administrator = { email, firstName: "", lastName: "", passwordHash };
      return submit(
        services,
        { kind: "createTenant", caller, name, tokenSha256: null, administrator },
        (tenant) => answer(201, { id: tenant.id, name, tenantToken: keys.tenantToken(tenant) }),
      );
    },
  }),
  listRoute(TENANTS_BASE, "GET /api/admin/tenants/", {
    item: TENANT,
    rows: ({ services }) =>
      [...services.engine.state.catalog.tenants.values()].map(({ id, name }) => ({ id, name })),
  }),
  ...MOVE_ROUTES,
];

// Rotation of keys. The answer and the login are the only places that show the new key.

const KEYS_BASE = {
  tag: "Keys",
  access: Access.ORGANIZATION,
  isConfidential: true,
  durable: true,
  mayBeEmpty: true,
  needsCurrentKey: true,
};

export const KEY_ROUTES: readonly Route[] = [
  commandRoute(KEYS_BASE, "POST /api/private/v2.0/keys/rotate", "rotateOrganizationKey", {
    answers: { 200: SECRET_KEY },
    show: (organization, { keys }) =>
      answer(200, { secretKey: keys.organizationKey(organization) }),
  }),
  commandRoute(KEYS_BASE, "POST /api/private/management/v2.0/keys/rotate", "rotateTenantToken", {
    access: Access.TENANT,
    answers: { 200: TENANT_TOKEN },
    show: (tenant, { keys }) => answer(200, { tenantToken: keys.tenantToken(tenant) }),
  }),
];
