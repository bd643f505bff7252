/**
 * Checks every answer that a test gets against the OpenAPI document, and records it with the name
 * of the test for the contract table.
 */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { appendFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import { FORMATS } from "../../engine/shapes/formats.ts";
import { ERROR_ENTRIES } from "../../server/docs/error-entries.ts";
import { openApiDocument } from "../../server/openapi/document.ts";
import { refusalsOf } from "../../server/openapi/problems.ts";
import { readTexts } from "../../server/openapi/texts.ts";
import { PLATFORM_ROUTES } from "../../server/routes/management/tenants.ts";
import { API_ROUTES } from "../../server/routes/table.ts";
import type { Route } from "../../server/routing/route.ts";
import type { Answer } from "../../server/wire/answers.ts";
import { LISTED_FILE, type Witnessed, witnessFolder } from "./witness-folder.ts";

interface Described {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface OpenApi {
  readonly paths: Record<string, Record<string, { responses: Record<string, Described> }>>;
  readonly components: { readonly responses: Record<string, Described> };
}

interface Problem {
  readonly errorCode?: string;
  readonly errors?: readonly { readonly code: string }[];
}

const routes = [...API_ROUTES, ...PLATFORM_ROUTES];
const document = openApiDocument(routes, "0.0.0-test") as OpenApi;
const described = new Map(routes.map((route) => [rowOf(route), route]));
const ajv = new Ajv2020({ strict: false, allErrors: true });
for (const name of ["uuid", "email"]) ajv.addFormat(name, FORMATS[name]!);
ajv.addFormat("int64", true);
ajv.addFormat("date-time", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
ajv.addSchema({ $id: "frontrow", components: document.components });
const checks = new Map<string, ValidateFunction>();
const recorded = new Set<string>();
recordListed();

function rowOf({ method, path: template }: Route): string {
  return `${method.toUpperCase()} ${template}`;
}

/** Fails the test when the document does not describe the answer. */
export function witness(route: Route | undefined, request: { path: string }, answer: Answer): void {
  // A refused method belongs to no row, but a path without parameters describes the refusal.
  const row = route === undefined ? `GET ${request.path}` : rowOf(route);
  const known = described.get(row);
  if (route === undefined && known?.tag !== "Service") return;
  const codes = known === undefined ? [] : checkAnswer(known, row, answer);
  const test = expect.getState().currentTestName ?? request.path;
  record({ row, status: answer.status, codes, test });
}

/** @returns The error codes of the answer, as in the list of documented ones. */
function checkAnswer(route: Route, row: string, { status, type, body }: Answer): string[] {
  const found = document.paths[route.path]?.[route.method]?.responses[status];
  expect(found, `${row} answers ${status}, which is not documented`).toBeDefined();
  const shared = found?.$ref?.split("/").at(-1);
  const response = shared === undefined ? found : document.components.responses[shared];
  const media = type.split(";", 1)[0]!;
  if (response?.content === undefined) {
    expect(body, `${row} ${status} has no body`).toBe("");
    return [];
  }
  const schema = response.content[media]?.schema;
  expect(schema, `${row} ${status} is not documented as ${media}`).toBeDefined();
  if (!media.includes("json")) return [];
  const key = `${row} ${status}`;
  let check = checks.get(key);
  if (check === undefined) checks.set(key, (check = ajv.compile(withRefs(schema!))));
  const value = JSON.parse(Buffer.from(body).toString("utf8")) as Problem;
  check(value);
  expect(check.errors ?? [], `${key} matches its schema: ${String(body).slice(0, 300)}`).toEqual(
    [],
  );
  return codesOf(row, value);
}

/** Makes references point to the components of the document. */
function withRefs(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"frontrow#/')) as object;
}

function codesOf(row: string, { errorCode, errors = [] }: Problem): string[] {
  if (errorCode === undefined) return [];
  const fields = errors.flatMap(({ code }) => [
    `${errorCode} ${code}`,
    `${row} ${errorCode} ${code}`,
  ]);
  return [`${row} ${errorCode}`, ...new Set(fields)];
}

function record(seen: Witnessed): void {
  const folder = witnessFolder();
  const key = `${seen.row} ${seen.status} ${seen.codes.join()} ${seen.test}`;
  if (folder === null || recorded.has(key)) return;
  recorded.add(key);
  appendFileSync(path.join(folder, `${process.pid}.jsonl`), `${JSON.stringify(seen)}\n`);
}

/** Writes the documented error codes: of each row, and of the field errors of each code. */
function recordListed(): void {
  const folder = witnessFolder();
  if (folder === null) return;
  const texts = readTexts().flatMap(({ operations }) => operations);
  const ofRows = texts.flatMap((text) => {
    const route = described.get(text.endpoint);
    if (route === undefined || route.tag === "Login") return [];
    return refusalsOf(route, text).flatMap(({ errorCode, fieldCodes }) => [
      `${text.endpoint} ${errorCode}`,
      ...fieldCodes.map((code) => `${text.endpoint} ${errorCode} ${code}`),
    ]);
  });
  const ofFields = Object.entries(ERROR_ENTRIES).flatMap(([errorCode, { fieldCodes }]) =>
    Object.keys(fieldCodes).map((code) => `${errorCode} ${code}`),
  );
  writeFileSync(path.join(folder, LISTED_FILE), JSON.stringify([...ofRows, ...ofFields]));
}
