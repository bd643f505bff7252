/**
 * Merges sent drawing shapes into the stored ones. A shape is known by its id. One that is sent
 * without an id is the stored shape with the same members, or is new and gets an id. Shapes that
 * are not sent stay, and `toRemove` removes one.
 */
import type { Shape } from "../layout-document.ts";
import { duplicate, type FieldError } from "../../results.ts";
import type { SentShape } from "../../shapes/bodies.ts";

/** @param newId - Makes an id that no other shape has. Cost: O(shapes stored and sent). */
export function mergeShapes(
  stored: readonly Shape[],
  sent: readonly SentShape[],
  newId: () => string,
): { readonly shapes: readonly Shape[]; readonly errors: readonly FieldError[] } {
  const errors: FieldError[] = [];
  const byId = new Map<string, Shape>();
  /** By members: ids of shapes that no sent shape has matched yet. */
  const idsOf = new Map<string, string[]>();
  for (const { id: storedId, ...shape } of stored) {
    // Before shapes had to have ids, some had none.
    const id = typeof storedId !== "string" || byId.has(storedId) ? newId() : storedId;
    byId.set(id, { id, ...shape });
    const key = JSON.stringify(shape);
    const ids = idsOf.get(key);
    if (ids === undefined) idsOf.set(key, [id]);
    else ids.push(id);
  }
  const seen = new Set<string>();
  for (const [i, { id: sentId, toRemove, ...shape }] of sent.entries()) {
    const id = sentId ?? idsOf.get(JSON.stringify(shape))?.shift() ?? newId();
    if (seen.has(id)) errors.push(duplicate(`shapes[${i}].id`, id));
    else if (toRemove === true) byId.delete(id);
    else byId.set(id, { id, ...shape });
    seen.add(id);
  }
  return { shapes: [...byId.values()], errors };
}
