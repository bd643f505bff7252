/** Credentials of every kind, and whether they stand for organization A. */
import type { TestServer } from "../server.ts";

export interface Shown {
  readonly key?: string;
  readonly bearer?: string;
  readonly organizationId?: number;
}

export function headersOf({ key, bearer, organizationId }: Shown): Record<string, string> {
  return {
    ...(key === undefined ? {} : { "X-API-Key": key }),
    ...(bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` }),
    ...(organizationId === undefined ? {} : { "X-Organization-ID": String(organizationId) }),
  };
}

export const CREDENTIALS: readonly (readonly [
  name: string,
  shown: (server: TestServer) => Shown,
  areOfA: boolean,
])[] = [
  ["nothing", () => ({}), false],
  ["an unknown key", () => ({ key: "fro_1_x" }), false],
  ["the key of A", ({ a }) => ({ key: a.key }), true],
  ["the key of A as bearer", ({ a }) => ({ bearer: a.key }), true],
  ["the key of A naming A", ({ a }) => ({ key: a.key, organizationId: a.id }), true],
  ["the key of A naming B", ({ a, b }) => ({ key: a.key, organizationId: b.id }), false],
  ["a tenant token", ({ tenantToken }) => ({ key: tenantToken }), false],
  [
    "a tenant token naming A",
    ({ tenantToken, a }) => ({ key: tenantToken, organizationId: a.id }),
    true,
  ],
  [
    "a tenant token naming C",
    ({ tenantToken, c }) => ({ key: tenantToken, organizationId: c.id }),
    false,
  ],
  [
    "the other tenant's token naming A",
    ({ otherTenantToken, a }) => ({ key: otherTenantToken, organizationId: a.id }),
    false,
  ],
];
