/**
 * A sent layout laid over the stored one. Objects with an id replace the stored object of that id,
 * others the one of the same guid, or are new; what is not sent stays; `toRemove` removes, a sector
 * with its rows and seats. A row that loses its last seat goes as well.
 */
import type { LayoutBody, SentObject } from "../../commands.ts";
import type { LayoutDocument, Row, Seat, Sector } from "../../layout/layout-document.ts";
import { type FieldError, duplicate, notFound } from "../../results.ts";

export interface MergedLayout {
  readonly document: LayoutDocument;
  readonly nextId: number;
  readonly faults: readonly FieldError[];
}

interface StoredObject {
  readonly id: number;
  readonly guid: string;
}

/** Cost: O(objects stored and sent). */
export function mergeLayout(
  stored: LayoutDocument,
  body: LayoutBody,
  nextId: number,
): MergedLayout {
  const merging: Merging = { nextId, faults: [] };
  const sectors = mergeObjects<Sector>(stored.sectors, body.sectors, "sectors", merging);
  const rows = mergeObjects<Row>(stored.rows, body.rows, "rows", merging);
  const seats = mergeObjects<Seat>(stored.seats, body.seats, "seats", merging);
  const goneSectors = new Set(sectors.removed.map(({ guid }) => guid));
  const keptRows = rows.kept.filter(({ sectorGuid }) => !goneSectors.has(sectorGuid));
  const goneRows = new Set(
    [...rows.removed, ...rows.kept.filter(({ sectorGuid }) => goneSectors.has(sectorGuid))].map(
      ({ guid }) => guid,
    ),
  );
  const keptSeats = seats.kept.filter(({ rowGuid }) => !goneRows.has(rowGuid));
  const emptied = new Set(stored.seats.map(({ rowGuid }) => rowGuid));
  for (const { rowGuid } of keptSeats) emptied.delete(rowGuid);
  const document: LayoutDocument = {
    sectors: sectors.kept,
    rows: keptRows.filter(({ guid }) => !emptied.has(guid)),
    seats: keptSeats,
    shapes: body.shapes ?? stored.shapes,
    clientViewBox: body.clientViewBox ?? stored.clientViewBox,
  };
  return { document, nextId: merging.nextId, faults: merging.faults };
}

interface Merged<T> {
  readonly kept: T[];
  readonly removed: T[];
}

/** What the merging of the three lists of a layout shares. */
interface Merging {
  nextId: number;
  readonly faults: FieldError[];
}

function mergeObjects<T extends StoredObject>(
  stored: readonly T[],
  sent: readonly SentObject[] | null | undefined,
  member: string,
  merging: Merging,
): Merged<T> {
  const { faults } = merging;
  const byId = new Map(stored.map((object) => [object.id, object]));
  const idOfGuid = new Map(stored.map((object) => [object.guid, object.id]));
  const removed: T[] = [];
  const seen = new Set<number>();
  for (const [i, { toRemove, id: sentId, ...object }] of (sent ?? []).entries()) {
    const id = sentId ?? idOfGuid.get(object.guid) ?? merging.nextId++;
    if (typeof sentId === "number" && !byId.has(sentId)) {
      faults.push(notFound(`${member}[${i}].id`, sentId, "object in the layout"));
    } else if (seen.has(id)) {
      faults.push(duplicate(`${member}[${i}].guid`, object.guid, "is there twice"));
    } else if (toRemove === true) {
      const old = byId.get(id);
      if (old !== undefined) removed.push(old);
      byId.delete(id);
    } else {
      byId.set(id, { ...object, id } as unknown as T);
    }
    seen.add(id);
  }
  return { kept: [...byId.values()], removed };
}
