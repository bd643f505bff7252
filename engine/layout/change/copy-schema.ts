/** The long part of cloning a schema: copies its layout, zones and assignments under new ids. */
import { assert } from "../../assert.ts";
import type { ZoneRow } from "../../catalog.ts";
import { eachZone, ZoneRuns } from "../zone-table.ts";
import { type LayoutDocument, objectIds } from "../layout-document.ts";
import { mapGuids, newGuid } from "./guids.ts";

/** What a clone copies. */
export interface Original {
  readonly schemaId: number;
  /** Null when the schema has no layout. */
  readonly document: LayoutDocument | null;
  readonly zones: readonly ZoneRow[];
  /** Which objects have which zone: runs as in `ZoneChange`. */
  readonly assignments: Float64Array;
}

/** The copy of a schema's layout and zones. */
export interface Copy {
  readonly schemaId: number;
  readonly document: LayoutDocument | null;
  readonly zones: readonly ZoneRow[];
  readonly assignments: Float64Array;
  /** How many ids the copy takes. */
  readonly newIds: number;
}

interface Next {
  readonly nextId: number;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
}

/**
 * Copies a schema's layout and zones. The ids of the copies are in the order of the originals;
 * guids are new. Depends on nothing but its arguments. Cost: O(n log n) in the seats.
 */
export function copyOriginal(original: Original, { nextId, timeMs }: Next): Copy {
  const { schemaId, document, zones } = original;
  const objects = document === null ? [] : objectIds(document);
  const originals = [schemaId, ...zones.map(({ id }) => id), ...objects].sort((a, b) => a - b);
  const copies = new Map(originals.map((id, i) => [id, nextId + i]));
  assert(copies.size === originals.length, "no two rows or objects have the same id");
  const idOf = (id: number) => {
    const copy = copies.get(id);
    assert(copy !== undefined, "everything that a copy refers to is copied");
    return copy;
  };
  const id = idOf(schemaId);
  const assignments = new ZoneRuns();
  eachZone(original.assignments, (object, zoneId) => {
    assignments.add(idOf(object), idOf(zoneId));
  });
  const newGuidOf = (serial: number) => newGuid(timeMs, serial);
  const nextShape = nextId + originals.length;
  return {
    schemaId: id,
    document: document === null ? null : copyDocument(document, idOf, { newGuidOf, nextShape }),
    zones: zones.map((zone) => ({ ...zone, id: idOf(zone.id), schemaId: id })),
    assignments: assignments.runs,
    newIds: originals.length + (document?.shapes.length ?? 0),
  };
}

interface NewGuids {
  readonly newGuidOf: (serial: number) => string;
  /** The serial number of the first shape. */
  readonly nextShape: number;
}

function copyDocument(
  document: LayoutDocument,
  idOf: (id: number) => number,
  { newGuidOf, nextShape }: NewGuids,
): LayoutDocument {
  const { sectors, rows, seats, shapes } = document;
  const guids = new Map<string, string>();
  for (const objects of [sectors, rows, seats]) {
    for (const { guid, id } of objects) guids.set(guid, newGuidOf(idOf(id)));
  }
  for (const [i, shape] of shapes.entries()) {
    if (shape.id !== undefined) guids.set(shape.id, newGuidOf(nextShape + i));
  }
  const copy = <T extends { readonly id: number }>(objects: readonly T[]): T[] =>
    objects.map((object) => ({ ...object, id: idOf(object.id) }));
  const copied: LayoutDocument = {
    ...document,
    sectors: copy(sectors),
    rows: copy(rows),
    seats: copy(seats),
  };
  return mapGuids(copied, (guid) => guids.get(guid) ?? guid);
}
