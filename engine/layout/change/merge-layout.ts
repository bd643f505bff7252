/**
 * Merges a sent layout into the stored one. A sent object with an id replaces the stored object of
 * that id; one without an id replaces the stored object of the same guid, or is new. Objects that
 * are not sent stay. `toRemove` removes an object, and a sector together with its rows and seats. A
 * row that loses its last seat is removed too. Shapes have rules of their own.
 */
import { assert } from "../../assert.ts";
import type { LayoutDocument, Row, Seat, Sector } from "../layout-document.ts";
import { duplicate, type FieldError, notFound } from "../../results.ts";
import type { LayoutBody, SentObject } from "../../shapes/bodies.ts";
import { lowerGuid, mapGuids, newGuid } from "./guids.ts";
import { mergeShapes } from "./merge-shapes.ts";
import { isSameValue } from "./same-value.ts";

export interface MergedLayout {
  readonly document: LayoutDocument;
  /** Whether it differs from the stored one. */
  readonly isChanged: boolean;
  /** How many ids the new objects take. */
  readonly newIds: number;
  readonly errors: readonly FieldError[];
}

interface StoredObject {
  readonly id: number;
  readonly guid: string;
}

/**
 * @param nextId - The first id for new objects.
 * @param timeMs - Milliseconds since 1970: makes the ids of new shapes unique.
 * Cost: O(objects stored and sent).
 */
export function mergeLayout(
  older: LayoutDocument,
  sent: LayoutBody,
  { nextId, timeMs }: { readonly nextId: number; readonly timeMs: number },
): MergedLayout {
  const [stored, body] = [mapGuids(older, lowerGuid), mapGuids(sent, lowerGuid)];
  const merging: Merging = { nextId, errors: [] };
  const sectors = mergeObjects<Sector>(stored.sectors, body.sectors, "sectors", merging);
  const rows = mergeObjects<Row>(stored.rows, body.rows, "rows", merging);
  const seats = mergeObjects<Seat>(stored.seats, body.seats, "seats", merging);
  const removedSectors = new Set(sectors.removed.map(({ guid }) => guid));
  const keptRows = rows.kept.filter(({ sectorGuid }) => !removedSectors.has(sectorGuid));
  const rowsOfRemoved = rows.kept.filter(({ sectorGuid }) => removedSectors.has(sectorGuid));
  const removedRows = new Set([...rows.removed, ...rowsOfRemoved].map(({ guid }) => guid));
  const keptSeats = seats.kept.filter(({ rowGuid }) => !removedRows.has(rowGuid));
  const emptied = new Set(stored.seats.map(({ rowGuid }) => rowGuid));
  for (const { rowGuid } of keptSeats) emptied.delete(rowGuid);
  const newShapeId = () => newGuid(timeMs, merging.nextId++);
  const { shapes, errors } = mergeShapes(stored.shapes, body.shapes ?? [], newShapeId);
  merging.errors.push(...errors);
  const document: LayoutDocument = {
    sectors: sectors.kept,
    rows: keptRows.filter(({ guid }) => !emptied.has(guid)),
    seats: keptSeats,
    shapes,
    clientViewBox: body.clientViewBox ?? stored.clientViewBox,
  };
  assert(merging.nextId >= nextId, "an id that was given out is never given out again");
  const newIds = merging.nextId - nextId;
  return { document, isChanged: isChanged(older, document), newIds, errors: merging.errors };
}

/** Cost: O(objects). */
function isChanged(older: LayoutDocument, newer: LayoutDocument): boolean {
  const { shapes, clientViewBox } = newer;
  const lists = [
    [older.sectors, newer.sectors],
    [older.rows, newer.rows],
    [older.seats, newer.seats],
  ] as const;
  const isKept = lists.every(
    ([before, after]) =>
      before.length === after.length && before.every((object, i) => object === after[i]),
  );
  if (!isKept) return true;
  return !isSameValue([older.shapes, older.clientViewBox], [shapes, clientViewBox]);
}

interface Merged<T> {
  readonly kept: T[];
  readonly removed: T[];
}

/** State that the three lists of a layout share while they are merged. */
interface Merging {
  nextId: number;
  readonly errors: FieldError[];
}

function mergeObjects<T extends StoredObject>(
  stored: readonly T[],
  sent: readonly SentObject[] | null | undefined,
  member: string,
  merging: Merging,
): Merged<T> {
  const { errors } = merging;
  const byId = new Map(stored.map((object) => [object.id, object]));
  const idOfGuid = new Map(stored.map((object) => [object.guid, object.id]));
  assert(byId.size === stored.length, "every object of a stored layout has an id of its own");
  const removed: T[] = [];
  const seen = new Set<number>();
  for (const [i, { toRemove, id: sentId, ...object }] of (sent ?? []).entries()) {
    const id = sentId ?? idOfGuid.get(object.guid) ?? merging.nextId++;
    if (typeof sentId === "number" && !byId.has(sentId)) {
      errors.push(notFound(`${member}[${i}].id`, sentId, "object in the layout"));
    } else if (seen.has(id)) {
      errors.push(duplicate(`${member}[${i}].guid`, object.guid));
    } else if (toRemove === true) {
      const old = byId.get(id);
      if (old !== undefined) removed.push(old);
      byId.delete(id);
    } else {
      const changed = { ...object, id } as unknown as T;
      const old = byId.get(id);
      // Equal objects stay the same object, which shows whether a layout has changed.
      if (old === undefined || !isSameValue(old, changed)) byId.set(id, changed);
    }
    seen.add(id);
  }
  assert(removed.length <= stored.length, "only a stored object is removed");
  return { kept: [...byId.values()], removed };
}
