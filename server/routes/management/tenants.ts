/**
 * The operator's rows: tenants, and moves between cells. They exist only when the server has a
 * platform token.
 */
import { EMAIL, NAME, PASSWORD } from "../../../engine/shapes/fields.ts";
import { object } from "../../../engine/shapes/shape.ts";
import { problemsOf, submit } from "../../routing/command-route.ts";
import { listRoute } from "../../routing/page.ts";
import { Access, type Route, route } from "../../routing/route.ts";
import { answer } from "../../wire/answers.ts";
import { NEW_TENANT, TENANT } from "../../wire/shapes.ts";
import { MOVE_ROUTES } from "./moves.ts";
import { TOO_MANY_ACCOUNTS } from "../handling.ts";

const BASE = { tag: "Platform", access: Access.PLATFORM, durable: true };

const TENANT_WITH_ADMIN = object({ name: NAME, adminEmail: EMAIL, adminPassword: PASSWORD });

export const PLATFORM_ROUTES: readonly Route[] = [
  route(BASE, "POST /api/admin/tenants/", {
    body: TENANT_WITH_ADMIN,
    answers: { 201: NEW_TENANT },
    problems: problemsOf("createTenant"),
    isConfidential: true,
    handle: async ({ services, caller, body }) => {
      const { name, adminEmail: email, adminPassword } = body;
      const { keys, passwords } = services;
      if (!passwords.hashes.hasRoom()) return TOO_MANY_ACCOUNTS;
      const passwordHash = await passwords.hash(adminPassword);
      const administrator = { email, firstName: "", lastName: "", passwordHash };
      return submit(
        services,
        { kind: "createTenant", caller, name, tokenSha256: null, administrator },
        (tenant) => answer(201, { id: tenant.id, name, tenantToken: keys.tenantToken(tenant) }),
      );
    },
  }),
  listRoute(BASE, "GET /api/admin/tenants/", {
    item: TENANT,
    rows: ({ services }) =>
      [...services.engine.state.catalog.tenants.values()].map(({ id, name }) => ({ id, name })),
  }),
  ...MOVE_ROUTES,
];
