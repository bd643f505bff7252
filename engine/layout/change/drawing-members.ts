/**
 * Drawing members: those of a layout's objects that the engine does not interpret. They are stored
 * and given back, within a limit for each object.
 */
import { DRAWING_BYTES_MAX } from "../../constants.ts";
import type { FieldError } from "../../results.ts";
import { type LayoutBody, LAYOUT_OBJECT_MEMBERS } from "../../shapes/bodies.ts";
import { jsonBytes } from "../../shapes/json-bytes.ts";

/** Enough for a person to see what is wrong. */
const ERRORS_MAX = 100;
/** The longest number as JSON, and "false" or "null". */
const NUMBER_BYTES_MAX = 25;
/** A control character as JSON. */
const UNIT_BYTES_MAX = 6;

/** Cost: O(members of the objects). */
export function checkDrawing(body: LayoutBody): FieldError[] {
  const errors: FieldError[] = [];
  for (const [list, members] of Object.entries(LAYOUT_OBJECT_MEMBERS)) {
    const objects = body[list as keyof typeof LAYOUT_OBJECT_MEMBERS] ?? [];
    for (const [i, object] of objects.entries()) {
      const bytes = drawingBytes(object, members);
      if (bytes > DRAWING_BYTES_MAX) errors.push(tooLong(`${list}[${i}]`, bytes));
      if (errors.length === ERRORS_MAX) return errors;
    }
  }
  const bytes = jsonBytes(body.clientViewBox ?? null);
  if (bytes > DRAWING_BYTES_MAX) errors.push(tooLong("clientViewBox", bytes));
  return errors;
}

function tooLong(field: string, bytes: number): FieldError {
  const message = `its drawing members take at most ${DRAWING_BYTES_MAX} bytes as JSON`;
  return { field, code: "SIZE", message, rejectedValue: bytes };
}

/**
 * @param known - Names of members that are not drawing members.
 * @returns Bytes of the drawing members as JSON; at most the limit when they are surely within it.
 */
function drawingBytes(object: object, known: ReadonlySet<string>): number {
  const drawing: Record<string, unknown> = {};
  let bytesMax = 0;
  for (const name in object) {
    if (known.has(name)) continue;
    const value = (object as Readonly<Record<string, unknown>>)[name];
    drawing[name] = value;
    bytesMax += UNIT_BYTES_MAX * name.length + bytesAtMost(value);
  }
  return bytesMax <= DRAWING_BYTES_MAX ? bytesMax : jsonBytes(drawing);
}

/** Far cheaper than the exact size: a layout has hundreds of thousands of objects. */
function bytesAtMost(value: unknown): number {
  if (typeof value === "string") return UNIT_BYTES_MAX * value.length + 2;
  if (typeof value === "object" && value !== null) return jsonBytes(value);
  return NUMBER_BYTES_MAX;
}
