/**
 * Guids of layouts: UUIDs, kept and compared in lower case. Layouts that were stored before guids
 * had to be UUIDs keep theirs.
 */
import { assert } from "../../assert.ts";
import { FORMATS } from "../../shapes/formats.ts";

/** The lists of a layout, as it is sent or stored. */
interface Lists {
  readonly sectors?: readonly object[] | null | undefined;
  readonly rows?: readonly object[] | null | undefined;
  readonly seats?: readonly object[] | null | undefined;
  readonly shapes?: readonly object[] | null | undefined;
}

/** The members that are guids, by list. */
const GUIDS: Readonly<Record<keyof Lists, readonly string[]>> = {
  sectors: ["guid"],
  rows: ["guid", "sectorGuid"],
  seats: ["guid", "rowGuid"],
  shapes: ["id", "groupOfSeatsGuid"],
};

/** Applies a function to every guid of a layout. Cost: O(objects). */
export function mapGuids<L extends Lists>(layout: L, change: (guid: string) => string): L {
  const lists = Object.entries(GUIDS).map(([name, members]) => {
    const objects = layout[name as keyof Lists];
    return [name, objects?.map((object) => changeMembers(object, members, change))] as const;
  });
  return { ...layout, ...Object.fromEntries(lists) };
}

/** @returns The object itself when nothing changes. */
function changeMembers(
  object: object,
  members: readonly string[],
  change: (guid: string) => string,
): object {
  let changes: Record<string, string> | null = null;
  for (const member of members) {
    const guid = (object as Readonly<Record<string, unknown>>)[member];
    if (typeof guid !== "string") continue;
    const other = change(guid);
    if (other !== guid) (changes ??= {})[member] = other;
  }
  return changes === null ? object : { ...object, ...changes };
}

export function lowerGuid(guid: string): string {
  return FORMATS["uuid"]!(guid) ? guid.toLowerCase() : guid;
}

/**
 * A new guid: a UUID of version 8, made of the time and of an id that the engine has just given
 * out, since the engine has no randomness.
 */
export function newGuid(timeMs: number, id: number): string {
  const time = timeMs.toString(16).padStart(12, "0");
  const serial = id.toString(16).padStart(14, "0");
  assert(time.length === 12 && serial.length === 14, "time and id fit into a guid");
  const variant = `80${serial.slice(0, 2)}`;
  return `${time.slice(0, 8)}-${time.slice(8)}-8000-${variant}-${serial.slice(2)}`;
}
