/** Fills an empty data folder with its first tenant and super admin. */
import { randomBytes } from "node:crypto";
import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from "../engine/constants.ts";
import type { Engine } from "../engine/engine.ts";
import { ActorKind } from "../engine/records.ts";
import { isRefused } from "../engine/results.ts";
import type { Caller } from "../engine/shapes/caller.ts";
import { FORMATS } from "../engine/shapes/formats.ts";
import { type Keys, sha256 } from "./auth/keys.ts";
import type { Passwords } from "./auth/passwords.ts";
import { BOOTSTRAP_VARIABLES } from "./config.ts";
import { UsageError } from "./usage-error.ts";

const GENERATED_BYTES = 18;
const TOKEN_LENGTH_MIN = 16;
const PRINTABLE = /^[\x21-\x7e]+$/;

const SYSTEM: Caller = {
  actor: { kind: ActorKind.SYSTEM, id: 0 },
  tenantId: 0,
  organizationId: 0,
};

export interface Bootstrap {
  readonly tenantId: number;
  /** Generated credentials, to be written down once: name and value. */
  readonly generated: readonly (readonly [string, string])[];
}

/** Creates the tenant. @param env - Has passed `checkVariables`. */
export async function bootstrap(
  engine: Engine,
  services: { readonly keys: Keys; readonly passwords: Passwords },
  env: NodeJS.ProcessEnv,
): Promise<Bootstrap> {
  const { tenantToken, adminEmail, adminPassword } = variablesIn(env);
  const email = adminEmail ?? "admin@frontrow.local";
  const password = adminPassword ?? randomBytes(GENERATED_BYTES).toString("base64url");
  const passwordHash = await services.passwords.hash(password);
  const tokenSha256 = tenantToken === undefined ? null : sha256(tenantToken);
  const tenant = engine.submit({
    kind: "createTenant",
    caller: SYSTEM,
    name: "default",
    tokenSha256,
    administrator: { email, firstName: "", lastName: "", passwordHash },
  });
  if (isRefused(tenant)) throw new Error(tenant.detail);
  const token = services.keys.tenantToken(tenant.value);
  const generated: (readonly [string, string])[] = [];
  if (token !== null) generated.push(["tenant token", token]);
  if (adminEmail === undefined) generated.push(["admin email", email]);
  if (adminPassword === undefined) generated.push(["admin password", password]);
  return { tenantId: tenant.value.id, generated };
}

/** @throws UsageError naming the variable when its token is too short or not printable ASCII. */
export function checkToken(variable: string, token: string | undefined): void {
  if (token === undefined) return;
  if (token.length >= TOKEN_LENGTH_MIN && PRINTABLE.test(token)) return;
  throw new UsageError(`${variable} must have at least ${TOKEN_LENGTH_MIN} printable characters`);
}

/** @throws UsageError naming the variable. */
export function checkVariables(env: NodeJS.ProcessEnv): void {
  const { tenantToken, adminEmail, adminPassword } = variablesIn(env);
  checkToken("FRONTROW_TENANT_TOKEN", tenantToken);
  if (adminEmail !== undefined && FORMATS["email"]?.(adminEmail) !== true) {
    throw new UsageError("FRONTROW_ADMIN_EMAIL must be an email address");
  }
  const length =
    adminPassword === undefined ? PASSWORD_LENGTH_MIN : Array.from(adminPassword).length;
  if (length < PASSWORD_LENGTH_MIN || length > PASSWORD_LENGTH_MAX) {
    const range = `${PASSWORD_LENGTH_MIN} to ${PASSWORD_LENGTH_MAX}`;
    throw new UsageError(`FRONTROW_ADMIN_PASSWORD must have ${range} characters`);
  }
}

function variablesIn(env: NodeJS.ProcessEnv) {
  const [tenantToken, adminEmail, adminPassword] = BOOTSTRAP_VARIABLES.map((name) => env[name]);
  return { tenantToken, adminEmail, adminPassword };
}
