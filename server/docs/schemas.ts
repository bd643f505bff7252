/** The named schemas of the document: every object has a name, and no two names mean the same. */
import type { Shape } from "../../engine/schema.ts";
import {
  AREA_COUNTS,
  AUDIT_TRAIL,
  BEST,
  BOOKED,
  ERROR_DETAIL,
  LOGIN_FAILURE,
  PARTIAL_LOCK,
  PROBLEM,
  USER,
} from "../api/entities.ts";
import { PAGEABLE, SORT } from "../api/page.ts";
import { readPackageFile } from "./package-files.ts";

/** Objects that are parts of others, or share parts with later ones. */
const SHARED: Readonly<Record<string, Shape>> = {
  ErrorDetail: ERROR_DETAIL,
  Booked: BOOKED,
  Best: BEST,
  PartialLock: PARTIAL_LOCK,
  Problem: PROBLEM,
  LoginFailure: LOGIN_FAILURE,
  User: USER,
  Sort: SORT,
  Pageable: PAGEABLE,
  AuditTrail: AUDIT_TRAIL,
  AreaPlaces: AREA_COUNTS,
};

/** Formats known to other tools. */
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

// The texts and examples of the operations, read from Markdown files: one file per tag, one section
// per operation. `server/docs/operations/README.md` describes their form.

const FOLDER = "server/docs/operations";
/** In the order of the document. A new client calls them in this order. */
const FILES = [
  "management",
  "login",
  "keys",
  "venues",
  "schemas",
  "pricing-zones",
  "series",
  "events",
  "prices",
  "booking",
  "legacy-v1",
  "platform",
  "webhooks",
  "channels",
  "admission",
  "door",
  "service",
];

export interface TagText {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly OperationText[];
}

export interface OperationText {
  /** The operation id. */
  readonly id: string;
  readonly summary: string;
  /** Method and path, as in the route table. */
  readonly endpoint: string;
  /** Names of the schemas of body and answer; empty when there is none to name. */
  readonly takes: string;
  readonly returns: string;
  /** A security scheme beyond those of the access. */
  readonly scheme: string;
  readonly isSchemeOptional: boolean;
  readonly description: string;
  /** The sentence about the successful answer. */
  readonly success: string;
  /** Refusals besides those of every route of its kind. */
  readonly refusals: readonly RefusalText[];
  readonly examples: readonly Example[];
}

export interface RefusalText {
  readonly errorCode: string;
  /** The values of `errors[].code`; empty for all of the error code. */
  readonly fieldCodes: readonly string[];
  readonly text: string;
}

/** A request and its answer. */
export interface Example {
  readonly title: string;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly status: number;
  readonly answer: unknown;
  /** Words after `http` at the top of the request and of the answer. */
  readonly requestNote: string;
  readonly answerNote: string;
}

const NAME = "`(\\w+)`";
const OPERATION = /^(\w+): (.+)\n+`([A-Z]+ \/\S*)`(.*)\n+([^]*)$/;
const REFUSAL = /^- `([A-Z_]+)`(?: \(([^)]*)\))?: ([^]*?)(?=\n- |\n\n|$(?![^]))/gm;
const FENCE = "```http(.*)\\n([^]*?)\\n```";
const EXAMPLE = new RegExp(`^(.*)\\n+${FENCE}\\n+${FENCE}`);

export function readTexts(): readonly TagText[] {
  return FILES.map((name) => tagOf(readPackageFile(`${FOLDER}/${name}.md`).toString()));
}

/** Descriptions of members, by `Schema.member`. */
export function readMembers(): ReadonlyMap<string, string> {
  const [, ...sections] = readPackageFile(`${FOLDER}/members.md`).toString().split(/^## /m);
  const members = sections.flatMap((section) => {
    const name = /^\w+/.exec(section)![0];
    const items = section.matchAll(/^- `(\w+)`: (.*)$/gm);
    return [...items].map(([, member = "", text = ""]) => [`${name}.${member}`, text] as const);
  });
  return new Map(members);
}

function tagOf(markdown: string): TagText {
  const [head = "", ...sections] = markdown.split(/^## /m);
  const [name = "", ...lines] = head.replace(/^# /, "").split("\n");
  return { name, description: lines.join("\n").trim(), operations: sections.map(operationOf) };
}

/** @throws Error when the section has another form. */
function operationOf(section: string): OperationText {
  const [prose = "", ...examples] = section.split(/^### /m);
  const parts = OPERATION.exec(prose.trim());
  if (parts === null) throw new Error(`not the text of an operation: ${section.slice(0, 60)}`);
  const [, id = "", summary = "", endpoint = "", facts = "", description = ""] = parts;
  const find = (pattern: string) => new RegExp(pattern).exec(facts)?.slice(1) ?? [];
  const [isPage, returns = ""] = find(`returns (a page of )?(?:a list of )?${NAME}`);
  const [isOptional, scheme = ""] = find(`with (an optional )?${NAME}`);
  return {
    id,
    summary,
    endpoint,
    takes: find(`takes (?:a list of )?${NAME}`)[0] ?? "",
    returns: isPage === undefined ? returns : `${returns}Page`,
    scheme,
    isSchemeOptional: isOptional !== undefined,
    description: description.replaceAll(
      /^- `([A-Z_]+)`/gm,
      (_, code: string) => `- ${codeLink(code)}`,
    ),
    success: /^Returns [^]*?(?=\n\n|$(?![^]))/m.exec(description)?.[0] ?? "",
    refusals: [...description.matchAll(REFUSAL)].map(
      ([, errorCode = "", codes = "", text = ""]) => {
        const fieldCodes = [...codes.matchAll(/`(\w+)`/g)].map(([, code]) => code!);
        return { errorCode, fieldCodes, text };
      },
    ),
    examples: examples.map(exampleOf),
  };
}

/** An error code as a link to its page. */
export function codeLink(errorCode: string): string {
  return `[\`${errorCode}\`](/docs/errors/${errorCode})`;
}

function exampleOf(section: string): Example {
  const parts = EXAMPLE.exec(section);
  if (parts === null) throw new Error(`not an example: ${section.slice(0, 60)}`);
  const [, title = "", requestNote = "", request = "", answerNote = "", answer = ""] = parts;
  const asked = messageOf(request);
  const answered = messageOf(answer);
  const [method = "", target = ""] = asked.start.split(" ");
  return {
    title,
    method,
    target,
    headers: asked.headers,
    body: asked.body,
    status: Number(answered.start.split(" ")[0]),
    answer: answered.body,
    requestNote: requestNote.trim(),
    answerNote: answerNote.trim(),
  };
}

function messageOf(text: string) {
  const [head = "", ...rest] = text.split("\n\n");
  const [start = "", ...lines] = head.split("\n");
  const headers = lines.map((line) => line.split(/: (.*)/s, 2) as [string, string]);
  const body = rest.join("\n\n");
  return { start, headers: Object.fromEntries(headers), body: valueOf(body) };
}

/** A body is JSON, or else text. */
function valueOf(body: string): unknown {
  if (body === "") return undefined;
  return /^(\{|\[|"|true$|false$)/.test(body) ? (JSON.parse(body) as unknown) : body;
}
