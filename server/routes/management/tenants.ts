/** The operator's rows: tenants. They are there only when the server has a platform token. */
import type { CommandOf } from "../../../engine/commands.ts";
import { NAME, object, PASSWORD, type Shape } from "../../../engine/shapes.ts";
import { PAGE_QUERY, pageOfRows, pageShape } from "../../routing/page.ts";
import { Access, type Context, type Handled, type Route } from "../../routing/route.ts";
import { answer } from "../../wire/answers.ts";
import { NEW_TENANT, TENANT } from "../../wire/shapes.ts";
import { submit } from "../handling.ts";

const BASE = { tag: "Platform", access: Access.PLATFORM, durable: true } as const;

const SORTS = ["id", "name"] as const;

const TENANT_WITH_ADMIN: Shape = object(
  { name: NAME, adminEmail: { type: "string", format: "email" }, adminPassword: PASSWORD },
  ["name", "adminEmail", "adminPassword"],
);

export const PLATFORM_ROUTES: readonly Route[] = [
  {
    ...BASE,
    method: "post",
    path: "/api/admin/tenants/",
    summary: "Create a tenant with its super admin",
    body: TENANT_WITH_ADMIN,
    answers: { 201: NEW_TENANT },
    problems: [400, 403, 409],
    isConfidential: true,
    handle: createTenant,
  },
  {
    ...BASE,
    method: "get",
    path: "/api/admin/tenants/",
    summary: "List tenants",
    query: PAGE_QUERY,
    answers: { 200: pageShape(TENANT) },
    problems: [400, 403],
    handle: listTenants,
  },
];

interface TenantWithAdmin {
  readonly name: string;
  readonly adminEmail: string;
  readonly adminPassword: string;
}

async function createTenant(context: Context): Promise<Handled> {
  const { caller, services } = context;
  const { name, adminEmail, adminPassword } = context.body as TenantWithAdmin;
  const passwordHash = await services.passwords.hash(adminPassword);
  const administrator = { email: adminEmail, firstName: "", lastName: "", passwordHash };
  const command: CommandOf<"createTenant"> = {
    kind: "createTenant",
    caller,
    name,
    tokenSha256: null,
    administrator,
  };
  return submit(context, command, (tenant) =>
    answer(201, { id: tenant.id, name, tenantToken: services.keys.tenantToken(tenant) }),
  );
}

function listTenants({ services, query }: Context): Handled {
  const tenants = [...services.engine.state.catalog.tenants.values()];
  return pageOfRows(
    tenants.map(({ id, name }) => ({ id, name })),
    query,
    SORTS,
  );
}
