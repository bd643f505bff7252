/**
 * From the headers of a request to the caller that its commands carry. A refusal says what to send
 * instead, and never whether an organization of somebody else exists.
 */
import type { Caller } from "../../engine/bodies.ts";
import type { AccountRow, OrganizationRow } from "../../engine/catalog.ts";
import { ActorKind } from "../../engine/records.ts";
import { isRefused, Result } from "../../engine/results.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Problem } from "../http/answers.ts";
import type { Credentials, RequestHead } from "../http/front.ts";
import type { Keys, Principal } from "./keys.ts";
import type { Logins } from "./logins.ts";

/** Lets a browser follow one event without the key that made it. */
export interface Ticket {
  readonly text: string;
  readonly eventId: string;
  readonly organizationId: number;
  /** The issuing key: the ticket ends with it. */
  readonly credentials: Credentials;
  /** Milliseconds since 1970: the last moment at which a connection begins. */
  readonly expiresAtMs: number;
  /** The end of its life, likewise. */
  readonly endsAtMs: number;
}

/** Who may call a route. */
export const Access = {
  /** No key at all. */
  PUBLIC: "public",
  /** An organization's key, or a tenant token that names an organization. */
  ORGANIZATION: "organization",
  /** The same, or the organization's private key. */
  LEGACY: "legacy",
  /** As ORGANIZATION, or a login's token that names one of its organizations. */
  EDITOR: "editor",
  /** As ORGANIZATION, or a ticket for the event in the query. */
  VIEWER: "viewer",
  /** A tenant token alone. */
  TENANT: "tenant",
  /** A tenant token that names an organization. */
  TENANT_ORGANIZATION: "tenant-organization",
  /** The platform token. */
  PLATFORM: "platform",
} as const;
export type Access = (typeof Access)[keyof typeof Access];

/** The services that tell who sends a request. */
export interface Identities {
  readonly engine: Engine;
  readonly keys: Keys;
  readonly logins: Logins;
}

const NOBODY: Caller = {
  actor: { kind: ActorKind.SYSTEM, id: 0 },
  tenantId: 0,
  organizationId: 0,
};

function denied(detail: string): Problem {
  return { refused: Result.ACCESS_DENIED, detail };
}

const NO_KEY = denied("The API key is missing: send it in X-API-Key.");
const UNKNOWN_KEY = denied(
  "The API key is not known here: it may be mistyped, replaced by another, or of another server. " +
    "An organization's privateKey works on v1 paths alone.",
);
const NOT_TENANT = denied("This path needs the tenant token; the key is that of an organization.");
const NO_ORGANIZATION = denied(
  "This path acts for an organization: send X-Organization-ID with the tenant token, or the " +
    "organization's own key.",
);
const NOT_THE_TENANTS = denied("X-Organization-ID names no organization of the tenant token.");
const NOT_THE_KEYS = denied(
  "X-Organization-ID names another organization than the API key: leave it out, or send that " +
    "organization's key.",
);
const NOT_THE_ACCOUNTS = denied("The account has no such organization: choose one of the login's.");
const NOT_PLATFORM = denied("This path needs the platform token.");
const PLATFORM_ALONE = denied("The platform token opens the paths for tenants alone.");

const NOT_CURRENT = denied("The key has been rotated: only the new one may rotate again.");

const LONG = /^[1-9]\d{0,15}$/;
const BEARER = /^Bearer +(\S+)$/i;

export function identify(
  services: Identities,
  access: Access,
  credentials: Credentials,
  /** `orgId` of the query, which layout tools send instead of the header. */
  orgId: string | null,
): Caller | Problem {
  if (access === Access.PUBLIC) return NOBODY;
  const isEditor = access === Access.EDITOR && credentials.organizationId === "";
  const organizationId = isEditor ? (orgId ?? "") : credentials.organizationId;
  const key = keyOf(credentials);
  const principal =
    services.keys.identify(key, services.engine) ??
    (access === Access.LEGACY ? services.keys.privateKeyOwner(key) : null);
  if (principal === null) {
    const account = access === Access.EDITOR ? services.logins.accountOf(key) : null;
    if (account === null) return key === "" ? NO_KEY : UNKNOWN_KEY;
    return accountCaller(services, account, organizationId);
  }
  if (organizationId !== "" && !LONG.test(organizationId)) {
    return badOrganizationId(organizationId);
  }
  if (principal.kind === "platform") return access === Access.PLATFORM ? NOBODY : PLATFORM_ALONE;
  if (access === Access.PLATFORM) return NOT_PLATFORM;
  if (principal.kind === "organization") {
    return access === Access.TENANT || access === Access.TENANT_ORGANIZATION
      ? NOT_TENANT
      : organizationCaller(principal.organization, organizationId);
  }
  return tenantCaller(services, access, principal, Number(organizationId));
}

