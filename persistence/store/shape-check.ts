/**
 * Checks an embedded caller's command, as the front checks a request: the front has its own texts,
 * both have the shapes of the engine.
 */
import { Ajv, type ValidateFunction } from "ajv";
import type { CommandKind } from "../../engine/commands.ts";
import { isCommandKind } from "../../engine/decide.ts";
import { ActorKind } from "../../engine/records.ts";
import type { FieldError } from "../../engine/results.ts";
import { BODIES, FORMATS, LONG, object, type Shape, UUID_SHAPE } from "../../engine/shapes.ts";

/** Commands that only the front gives: they carry what it has made of a request. */
const INTERNAL: ReadonlySet<CommandKind> = new Set<CommandKind>([
  "openLogin",
  "renewLogin",
  "closeLogin",
  "rememberReply",
]);

const CALLER = object(
  {
    actor: object(
      {
        kind: { type: "integer", enum: Object.values(ActorKind) },
        id: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
      },
      ["kind", "id"],
    ),
    tenantId: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    organizationId: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  },
  ["actor", "tenantId", "organizationId"],
);

/** The ids that commands carry beside their body. */
const IDS: Readonly<Record<string, Shape>> = {
  eventId: { ...UUID_SHAPE, pattern: "^[^A-F]+$" },
  venueId: LONG,
  schemaId: LONG,
  organizationId: LONG,
  priceId: LONG,
  zoneId: LONG,
};

const ajv = new Ajv({ allErrors: false, allowUnionTypes: true, verbose: true });
for (const [name, validate] of Object.entries(FORMATS)) ajv.addFormat(name, validate);
ajv.addFormat("int64", true);

/** By kind: the command as a whole. */
const checks = new Map<CommandKind, ValidateFunction>();

/** @returns The first thing that is wrong with the command; empty when nothing is. */
export function commandFaults(command: { readonly kind: string }): FieldError[] {
  const { kind } = command;
  if (!isCommandKind(kind) || INTERNAL.has(kind)) {
    const message = "there is no such command";
    return [{ field: "kind", code: "UNKNOWN", message, rejectedValue: kind }];
  }
  let check = checks.get(kind);
  if (check === undefined) checks.set(kind, (check = ajv.compile(shapeOf(kind))));
  if (check(command)) return [];
  return check.errors!.map(({ instancePath, keyword, message, data }) => ({
    field: instancePath
      .slice(1)
      .replaceAll(/\/(\d+)/g, "[$1]")
      .replaceAll("/", "."),
    code: keyword.toUpperCase(),
    message: message!,
    rejectedValue: data,
  }));
}

function shapeOf(kind: CommandKind): Shape {
  const body = (BODIES as Readonly<Record<string, Shape | undefined>>)[kind];
  const required = ["caller", ...(body === undefined ? [] : ["body"])];
  return object({ caller: CALLER, ...IDS, ...(body === undefined ? {} : { body }) }, required);
}
