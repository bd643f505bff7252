/**
 * Moves of organizations between cells. The server of each cell takes its steps one by one; each is
 * a record, so an interrupted move can be continued or taken back.
 */
import type { AccountRow, CatalogPut, OrganizationRow } from "../catalog.ts";
import type { OrganizationMove } from "../cells.ts";
import { command } from "../command.ts";
import { accountsByEmail } from "../queries/access.ts";
import { type LogRecord, RecordType } from "../records.ts";
import { duplicate, grant, type Refusal, refuse, Result } from "../results.ts";
import { ANYTHING, LONG, type Shape } from "../schema.ts";
import type { State } from "../state.ts";
import { refuseTakenName, removalOf } from "./organizations.ts";
import { grantChange } from "./owned.ts";

const {
  ACCOUNT_EMAIL_IN_USE,
  DUPLICATE_NAME,
  ENTITY_IN_USE,
  ENTITY_NOT_FOUND,
  INVALID_STATUS_TRANSITION,
  ORGANIZATION_MOVED,
  ORGANIZATION_MOVING,
} = Result;

type Phase = OrganizationMove["phase"] | "HERE";

/** By phase: possible next phases. */
const NEXT: Readonly<Record<Phase, readonly Phase[]>> = {
  HERE: ["LEAVING"],
  LEAVING: ["HERE", "LEFT"],
  LEFT: [],
  ARRIVING: ["ARRIVING", "HERE"],
};

/** A command as far as it names an organization. */
interface Named {
  readonly kind: string;
  readonly caller: { readonly organizationId: number };
  readonly organizationId?: number;
  readonly body?: { readonly id?: number } | null;
}

/** The refusal of a command about a moving organization; null for none. */
export function refuseMoved({ catalog }: State, given: object): Refusal | null {
  const { kind, caller, organizationId = caller.organizationId, body } = given as Named;
  if (kind in RELOCATION_COMMANDS) return null;
  const isUpdate = kind === "updateOrganization";
  const id = isUpdate ? (body?.id ?? 0) : organizationId;
  const phase = catalog.away.get(id)?.phase;
  if (phase === undefined) return null;
  if (phase !== "LEFT") return MOVING;
  // Deleting a departed organization removes its rest, and with it the redirect.
  return kind === "deleteOrganization" ? null : MOVED;
}

export const MOVING = refuse(
  ORGANIZATION_MOVING,
  "The organization is moving to another cell. Try again in a second.",
);

const MOVED = refuse(ORGANIZATION_MOVED, "The organization has moved to another cell.");