/** Refuses a key that was identified, if it has been rotated. */
export function refuseRotated(
  { keys }: Pick<Identities, "keys">,
  credentials: Credentials,
): Problem | null {
  return keys.isRotated(keyOf(credentials)) ? NOT_CURRENT : null;
}

function keyOf({ apiKey, authorization }: Credentials): string {
  return apiKey || bearerOf(authorization);
}

export function bearerOf(authorization: string): string {
  return BEARER.exec(authorization)?.[1] ?? "";
}

function badOrganizationId(rejectedValue: string): Problem {
  const message = "must be a positive whole number";
  const errors = [{ field: "X-Organization-ID", code: "TYPE", message, rejectedValue }];
  return { refused: Result.VALIDATION_FAILED, detail: "The organization id is not valid.", errors };
}

/** The header may only repeat the organization of the key. */
function organizationCaller(
  { id, tenantId }: OrganizationRow,
  organizationId: string,
): Caller | Problem {
  if (organizationId !== "" && Number(organizationId) !== id) return NOT_THE_KEYS;
  return { actor: { kind: ActorKind.ORGANIZATION, id }, tenantId, organizationId: id };
}

function tenantCaller(
  { engine }: Pick<Identities, "engine">,
  access: Access,
  { tenant }: Extract<Principal, { kind: "tenant" }>,
  organizationId: number,
): Caller | Problem {
  const caller = { actor: { kind: ActorKind.TENANT, id: tenant.id }, tenantId: tenant.id };
  if (organizationId === 0) {
    return access === Access.TENANT ? { ...caller, organizationId: 0 } : NO_ORGANIZATION;
  }
  const organization = engine.state.catalog.organizations.get(organizationId);
  return organization?.tenantId === tenant.id ? { ...caller, organizationId } : NOT_THE_TENANTS;
}

/** A login acts for the organization in its header, or else for the first of its account. */
function accountCaller(
  services: Identities,
  account: AccountRow,
  organizationId: string,
): Caller | Problem {
  const organizations = organizationsOf(services, account);
  const organization =
    organizationId === ""
      ? organizations[0]
      : organizations.find(({ id }) => String(id) === organizationId);
  if (organization === undefined) return NOT_THE_ACCOUNTS;
  return {
    actor: { kind: ActorKind.ACCOUNT, id: account.id },
    tenantId: organization.tenantId,
    organizationId: organization.id,
  };
}

/** The organizations of an account. A super admin has all organizations of its tenant. */
export function organizationsOf(
  { engine }: Pick<Identities, "engine">,
  account: AccountRow,
): OrganizationRow[] {
  const all = [...engine.state.catalog.organizations.values()];
  return all.filter(({ id, tenantId }) =>
    account.superAdminOf === null
      ? account.organizationIds.includes(id)
      : tenantId === account.superAdminOf,
  );
}

// Requests about an organization that is in another cell, or on its way.

/**
 * 307, not 308: the organization may come back, and the address that the client knows stays right,
 * because its proxy gets another route table.
 *
 * @returns Null when this cell answers. An organization that is about to leave is still read here,
 * and the engine refuses its changes. The history before a move stays in the cell that has it.
 */
export function refuseAway(
  { engine }: Pick<Identities, "engine">,
  { isHistory }: { readonly isHistory?: boolean },
  { organizationId }: Caller,
  { path, query }: RequestHead,
): Problem | null {
  const { away } = engine.state.catalog;
  const move = away.size === 0 ? undefined : away.get(organizationId);
  if (move === undefined || move.phase === "LEAVING") return null;
  if (move.phase === "ARRIVING") {
    const detail = "The organization has not arrived in this cell yet. Try again in a second.";
    return { refused: Result.ORGANIZATION_MOVING, detail };
  }
  if (isHistory === true) return null;
  const target = move.address + path + (query === "" ? "" : `?${query}`);
  return {
    refused: Result.ORGANIZATION_MOVED,
    detail: `The organization has moved to ${move.address}.`,
    headers: [["Location", target]],
  };
}

/** Whether a connection of the caller may stay open; null when its organization is elsewhere. */
export function admits(
  { engine }: Pick<Identities, "engine">,
  caller: Caller | Problem,
): boolean | null {
  if (isRefused(caller)) return false;
  return engine.state.catalog.away.get(caller.organizationId)?.phase === "LEFT" ? null : true;
}
