/** Valid values of shapes, and all the ways to make them invalid. */
import { type CommandKind, type CommandOf, COMMANDS, commandShape } from "../../engine/commands.ts";
import type { Caller } from "../../engine/bodies.ts";

/** The keywords of shapes. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
}

const BY_TYPE = { string: "text", integer: 7, boolean: true, null: null, array: [], object: {} };
const BY_FORMAT: Readonly<Record<string, string>> = {
  uuid: "00000000-0000-4000-8000-00000000000A",
  "lower-case-uuid": "00000000-0000-4000-8000-00000000000a",
  "channel-key": "agency",
  currency: "EUR",
  email: "ann@odeon.example",
  "local-date-time": "2030-05-01T20:00",
};

/** Commands of library callers, and those of the front only. */
const KINDS = Object.keys(COMMANDS) as CommandKind[];
export const OPEN_KINDS = KINDS.filter((kind) => COMMANDS[kind].isInternal !== true);
export const INTERNAL_KINDS = KINDS.filter((kind) => COMMANDS[kind].isInternal === true);

/** A valid value of the shape, with every optional member. */
function sampleOf(schema: Schema): unknown {
  const type = [schema.type ?? "null"].flat()[0];
  if (schema.enum !== undefined) return schema.enum[0];
  if (type === "string") return BY_FORMAT[schema.format ?? ""] ?? "x".repeat(8);
  if (type === "integer" || type === "number") return Math.max(1, schema.minimum ?? 1);
  if (type === "array") return [sampleOf(schema.items!)];
  if (type !== "object") return BY_TYPE[type as "null"];
  const members = Object.entries(schema.properties ?? {});
  return Object.fromEntries(members.map(([name, member]) => [name, sampleOf(member)]));
}

export function sampleCommand<K extends CommandKind>(kind: K, caller: Caller): CommandOf<K> {
  return { ...(sampleOf(commandShape(kind) as Schema) as object), kind, caller } as CommandOf<K>;
}

/** A sample with one thing changed. */
export interface Change {
  /** The changed member, in the notation of field errors. */
  readonly field: string;
  readonly value: unknown;
  /** The changed sample is still valid. */
  readonly isValid: boolean;
}

/** Each member of the command left out, or with a wrong value; and one member too many. */
export function changesOf(kind: CommandKind, command: object): Change[] {
  const shape = commandShape(kind) as Schema;
  const { kind: _, ...properties } = shape.properties!;
  return [
    { field: "further", value: { ...command, further: 1 }, isValid: false },
    ...changesIn({ ...shape, properties }, command, ""),
  ];
}

function changesIn(schema: Schema, value: unknown, path: string): Change[] {
  if (Array.isArray(value)) {
    const changes = changesIn(schema.items!, value[0], `${path}[0]`);
    return changes.map((change) => ({ ...change, value: [change.value] }));
  }
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const field = path === "" ? name : `${path}.${name}`;
    const { [name]: own, ...others } = value as Readonly<Record<string, unknown>>;
    const put = (changed: unknown) => ({ ...others, [name]: changed });
    const wrong = wrongValues(member).map((bad) => ({ field, value: put(bad), isValid: false }));
    const inside = changesIn(member, own, field);
    return [
      { field, value: others, isValid: !schema.required!.includes(name) },
      ...wrong,
      ...inside.map((change) => ({ ...change, value: put(change.value) })),
    ];
  });
}

/** Values of every type that the shape does not take, and values beyond each of its limits. */
function wrongValues(schema: Schema): unknown[] {
  const types = [schema.type ?? []].flat();
  if (types.length === 0) return [];
  const isNumber = types.includes("number");
  const others = Object.entries(BY_TYPE).filter(
    ([type]) => !types.includes(type) && !(isNumber && type === "integer"),
  );
  const { minLength, maxLength, minimum, maximum, maxItems, format } = schema;
  return [
    ...others.map(([, value]) => value),
    ...(types.includes("integer") ? [0.5] : []),
    ...(schema.enum === undefined ? [] : [types.includes("string") ? "ANOTHER" : 99]),
    ...(minLength === undefined ? [] : ["x".repeat(minLength - 1)]),
    ...(maxLength === undefined ? [] : ["x".repeat(maxLength + 1)]),
    ...(minimum === undefined ? [] : [minimum - 1]),
    ...(maximum === undefined ? [] : [maximum + 1]),
    ...(maxItems === undefined
      ? []
      : [Array.from({ length: maxItems + 1 }, () => sampleOf(schema.items!))]),
    ...(format === undefined || format === "int64" ? [] : ["no\u0000such"]),
  ];
}
