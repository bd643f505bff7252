/** Sizes of values as JSON. */
import { assert } from "../assert.ts";

/**
 * Bytes of the value as JSON in UTF-8. Unlike `JSON.stringify` it takes any depth, and it builds no
 * text of the whole. Cost: O(size of the value).
 */
export function jsonBytes(value: unknown): number {
  let bytes = 0;
  const left: unknown[] = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next !== "object" || next === null) {
      bytes += utf8Bytes(JSON.stringify(next) ?? "null");
      continue;
    }
    const isList = Array.isArray(next);
    const names = isList ? [] : Object.keys(next).filter((name) => isWritten(next, name));
    const items: unknown[] = isList ? next : names.map((name) => memberOf(next, name));
    // Brackets and commas; a name has its colon.
    bytes += 2 + Math.max(0, items.length - 1);
    for (const name of names) bytes += utf8Bytes(JSON.stringify(name)) + 1;
    for (const item of items) left.push(item);
  }
  return bytes;
}

/** Bytes of the text as UTF-8. Cost: O(length). */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    // A surrogate counts two of the four bytes that its pair takes.
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1;
  }
  assert(bytes <= 3 * text.length, "a UTF-16 unit takes at most three bytes of UTF-8");
  return bytes;
}

/** JSON leaves out members that are undefined. */
function isWritten(object: object, name: string): boolean {
  return memberOf(object, name) !== undefined;
}

function memberOf(object: object, name: string): unknown {
  return (object as Readonly<Record<string, unknown>>)[name];
}
