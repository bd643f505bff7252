/** Equality of JSON values. The order of the members of an object does not count. */

export function isSameValue(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [membersOfA, membersOfB] = [a, b] as Readonly<Record<string, unknown>>[];
  const names = Object.keys(membersOfA!);
  if (names.length !== Object.keys(membersOfB!).length) return false;
  for (const name of names) {
    if (!Object.hasOwn(b, name) || !isSameValue(membersOfA![name], membersOfB![name])) return false;
  }
  return true;
}
