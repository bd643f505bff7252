/**
 * Checks every answer that a test gets against the OpenAPI document, and records it with the name
 * of the test for the contract table.
 */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { appendFileSync } from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import { FORMATS } from "../../engine/shapes/formats.ts";
import { PLATFORM_ROUTES } from "../../server/routes/management/tenants.ts";
import { API_ROUTES } from "../../server/routes/table.ts";
import { openApiDocument } from "../../server/routing/openapi.ts";
import type { Route } from "../../server/routing/route.ts";
import type { Answer } from "../../server/wire/answers.ts";
import type { Request } from "../../server/wire/front.ts";
import { type Witnessed, witnessFolder } from "./witness-folder.ts";

interface Described {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface OpenApi {
  readonly paths: Record<string, Record<string, { responses: Record<string, Described> }>>;
  readonly components: object;
}

const routes = [...API_ROUTES, ...PLATFORM_ROUTES];
const document = openApiDocument(routes, "0.0.0-test") as OpenApi;
const described = new Set(routes);
const ajv = new Ajv2020({ strict: false, allErrors: true });
for (const name of ["uuid", "email"]) ajv.addFormat(name, FORMATS[name]!);
ajv.addFormat("int64", true);
ajv.addFormat("date-time", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
ajv.addSchema({ $id: "frontrow", components: document.components });
const checks = new Map<string, ValidateFunction>();
const recorded = new Set<string>();

/** Fails the test when the document does not describe the answer. */
export function witness(route: Route | undefined, request: Request, answer: Answer): void {
  if (route === undefined) return;
  const row = `${route.method.toUpperCase()} ${route.path}`;
  if (described.has(route)) checkAnswer(route, row, answer);
  record({ row, status: answer.status, test: expect.getState().currentTestName ?? request.path });
}

function checkAnswer(route: Route, row: string, { status, type, body }: Answer): void {
  const response = document.paths[route.path]?.[route.method]?.responses[status];
  expect(response, `${row} answers ${status}, which is not documented`).toBeDefined();
  const media = type.split(";", 1)[0]!;
  if (response?.content === undefined) {
    expect(body, `${row} ${status} has no body`).toBe("");
    return;
  }
  const schema = response.content[media]?.schema;
  expect(schema, `${row} ${status} is not documented as ${media}`).toBeDefined();
  if (!media.includes("json")) return;
  const key = `${row} ${status}`;
  let check = checks.get(key);
  if (check === undefined) checks.set(key, (check = ajv.compile(withRefs(schema!))));
  check(JSON.parse(String(body)));
  expect(check.errors ?? [], `${key} matches its schema: ${String(body).slice(0, 300)}`).toEqual(
    [],
  );
}

/** Makes references point to the components of the document. */
function withRefs(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"frontrow#/')) as object;
}

function record(seen: Witnessed): void {
  const folder = witnessFolder();
  const key = `${seen.row} ${seen.status} ${seen.test}`;
  if (folder === null || recorded.has(key)) return;
  recorded.add(key);
  appendFileSync(path.join(folder, `${process.pid}.jsonl`), `${JSON.stringify(seen)}\n`);
}
