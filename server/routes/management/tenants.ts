/** The operator's rows: tenants. They exist only when the server has a platform token. */
import { EMAIL, NAME, PASSWORD } from "../../../engine/shapes/fields.ts";
import { object, type TypeOf } from "../../../engine/shapes/shape.ts";
import { problemsOf, submit } from "../../routing/command-route.ts";
import { PAGE_QUERY, pageOfRows, type PageQuery, pageShape } from "../../routing/page.ts";
import { Access, type Context, type Handled, type Route, route } from "../../routing/route.ts";
import { answer } from "../../wire/answers.ts";
import { NEW_TENANT, TENANT } from "../../wire/shapes.ts";

const BASE = { tag: "Platform", access: Access.PLATFORM, durable: true };

const TENANT_WITH_ADMIN = object({ name: NAME, adminEmail: EMAIL, adminPassword: PASSWORD });
type TenantWithAdmin = TypeOf<typeof TENANT_WITH_ADMIN>;

export const PLATFORM_ROUTES: readonly Route[] = [
  route({
    ...BASE,
    method: "post",
    path: "/api/admin/tenants/",
    summary: "Create a tenant with its super admin",
    body: TENANT_WITH_ADMIN,
    answers: { 201: NEW_TENANT },
    problems: problemsOf("createTenant"),
    isConfidential: true,
    handle: createTenant,
  }),
  route({
    ...BASE,
    method: "get",
    path: "/api/admin/tenants/",
    summary: "List tenants",
    query: PAGE_QUERY,
    answers: { 200: pageShape(TENANT) },
    problems: [400, 403],
    handle: listTenants,
  }),
];

async function createTenant({
  services,
  caller,
  body,
}: Context<unknown, unknown, TenantWithAdmin>): Promise<Handled> {
  const { name, adminEmail: email, adminPassword } = body;
  const passwordHash = await services.passwords.hash(adminPassword);
  const administrator = { email, firstName: "", lastName: "", passwordHash };
  return submit(
    services,
    { kind: "createTenant", caller, name, tokenSha256: null, administrator },
    (tenant) =>
      answer(201, { id: tenant.id, name, tenantToken: services.keys.tenantToken(tenant) }),
  );
}

function listTenants({ services, query }: Context<unknown, PageQuery>): Handled {
  const tenants = [...services.engine.state.catalog.tenants.values()];
  return pageOfRows(
    tenants.map(({ id, name }) => ({ id, name })),
    query,
    ["id", "name"],
  );
}
