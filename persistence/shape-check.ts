/**
 * Checks the body of an embedded caller's command against its shape, as the front does over HTTP.
 */
import { Ajv, type ValidateFunction } from "ajv";
import type { Fault } from "../engine/results.ts";
import { BODIES, FORMATS, type Shape } from "../engine/shapes.ts";

const ajv = new Ajv({ allErrors: true, allowUnionTypes: true, verbose: true });
for (const [name, validate] of Object.entries(FORMATS)) ajv.addFormat(name, validate);
ajv.addFormat("int64", true);

const checks = new Map<Shape, ValidateFunction>();

/** @returns What is wrong with the body; empty when nothing is, or when the command has none. */
export function shapeFaults(command: { readonly kind: string; readonly body?: unknown }): Fault[] {
  const shape = (BODIES as Readonly<Record<string, Shape | undefined>>)[command.kind];
  if (shape === undefined) return [];
  let check = checks.get(shape);
  if (check === undefined) checks.set(shape, (check = ajv.compile(shape)));
  if (check(command.body)) return [];
  return (check.errors ?? []).map(({ instancePath, keyword, message, data }) => ({
    field: instancePath,
    code: keyword.toUpperCase(),
    message: message ?? "is not valid",
    rejectedValue: data,
  }));
}