export const RELOCATION_COMMANDS = {
  /** Begins, continues or ends a move. `move` is null when the organization is in this cell. */
  moveOrganization: command({
    isInternal: true,
    members: { organizationId: LONG, move: ANYTHING as Shape<OrganizationMove | null> },
    refusals: [ENTITY_NOT_FOUND, INVALID_STATUS_TRANSITION, ENTITY_IN_USE],
    decide(state, { caller, organizationId, move }) {
      const organization = state.catalog.organizations.get(organizationId);
      if (organization === undefined) {
        return refuse(ENTITY_NOT_FOUND, "There is no such organization.");
      }
      const { move: before, ...rest } = organization;
      const from: Phase = before?.phase ?? "HERE";
      const to: Phase = move?.phase ?? "HERE";
      if (!NEXT[from].includes(to)) return refuseStep(from, to);
      if (to !== "HERE" && from === "HERE" && hasDoor(state, organizationId)) {
        const detail = "An event of the organization has a door: delete its admission first.";
        return refuse(ENTITY_IN_USE, detail);
      }
      const row: OrganizationRow = move === null ? rest : { ...rest, move };
      return grantChange(state, caller, { puts: [{ table: "organizations", row }] }, row);
    },
  }),

  /**
   * Stores the row of an arriving organization, and its accounts. An email known in the tenant
   * stands for the account already here. Takes an id, so watchers of new ids notice the
   * organization.
   */
  beginArrival: command({
    isInternal: true,
    members: {
      row: ANYTHING as Shape<OrganizationRow>,
      accounts: ANYTHING as Shape<readonly AccountRow[]>,
    },
    refusals: [ENTITY_NOT_FOUND, DUPLICATE_NAME, ACCOUNT_EMAIL_IN_USE, INVALID_STATUS_TRANSITION],
    decide(state, { caller, row, accounts }) {
      const { organizations, tenants } = state.catalog;
      if (organizations.has(row.id)) return refuseStep("in this cell", "ARRIVING");
      if (row.move?.phase !== "ARRIVING" || !tenants.has(row.tenantId)) {
        return refuse(ENTITY_NOT_FOUND, "There is no such tenant.");
      }
      const taken = refuseTakenName(state, row, row.name);
      if (taken !== null) return taken;
      const puts: CatalogPut[] = [{ table: "organizations", row }];
      for (const account of accounts) {
        const [known] = accountsByEmail(state, account.email);
        if (known !== undefined && !isOfTenant(state, known, row.tenantId)) {
          const error = duplicate("email", account.email, "is the address of an existing account");
          return refuse(ACCOUNT_EMAIL_IN_USE, "An account has that email already.", [error]);
        }
        const organizationIds = [...(known?.organizationIds ?? []), row.id];
        puts.push({ table: "accounts", row: { ...(known ?? account), organizationIds } });
      }
      return grantChange(state, caller, { newIds: 1, puts }, row);
    },
  }),

  /**
   * Stores a part of an arriving organization. Its rows keep their ids. The member is not
   * `organizationId`: the engine would then look at all its events for each record.
   */
  arrive: command({
    isInternal: true,
    members: { ownerId: LONG, arrival: ANYTHING as Shape<Arrival> },
    refusals: [INVALID_STATUS_TRANSITION],
    decide(state, { caller, ownerId, arrival }) {
      const phase = state.catalog.away.get(ownerId)?.phase;
      if (phase !== "ARRIVING") return refuseStep(phase ?? "in this cell", "ARRIVING");
      if ("puts" in arrival) return grantChange(state, caller, arrival, null);
      if (!("priceId" in arrival)) return grant(arrival, null);
      const removes = [{ table: "prices", key: arrival.priceId } as const];
      return grantChange(state, caller, { removes }, null);
    },
  }),

  /**
   * Removes everything owned here: after a departure all but the redirecting row, after an
   * incomplete arrival everything.
   */
  clearOrganization: command({
    isInternal: true,
    members: { organizationId: LONG },
    refusals: [INVALID_STATUS_TRANSITION],
    decide(state, { caller, organizationId }) {
      const phase = state.catalog.away.get(organizationId)?.phase;
      if (phase === undefined || phase === "LEAVING") return refuseStep(phase ?? "HERE", "cleared");
      const removal = removalOf(state, organizationId);
      if (phase === "ARRIVING")
        removal.removes.push({ table: "organizations", key: organizationId });
      return grantChange(state, caller, removal, null);
    },
  }),
};

function hasDoor({ catalog, doors }: State, organizationId: number): boolean {
  return [...doors.keys()].some(
    (partition) => catalog.eventOf(partition)?.organizationId === organizationId,
  );
}

function refuseStep(from: string, to: string): Refusal {
  const detail = `An organization that is ${from} does not become ${to}.`;
  return refuse(INVALID_STATUS_TRANSITION, detail);
}

/** True for an account, but no super admin, with all organizations in the tenant. */
function isOfTenant({ catalog }: State, account: AccountRow, tenantId: number): boolean {
  if (account.superAdminOf !== null) return false;
  return account.organizationIds.every(
    (id) => catalog.organizations.get(id)?.tenantId === tenantId,
  );
}

/** An arriving part: rows for the catalog, or a record about the inventory of an event. */
export type Arrival =
  | { readonly newIds: number; readonly puts: readonly CatalogPut[] }
  | { readonly priceId: number }
  | Exclude<LogRecord, { type: typeof RecordType.CATALOG }>;
