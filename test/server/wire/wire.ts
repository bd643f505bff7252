/** Checks that every answer has exactly the documented members: problems and pages. */
import { expect } from "vitest";
import type { Reply } from "../../support/answers/exchange.ts";
import type { PageBody } from "../../support/server.ts";

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
export const LOCAL_DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}$/;
export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Ids that no test gives out. */
export const NOWHERE = "00000000-0000-4000-8000-ffffffffffff";
export const NO_ID = 999_999_999;

export interface ExpectedProblem {
  readonly status: number;
  readonly errorCode: string;
  /** Without the query; by default the path of the request. */
  readonly path?: string;
  /** `field CODE`, in order; by default there are none. */
  readonly errors?: readonly string[];
}

export const DENIED: ExpectedProblem = { status: 403, errorCode: "ACCESS_DENIED" };
export const EVENT_DENIED: ExpectedProblem = { status: 403, errorCode: "EVENT_ACCESS_DENIED" };
export const NOT_FOUND: ExpectedProblem = { status: 404, errorCode: "ENTITY_NOT_FOUND" };
export const IN_USE: ExpectedProblem = { status: 409, errorCode: "INVENTORY_IN_USE" };

/** A request that fails validation. @param errors - `field CODE`, in order. */
export function invalid(...errors: readonly string[]): ExpectedProblem {
  return { status: 400, errorCode: "VALIDATION_FAILED", errors };
}

/** Expects a problem with exactly the documented members. */
export function expectProblem(reply: Reply<unknown>, expected: ExpectedProblem): void {
  const { status, errorCode, path = reply.path, errors = [] } = expected;
  const { body } = reply as Reply;
  expect([reply.status, body.errorCode, path]).toEqual([status, errorCode, path]);
  expect(reply.type).toBe("application/problem+json; charset=utf-8");
  expect(body).toEqual({
    type: `/docs/errors/${errorCode}`,
    title: expect.stringMatching(/\w/) as string,
    status,
    detail: expect.stringMatching(/\w/) as string,
    instance: path,
    timestamp: expect.stringMatching(INSTANT) as string,
    path,
    errorCode,
    errors: expect.any(Array) as [],
  });
  expect(body.errors.map(({ field, code }) => `${field} ${code}`)).toEqual(errors);
  for (const error of body.errors) {
    expect(Object.keys(error).sort()).toEqual(["code", "field", "message", "rejectedValue"]);
    expect(error.message).toMatch(/\w/);
  }
}

export interface ExpectedPage {
  readonly number?: number;
  readonly size?: number;
  readonly total: number;
  readonly count: number;
  readonly isSorted?: boolean;
}

/** Expects a page with exactly the documented members. */
export function expectPage<Item>(reply: Reply<PageBody<Item>>, expected: ExpectedPage): void {
  const { number = 0, size = 20, total, count, isSorted = false } = expected;
  const sort = { empty: !isSorted, sorted: isSorted, unsorted: !isSorted };
  const totalPages = Math.ceil(total / size);
  expect(reply.status).toBe(200);
  expect(reply.type).toBe("application/json; charset=utf-8");
  expect(reply.body).toEqual({
    content: expect.any(Array) as [],
    pageable: {
      pageNumber: number,
      pageSize: size,
      sort,
      offset: number * size,
      paged: true,
      unpaged: false,
    },
    sort,
    totalElements: total,
    totalPages,
    size,
    number,
    numberOfElements: count,
    first: number === 0,
    last: number >= totalPages - 1,
    empty: count === 0,
  });
  expect(reply.body.content.length).toBe(count);
}
