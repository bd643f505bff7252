/**
 * Checks every answer that a test gets against the OpenAPI document, and records it with the name
 * of the test for the contract table.
 */
import { appendFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import { ERROR_ENTRIES } from "../../../server/docs/pages.ts";
import { refusalsOf } from "../../../server/docs/openapi.ts";
import { readTexts } from "../../../server/docs/schemas.ts";
import type { Route } from "../../../server/api/route.ts";
import type { Answer } from "../../../server/http/answers.ts";
import { DESCRIBED, plainText, rowOf, undocumented } from "./documented.ts";
import { LISTED_FILE, type Witnessed, witnessFolder } from "./witness-folder.ts";

interface Problem {
  readonly errorCode?: string;
  readonly errors?: readonly { readonly code: string }[];
}

/** Of every answer of the API: nobody on the way may guess its type, or keep it. */
const SAFE = { "x-content-type-options": "nosniff", "cache-control": "no-store" };
const described = new Map(DESCRIBED.map((route) => [rowOf(route), route]));
const recorded = new Set<string>();
recordListed();

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
function checkAnswer(route: Route, row: string, answer: Answer): string[] {
  expect(undocumented(route, answer)).toBeNull();
  if (route.path.startsWith("/api/") && answer.status !== 101) {
    const headers = answer.headers.map(([name, value]) => [name.toLowerCase(), value]);
    expect(Object.fromEntries(headers)).toMatchObject(SAFE);
  }
  const isJson = answer.type.includes("json") && answer.body !== "";
  return isJson ? codesOf(row, JSON.parse(plainText(answer)) as Problem) : [];
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
