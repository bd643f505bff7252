/** Everything that belongs to an organization, as the parts in which it moves. */
import type { AccountRow, LayoutRow, OrganizationRow, TableName } from "../../engine/catalog.ts";
import { PackedLayout } from "../../engine/layout/packed-layout.ts";
import type { State } from "../../engine/state.ts";
import { ownerOf } from "../../engine/stored-replies.ts";
import { type InventoryPart, inventoryParts } from "./inventory.ts";

/** Rows of one part. Those of schemas may have a thumbnail of 256 KiB. */
const ROWS_PER_PART = 2_000;
const SCHEMAS_PER_PART = 16;

export interface OrganizationPart {
  readonly kind: "organization";
  readonly row: OrganizationRow;
  /** Those that belong to it, without their other organizations. */
  readonly accounts: readonly AccountRow[];
}

export interface RowsPart {
  readonly kind: "rows";
  readonly table: TableName;
  readonly rows: readonly object[];
}

export interface LayoutPart {
  readonly kind: "layout";
  /** A packed document is a text: Base64. */
  readonly row: Omit<LayoutRow, "document"> & { readonly document: unknown };
  readonly isPacked: boolean;
}

export type Part = OrganizationPart | RowsPart | LayoutPart | InventoryPart;

/**
 * The parts of an organization that is leaving: it does not change meanwhile, so they are always
 * the same. They are in an order in which each part has what it needs. Cost: O(rows of the cell);
 * a part is made when it is called for.
 */
export function partsOf(state: State, organization: OrganizationRow): readonly (() => Part)[] {
  const { id } = organization;
  const { catalog } = state;
  const isOwn = (row: { readonly organizationId: number }) => row.organizationId === id;
  const schemas = [...catalog.schemas.values()].filter(isOwn);
  const schemaIds = new Set(schemas.map((schema) => schema.id));
  const ofSchema = (row: { readonly schemaId: number }) => schemaIds.has(row.schemaId);
  const events = [...catalog.events.values()].filter(isOwn);
  const prices = events.flatMap((event) => [...catalog.pricesOf(event.id).values()]);
  const layouts = schemas.flatMap((schema) => catalog.layouts.get(schema.id) ?? []);
  const rows = (table: TableName, of: Iterable<object>) => rowParts(table, [...of]);
  const own = <Row extends object>(
    of: ReadonlyMap<unknown, Row>,
    isWanted: (row: Row) => boolean,
  ) => [...of.values()].filter(isWanted);
  return [
    () => organizationPart(state, organization),
    ...rows("venues", own(catalog.venues, isOwn)),
    ...rowParts("schemas", schemas, SCHEMAS_PER_PART),
    ...layouts.map((layout) => () => layoutPart(layout)),
    ...rows("zones", own(catalog.zones, ofSchema)),
    ...rows("zoneAssignments", own(catalog.zoneAssignments, ofSchema)),
    ...rows("clones", own(catalog.clones, isOwn)),
    ...rows("series", own(catalog.series, isOwn)),
    ...rows("events", events),
    ...rows("prices", prices),
    ...events.flatMap((event) => inventoryParts(state, event)),
    ...rows(
      "replies",
      own(catalog.replies, (reply) => ownerOf(reply.id) === String(id)),
    ),
    // Last, so that they do not send what is stored before.
    ...rows("webhooks", own(catalog.webhooks, isOwn)),
  ];
}

function organizationPart({ catalog }: State, row: OrganizationRow): OrganizationPart {
  const accounts = [...catalog.accounts.values()].filter(
    ({ superAdminOf, organizationIds }) =>
      superAdminOf === null && organizationIds.includes(row.id),
  );
  const own = accounts.map((account) => ({ ...account, organizationIds: [] }));
  return { kind: "organization", row, accounts: own };
}

function rowParts(
  table: TableName,
  rows: readonly object[],
  perPart = ROWS_PER_PART,
): (() => RowsPart)[] {
  return Array.from({ length: Math.ceil(rows.length / perPart) }, (_, i) => () => {
    const first = i * perPart;
    return { kind: "rows", table, rows: rows.slice(first, first + perPart) };
  });
}

function layoutPart(row: LayoutRow): LayoutPart {
  const { document } = row;
  if (!(document instanceof PackedLayout)) return { kind: "layout", row, isPacked: false };
  const text = Buffer.from(document.bytes).toString("base64");
  return { kind: "layout", row: { ...row, document: text }, isPacked: true };
}
