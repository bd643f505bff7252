/**
 * Unicode composition: names and other texts that people read are stored, compared and searched in
 * the composed form (NFC). Session ids, passwords and keys stay as they are.
 */
import type { Shape } from "./shape.ts";

const COMPOSED_FORMATS: ReadonlySet<unknown> = new Set(["email", "name", "text"]);

type Compose = (value: unknown) => unknown;

/** Whether a text of the shape is stored in the composed form. */
export function isComposed(shape: Shape): boolean {
  return COMPOSED_FORMATS.has(shape["format"]);
}

/**
 * Makes the function that composes the texts in a value of the shape. It accepts values that do
 * not match the shape, and changes nothing in place.
 *
 * @returns Null when no member of the shape is such a text.
 */
export function composerOf(shape: Shape): Compose | null {
  if (isComposed(shape)) {
    return (value) => (typeof value === "string" ? value.normalize("NFC") : value);
  }
  const { items, properties } = shape as { items?: Shape; properties?: Record<string, Shape> };
  if (items !== undefined) {
    const compose = composerOf(items);
    if (compose === null) return null;
    return (value) => (Array.isArray(value) ? value.map(compose) : value);
  }
  const members = Object.entries(properties ?? {}).flatMap(([name, member]) => {
    const compose = composerOf(member);
    return compose === null ? [] : [[name, compose] as const];
  });
  return members.length === 0 ? null : (value) => composeMembers(value, members);
}

function composeMembers(value: unknown, members: readonly (readonly [string, Compose])[]): unknown {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  const given = value as Readonly<Record<string, unknown>>;
  const changed: Record<string, unknown> = {};
  for (const [name, compose] of members) {
    const composed = compose(given[name]);
    if (composed !== given[name]) changed[name] = composed;
  }
  return Object.keys(changed).length === 0 ? value : { ...given, ...changed };
}
