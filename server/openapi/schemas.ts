/** The named schemas of the document: every object has a name, and no two names mean the same. */
import type { Shape } from "../../engine/shapes/shape.ts";
import { PAGEABLE, SORT } from "../routing/page.ts";
import {
  AREA_COUNTS,
  AUDIT_TRAIL,
  ERROR_DETAIL,
  LOGIN_FAILURE,
  PROBLEM,
  USER,
} from "../wire/shapes.ts";
import { readMembers } from "./texts.ts";

/** Objects that no operation names, because they are only part of other ones. */
const SHARED: Readonly<Record<string, Shape>> = {
  ErrorDetail: ERROR_DETAIL,
  Problem: PROBLEM,
  LoginFailure: LOGIN_FAILURE,
  User: USER,
  Sort: SORT,
  Pageable: PAGEABLE,
  AuditTrail: AUDIT_TRAIL,
  AreaPlaces: AREA_COUNTS,
};

/** Formats that other tools know. */
const FORMATS = new Set(["uuid", "int64", "email", "date-time"]);
/** The formats of this project as patterns, for plain JSON Schema. */
const DATE_TIME = "\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?";
const PATTERNS: Readonly<Record<string, string>> = {
  "local-date-time": `^${DATE_TIME}$`,
  "local-date": `^(\\d{4}-\\d{2}-\\d{2}|${DATE_TIME})$`,
  moment: `^([1-9]\\d{0,14}|\\d{4}-\\d{2}-\\d{2}|${DATE_TIME})$`,
};

export class Schemas {
  /** By name. */
  readonly all: Record<string, object> = {};
  readonly #names = new Map<string, string>();
  readonly #texts = readMembers();

  constructor() {
    for (const [name, shape] of Object.entries(SHARED)) this.refer(shape, name);
  }

  /**
   * The public form of a shape, in which each object is a reference to a named schema.
   *
   * @param name - For the object, unless one of the same shape has a name.
   * @throws Error when another object has the name.
   */
  refer(shape: Shape, name: string): object {
    const { format, items, properties, ...rest } = shape;
    const { anyOf } = shape as { readonly anyOf?: readonly Shape[] };
    if (anyOf !== undefined) return { anyOf: anyOf.map((one) => this.refer(one, name)) };
    if (items !== undefined) return { ...rest, items: this.refer(items as Shape, name) };
    if (properties === undefined) return { ...rest, ...publicFormat(format) };
    const isNullable = Array.isArray(rest["type"]);
    const whole = isNullable ? { ...shape, type: "object" } : shape;
    const known = this.#names.get(JSON.stringify(whole)) ?? this.#add(whole, name);
    const reference = { $ref: `#/components/schemas/${known}` };
    return isNullable ? { anyOf: [reference, { type: "null" }] } : reference;
  }

  #add(shape: Shape, name: string): string {
    if (name === "" || name in this.all) throw new Error(`no name of its own: "${name}"`);
    this.#names.set(JSON.stringify(shape), name);
    this.all[name] = {};
    const { properties, required, ...rest } = shape;
    const members = Object.entries(properties as Record<string, Shape>).map(([member, value]) => {
      const description = this.#texts.get(`${name}.${member}`);
      const form = this.refer(value, memberName(name, member));
      return [member, description === undefined ? form : { ...form, description }] as const;
    });
    this.all[name] = {
      ...rest,
      properties: Object.fromEntries(members),
      ...((required as readonly string[]).length === 0 ? {} : { required }),
    };
    return name;
  }
}

/** `LayoutSeat` for the items of `seats` in a `Layout`; a `VenuePage` has content of `Venue`. */
function memberName(name: string, member: string): string {
  if (member === "content") return name.replace(/Page$/, "");
  return name + member[0]!.toUpperCase() + member.slice(1).replace(/s$/, "");
}

function publicFormat(format: unknown): object {
  const pattern = PATTERNS[String(format)];
  if (pattern !== undefined) return { pattern };
  return FORMATS.has(String(format)) ? { format } : {};
}
