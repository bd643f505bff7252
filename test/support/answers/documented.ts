/** Answers against the OpenAPI document. */
import { gunzipSync } from "node:zlib";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { FORMATS } from "../../../engine/schema.ts";
import { openApiDocument } from "../../../server/docs/openapi.ts";
import { PLATFORM_ROUTES } from "../../../server/routes/organizations.ts";
import { API_ROUTES } from "../../../server/routes/table.ts";
import type { Route } from "../../../server/api/route.ts";
import type { Answer } from "../../../server/http/answers.ts";

interface Described {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface OpenApi {
  readonly paths: Record<string, Record<string, { responses: Record<string, Described> }>>;
  readonly components: { readonly responses: Record<string, Described> };
}

const BODY_CHARS_SHOWN = 300;

/** Every route of the document. */
export const DESCRIBED: readonly Route[] = [...API_ROUTES, ...PLATFORM_ROUTES];
export const DOCUMENT = openApiDocument(DESCRIBED, "0.0.0-test") as OpenApi;
const ajv = new Ajv2020({ strict: false, allErrors: true });
for (const name of ["uuid", "email"]) ajv.addFormat(name, FORMATS[name]!);
ajv.addFormat("int64", true);
ajv.addFormat("date-time", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
ajv.addSchema({ $id: "frontrow", components: DOCUMENT.components });
const checks = new Map<string, ValidateFunction>();

export function rowOf({ method, path: template }: Route): string {
  return `${method.toUpperCase()} ${template}`;
}

/** @returns The deviation from the document; null for none, and for pages. */
export function undocumented(route: Route, answer: Answer): string | null {
  const { status, type, body } = answer;
  const row = rowOf(route);
  const operation = DOCUMENT.paths[route.path]?.[route.method];
  if (operation === undefined) return null;
  const found = operation.responses[status];
  if (found === undefined) return `${row} answers ${status}, which is not documented`;
  const shared = found.$ref?.split("/").at(-1);
  const response = shared === undefined ? found : DOCUMENT.components.responses[shared];
  const media = type.split(";", 1)[0]!;
  if (response?.content === undefined) return body === "" ? null : `${row} ${status} has a body`;
  const schema = response.content[media]?.schema;
  if (schema === undefined) return `${row} ${status} is not documented as ${media}`;
  if (!media.includes("json")) return null;
  const key = `${row} ${status}`;
  let check = checks.get(key);
  if (check === undefined) checks.set(key, (check = ajv.compile(withRefs(schema))));
  if (check(JSON.parse(plainText(answer)))) return null;
  const errors = JSON.stringify(check.errors);
  return `${key} does not match its schema: ${errors}\n${String(body).slice(0, BODY_CHARS_SHOWN)}`;
}

/** The text of an answer, decompressed. */
export function plainText({ body, headers }: Answer): string {
  const isCompressed = headers.some(([name]) => name === "Content-Encoding");
  const bytes = Buffer.from(body);
  return (isCompressed ? gunzipSync(bytes) : bytes).toString("utf8");
}

/** Makes references point to the components of the document. */
function withRefs(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"frontrow#/')) as object;
}
