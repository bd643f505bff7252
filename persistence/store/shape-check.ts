/** Validates every member of a library caller's command, as the server validates a request. */
import { Ajv, type ValidateFunction } from "ajv";
import {
  type CommandKind,
  type CommandOf,
  COMMANDS,
  commandShape,
  isCommandKind,
} from "../../engine/commands.ts";
import {
  type FieldError,
  refuse,
  type Refusal,
  refuseInvalid,
  Result,
} from "../../engine/results.ts";
import { composerOf, fieldErrorOf } from "../../engine/violations.ts";
import { FORMATS, type Shape } from "../../engine/schema.ts";
import type { State } from "../../engine/state.ts";

const ajv = new Ajv({ strict: true, allowUnionTypes: true, verbose: true });
for (const [name, validate] of Object.entries(FORMATS)) ajv.addFormat(name, validate);
ajv.addFormat("int64", true);

const checks = new Map<CommandKind, ValidateFunction>();
const composers = new Map<CommandKind, ReturnType<typeof composerOf>>();

/** The command with its texts in the composed form, in which the front hands them on. */
export function composeCommand<K extends CommandKind>(command: CommandOf<K>): CommandOf<K> {
  const { kind } = command;
  if (!isCommandKind(kind)) return command;
  let compose = composers.get(kind);
  if (compose === undefined) composers.set(kind, (compose = composerOf(commandShape(kind))));
  return compose === null ? command : (compose(command) as CommandOf<K>);
}

/** Refuses a command of the wrong shape, and one whose caller does not exist; else returns null. */
export function refuseCommand<K extends CommandKind>(
  { catalog }: State,
  command: CommandOf<K>,
): Refusal | null {
  const errors = commandErrors(command);
  if (errors.length > 0) return refuseInvalid(errors);
  const { organizationId, tenantId } = command.caller;
  const { scope } = COMMANDS[command.kind];
  if (organizationId === 0 && scope === "platform") return null;
  const isKnown =
    organizationId === 0 && scope === "tenant"
      ? catalog.tenants.has(tenantId)
      : catalog.organizations.get(organizationId)?.tenantId === tenantId;
  return isKnown
    ? null
    : refuse(Result.ACCESS_DENIED, "The caller's tenant has no such organization: check its id.");
}

/** @returns Why the command is invalid; empty when it is valid. */
export function commandErrors(command: { readonly kind: string }): FieldError[] {
  const { kind } = command;
  if (!isCommandKind(kind) || COMMANDS[kind].isInternal === true) {
    const message = "there is no such command";
    return [{ field: "kind", code: "UNKNOWN", message, rejectedValue: kind }];
  }
  let check = checks.get(kind);
  if (check === undefined) checks.set(kind, (check = ajv.compile(commandShape(kind))));
  return check(command) ? [] : check.errors!.map(fieldErrorOf).map(withoutBody);
}

/** Over HTTP too, the path to a member of the body begins in the body. */
function withoutBody(error: FieldError): FieldError {
  return { ...error, field: error.field.replace(/^body(\.|(?=\[))/, "") };
}

/** @returns Why the value does not match the shape; paths begin in the value. */
export function shapeErrors(shape: Shape, value: unknown): FieldError[] {
  const check = ajv.compile(shape);
  return check(value) ? [] : check.errors!.map(fieldErrorOf);
}
