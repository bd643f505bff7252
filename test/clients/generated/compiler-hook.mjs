/**
 * The client generator uses the TypeScript compiler as a library, which version 7 does not offer.
 * This hook replaces it with one that does. Use: `node --import ./compiler-hook.mjs …`.
 */
import { register } from "node:module";

const COMPILER = new URL("./compiler.mjs", import.meta.url).href;
const HOOK = `
export function resolve(specifier, context, next) {
  return next(specifier === "typescript" ? ${JSON.stringify(COMPILER)} : specifier, context);
}`;

register(`data:text/javascript,${encodeURIComponent(HOOK)}`);
