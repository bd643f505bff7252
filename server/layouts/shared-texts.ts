/**
 * Two layouts in little more memory than one takes: what is sent mostly has the texts of what is
 * stored, and the drawing of the largest layouts is tens of megabytes of texts.
 */
import type { LayoutBody } from "../../engine/shapes/bodies.ts";

type Members = Record<string, unknown>;

/**
 * @returns For `parseInPieces` of the stored layout: its objects with the same texts as before, of
 * which those that the sent object with that guid or id has, too, are in memory once.
 * Cost: O(objects of the body); of each item, O(bytes).
 */
export function sharingTexts(body: LayoutBody): (item: unknown) => unknown {
  const sent = new Map<unknown, object>();
  for (const list of [body.sectors, body.rows, body.seats, body.shapes]) {
    for (const object of list ?? []) sent.set(nameOf(object), object);
  }
  return (item) => shared(item, sent.get(nameOf(item)));
}

/** A shape has no guid. */
function nameOf(item: unknown): unknown {
  const { guid, id } = (item ?? {}) as Members;
  return guid ?? id;
}

/** Changes an object or a list in place, which nobody else knows yet. */
function shared(value: unknown, twin: unknown): unknown {
  if (value === twin) return twin;
  if (typeof value !== "object" || value === null) return value;
  if (typeof twin !== "object" || twin === null) return value;
  const [members, others] = [value as Members, twin as Members];
  for (const name in members) members[name] = shared(members[name], others[name]);
  return value;
}
