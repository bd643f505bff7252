/** Valid values made from shapes, and what can be wrong with them. */
import { type CommandKind, type CommandOf, COMMANDS, commandShape } from "../../engine/commands.ts";
import type { Caller } from "../../engine/shapes/caller.ts";
import type { Shape } from "../../engine/shapes/shape.ts";

const TEXT_OF_FORMAT: Readonly<Record<string, string>> = {
  uuid: "00000000-0000-4000-8000-00000000000A",
  "lower-case-uuid": "00000000-0000-4000-8000-00000000000a",
  email: "ann@odeon.example",
  "local-date-time": "2030-05-01T20:00",
};

/** One value of each type of JSON. */
const BY_TYPE: Readonly<Record<string, unknown>> = {
  string: "text",
  integer: 7,
  boolean: true,
  null: null,
  array: [],
  object: {},
};

/** A value that matches the shape, with every optional member. */
export function sampleOf(shape: Shape): unknown {
  const values = shape["enum"] as readonly unknown[] | undefined;
  if (values !== undefined) return values[0];
  const type = typesOf(shape)[0] ?? "null";
  switch (type) {
    case "string":
      return TEXT_OF_FORMAT[String(shape["format"])] ?? "x".repeat(8);
    case "integer":
    case "number":
      return Math.max(1, Number(shape["minimum"] ?? 1));
    case "array":
      return [sampleOf(shape["items"] as Shape)];
    case "object":
      return Object.fromEntries(
        Object.entries(propertiesOf(shape)).map(([name, member]) => [name, sampleOf(member)]),
      );
    default:
      return BY_TYPE[type];
  }
}

export function sampleCommand<K extends CommandKind>(kind: K, caller: Caller): CommandOf<K> {
  const command = sampleOf(commandShape(kind)) as object;
  return { ...command, kind, caller } as CommandOf<K>;
}

/** A sample with one thing changed. */
export interface Change {
  /** The changed member, in the notation of field errors. */
  readonly field: string;
  readonly what: "missing" | "wrong type" | "further member";
  readonly command: object;
  /** Whether the changed command still matches its shape. */
  readonly isValid: boolean;
}

/** Each member of the command left out, or of another type; and one member more. */
export function changesOf(kind: CommandKind, command: object): Change[] {
  const shape = { ...commandShape(kind) };
  const { kind: _, ...properties } = propertiesOf(shape);
  return [
    ...changesIn({ ...shape, properties }, command, ""),
    {
      field: "further",
      what: "further member",
      command: { ...command, further: 1 },
      isValid: false,
    },
  ];
}

function changesIn(shape: Shape, value: unknown, path: string): Change[] {
  if (Array.isArray(value)) {
    const changes = changesIn(shape["items"] as Shape, value[0], `${path}[0]`);
    return changes.map((change) => ({ ...change, command: [change.command] }));
  }
  if (typeof value !== "object" || value === null) return [];
  const required = (shape["required"] ?? []) as readonly string[];
  return Object.entries(propertiesOf(shape)).flatMap(([name, member]) => {
    const field = path === "" ? name : `${path}.${name}`;
    const { [name]: own, ...others } = value as Readonly<Record<string, unknown>>;
    const put = (changed: unknown) => ({ ...others, [name]: changed });
    const isRequired = required.includes(name);
    return [
      { field, what: "missing" as const, command: others, isValid: !isRequired },
      ...wrongValues(member).map((wrong) => {
        return { field, what: "wrong type" as const, command: put(wrong), isValid: false };
      }),
      ...changesIn(member, own, field).map((change) => {
        return { ...change, command: put(change.command) };
      }),
    ];
  });
}

/** Values of every type that the shape does not take. */
function wrongValues(shape: Shape): unknown[] {
  const types = typesOf(shape);
  if (types.length === 0) return [];
  const isNumber = types.includes("number");
  const names = Object.keys(BY_TYPE).filter((type) => {
    return !types.includes(type) && !(isNumber && type === "integer");
  });
  return [...names.map((type) => BY_TYPE[type]), ...(isNumber ? [] : [0.5])];
}

function typesOf(shape: Shape): readonly string[] {
  return [shape["type"] ?? []].flat() as string[];
}

function propertiesOf(shape: Shape): Readonly<Record<string, Shape>> {
  return (shape["properties"] ?? {}) as Readonly<Record<string, Shape>>;
}

/** Commands that a library caller may give. */
export const OPEN_KINDS = (Object.keys(COMMANDS) as CommandKind[]).filter(
  (kind) => COMMANDS[kind].isInternal !== true,
);
