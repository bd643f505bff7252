/** Answers: problems have all documented members, and show nothing harmful. */
import { expect, test } from "vitest";
import { Result } from "../../../engine/results.ts";
import {
  answer,
  FALSE,
  NO_CONTENT,
  problemAnswer,
  redirect,
  type Refused,
  REPLIES,
  TRUE,
} from "../../../server/http/answers.ts";
import { type ProblemBody, replyOf } from "../../support/answers/exchange.ts";
import { expectProblem } from "./wire.ts";

const NOW = Date.parse("2026-03-19T10:00:00.123Z");

/** The documented error codes, with their statuses. */
const CODES: Readonly<Record<string, number>> = {
  VALIDATION_FAILED: 400,
  MALFORMED_REQUEST: 400,
  INVENTORY_NOT_AVAILABLE: 400,
  ORGANIZATION_DISABLED: 402,
  ACCESS_DENIED: 403,
  EVENT_ACCESS_DENIED: 403,
  SALES_CONTROL_REQUIRED: 403,
  ADMISSION_REQUIRED: 403,
  ADMISSION_INVALID: 403,
  ENTITY_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  DUPLICATE_NAME: 409,
  NOTHING_SUITABLE: 409,
  CHANGED: 409,
  ACCOUNT_EMAIL_IN_USE: 409,
  EVENT_BOUND_TO_SERIES: 409,
  INVALID_STATUS_TRANSITION: 409,
  INVENTORY_IN_USE: 409,
  PRECONDITION_FAILED: 412,
  ENTITY_IN_USE: 409,
  IDEMPOTENCY_IN_PROGRESS: 409,
  IDEMPOTENCY_REPLY_GONE: 409,
  HISTORY_GONE: 410,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  EVENT_NOT_PUBLISHED: 422,
  ORPHAN_SEAT: 422,
  IDEMPOTENCY_KEY_REUSED: 422,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  OVERLOADED: 503,
  LOG_UNAVAILABLE: 503,
  NOT_LEADER: 503,
  ORGANIZATION_MOVING: 503,
  ORGANIZATION_MOVED: 307,
};

const SAFE = { "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store" };
const REFUSALS = Object.keys(REPLIES).map((code) => Number(code) as Refused);

test.each(REFUSALS)("refusal %d is a problem with a documented code and status", (refused) => {
  const reply = replyOf<ProblemBody>(problemAnswer({ refused, detail: "Because." }, "/path", NOW));
  const { errorCode } = reply.body;
  const status = CODES[errorCode]!;
  expectProblem(reply, { status, errorCode, path: "/path" });
  expect(reply.body).toMatchObject({ timestamp: "2026-03-19T10:00:00.123Z", detail: "Because." });
  expect(reply.headers["Retry-After"]).toBe(status === 503 ? "1" : undefined);
  expect(reply.headers).toMatchObject(SAFE);
});

test("every result of the engine except OK has an answer", () => {
  const codes = Object.values(Result).filter((code) => code !== Result.OK);
  expect(codes.filter((code) => REPLIES[code] === undefined)).toEqual([]);
});

function shown(field: string, rejectedValue: unknown): unknown {
  const errors = [{ field, code: "TYPE", message: "is wrong", rejectedValue }];
  const problem = { refused: Result.VALIDATION_FAILED, detail: "Wrong.", errors };
  return replyOf<ProblemBody>(problemAnswer(problem, "/", NOW)).body.errors[0]?.rejectedValue;
}

test("a rejected value is shown unless it is secret, long or an object", () => {
  const long = "x".repeat(1_000);
  const cases: [string, unknown, unknown][] = [
    ["a", 7, 7],
    ["a", "text", "text"],
    ["a", true, true],
    ["a", null, null],
    ["a", undefined, null],
    ["a", long, "x".repeat(256)],
    ["a", [1], null],
    ["a", { b: 1 }, null],
    ["a", Number.POSITIVE_INFINITY, null],
    ["password", "hunter2", null],
    ["adminPassword", "hunter2", null],
    ["refreshToken", "abc", null],
    ["secretKey", "abc", null],
  ];
  for (const [field, value, expected] of cases) {
    expect([field, value, shown(field, value)]).toEqual([field, value, expected]);
  }
});

test("a problem shows its path unchanged, whatever characters it has", () => {
  const path = '/a"b\u2028<script>';
  const reply = replyOf<ProblemBody>(
    problemAnswer({ refused: Result.ENTITY_NOT_FOUND, detail: "" }, path, NOW),
  );
  expect(reply.body.path).toBe(path);
  expect(reply.body.instance).toBe(path);
});

test("true, false, 201, 204 and a redirect have their status, type and body", () => {
  expect([TRUE, FALSE].map(({ status, body }) => [status, body])).toEqual([
    [200, "true"],
    [200, "false"],
  ]);
  expect(answer(201, { a: "é" })).toMatchObject({
    status: 201,
    type: "application/json; charset=utf-8",
    body: '{"a":"é"}',
    headers: Object.entries(SAFE),
  });
  expect(NO_CONTENT).toMatchObject({ status: 204, type: "", body: "" });
  const headers = [...Object.entries(SAFE), ["Location", "/docs"]];
  expect(redirect("/docs")).toMatchObject({ status: 302, headers });
});
