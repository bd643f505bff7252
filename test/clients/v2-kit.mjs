// Shared by the topics of the v2 client: requests, steps, and checks of the documented members.
// It is written from the interface documents only, and imports nothing of the product.

import assert from "node:assert/strict";

export const base = (process.env.BASE_URL ?? "http://127.0.0.1:8080").replace(/\/$/, "");

export const V2 = "/api/private/v2.0";
export const MANAGEMENT = "/api/private/management/v2.0";

export const deviations = [];
/** Methods and paths that were called with success. */
export const calledRows = new Set();
let steps = 0;
let last = "";

export const countOfSteps = () => steps;

/** Runs a step and prints its line. A failure is kept as a deviation, and the next step runs. */
export async function step(name, run) {
  steps += 1;
  try {
    const value = await run();
    console.log(`ok - ${name}`);
    return value;
  } catch (error) {
    console.log(`not ok - ${name}`);
    deviations.push(`${name}\n  ${String(error.message ?? error)}\n  last: ${last}`);
    return undefined;
  }
}

/** Runs a topic. When a failed step ends it, the next topic still runs. */
export async function topic(name, run) {
  console.log(`# ${name}`);
  try {
    await run();
  } catch (error) {
    deviations.push(`${name}: the topic ended early\n  ${error.stack}\n  last: ${last}`);
  }
}

async function request(method, path, body, headers) {
  const sent = typeof body === "string" ? body : JSON.stringify(body);
  const type = sent === undefined ? {} : { "Content-Type": "application/json" };
  const response = await fetch(base + path, {
    method,
    headers: { ...type, ...headers },
    body: sent,
  });
  const text = await response.text();
  const shown = (words = "") => (words.length > 600 ? `${words.slice(0, 600)}…` : words);
  last = `${method} ${path} ${shown(sent)} -> ${response.status} ${shown(text)}`;
  if (response.ok) calledRows.add(`${method} ${path.split("?")[0]}`);
  const contentType = response.headers.get("content-type") ?? "";
  const parsed = /json/.test(contentType) && text !== "" ? JSON.parse(text) : undefined;
  return { status: response.status, text, contentType, body: parsed, path: path.split("?")[0] };
}

/** Calls below a prefix, with the headers of a caller. */
export function caller(prefix, headers) {
  const call = (method) => (path, body, more) =>
    request(method, prefix + path, body, { ...headers, ...more });
  return {
    get: (path, more) => call("GET")(path, undefined, more),
    delete: (path, more) => call("DELETE")(path, undefined, more),
    post: call("POST"),
    put: call("PUT"),
    patch: call("PATCH"),
  };
}

export const withKey = (prefix, key, more) => caller(prefix, { "X-API-Key": key, ...more });

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const LOCAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$/;
const KINDS = {
  long: (value) => Number.isSafeInteger(value) && value > 0,
  integer: (value) => Number.isSafeInteger(value),
  uuid: (value) => UUID.test(value),
  time: (value) => LOCAL.test(value),
  stamp: (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$/.test(value),
  instant: (value) => /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/.test(value) && Date.parse(value) > 0,
  array: Array.isArray,
  text: (value) => typeof value === "string" && value !== "",
};

/** Checks the kind of each named member; `?` allows null, or no member. */
export function members(object, kinds) {
  assert.equal(typeof object, "object", `an object was expected, not ${JSON.stringify(object)}`);
  for (const [name, kind] of Object.entries(kinds)) {
    const value = object[name];
    if (kind.endsWith("?") && (value === null || value === undefined)) continue;
    const wanted = kind.replace("?", "");
    const fits = KINDS[wanted] ?? ((given) => typeof given === wanted);
    assert.ok(fits(value), `${name} should be ${kind}, but is ${JSON.stringify(value)}`);
  }
  return object;
}

/** Expects a success with this status, and returns its body. */
export function done(answer, status = 200) {
  assert.equal(answer.status, status, `status ${answer.status}, documented is ${status}`);
  if (status === 204) assert.equal(answer.text, "", "a 204 has no body");
  else assert.match(answer.contentType, /^application\/json/);
  return answer.body;
}

export const isTrue = (answer) => assert.equal(done(answer), true);
export const isFalse = (answer) => assert.equal(done(answer), false);

/** Expects a problem with all documented members; `items` are the expected `errors`. */
export function problem(answer, status, errorCode, items) {
  assert.equal(answer.status, status, `status ${answer.status}, documented is ${status}`);
  assert.match(answer.contentType, /^application\/problem\+json/);
  const { body } = answer;
  members(body, { type: "text", title: "text", detail: "text", timestamp: "instant" });
  members(body, { instance: "text", path: "text", errorCode: "text", errors: "array" });
  assert.equal(body.status, status);
  assert.equal(body.errorCode, errorCode);
  assert.equal(body.path, answer.path);
  assert.equal(body.instance, answer.path);
  assert.ok(!("error" in body) && !("message" in body), "no top-level error or message");
  assert.doesNotMatch(answer.text, /\.[jt]s:\d|node_modules/, "no stack");
  for (const item of body.errors) {
    members(item, { field: "string", message: "text", code: "text" });
    assert.ok("rejectedValue" in item, "every errors[] item has rejectedValue");
  }
  if (items !== undefined) sameItems(body.errors, items);
  return body;
}

function sameItems(errors, items) {
  const byField = (left, right) => (left.field < right.field ? -1 : 1);
  const found = errors.toSorted(byField);
  const wanted = items.toSorted(byField);
  const pick = (item, index) =>
    Object.fromEntries(Object.keys(wanted[index] ?? item).map((name) => [name, item[name]]));
  assert.deepEqual(found.map(pick), wanted);
}

/** Expects a validation problem that names exactly these fields. */
export const invalid = (answer, ...fields) => {
  const { errors } = problem(answer, 400, "VALIDATION_FAILED");
  const found = new Set(errors.map(({ field }) => field));
  if (fields.length > 0) assert.deepEqual(found, new Set(fields));
  return errors;
};

export const forbidden = (answer) => problem(answer, 403, "ACCESS_DENIED");
export const missing = (answer) => problem(answer, 404, "ENTITY_NOT_FOUND");

/** Expects a page with all documented members, and returns its content. */
export function page(answer, { number = 0, size = 20, total } = {}) {
  const body = done(answer);
  members(body, { content: "array", totalElements: "integer", totalPages: "integer" });
  const { content, pageable, sort, totalElements, totalPages } = body;
  const sorting = { empty: "boolean", sorted: "boolean", unsorted: "boolean" };
  members(sort, sorting);
  members(pageable.sort, sorting);
  assert.equal(sort.sorted, !sort.unsorted);
  assert.deepEqual(
    { ...pageable, sort: null },
    {
      pageNumber: number,
      pageSize: size,
      offset: number * size,
      paged: true,
      unpaged: false,
      sort: null,
    },
  );
  assert.equal(body.size, size);
  assert.equal(body.number, number);
  assert.equal(body.numberOfElements, content.length);
  assert.equal(totalPages, Math.ceil(totalElements / size));
  assert.equal(body.first, number === 0);
  assert.equal(body.last, number >= totalPages - 1);
  assert.equal(body.empty, content.length === 0);
  const expected = Math.max(0, Math.min(size, totalElements - number * size));
  assert.equal(content.length, expected, "a page is full unless it is the last one");
  if (total !== undefined) assert.equal(totalElements, total);
  return content;
}

/** Reads all items of a list, page by page. */
export async function all(api, path, size = 100) {
  const items = [];
  const separator = path.includes("?") ? "&" : "?";
  for (let number = 0; ; number += 1) {
    const answer = await api.get(`${path}${separator}page=${number}&size=${size}`);
    items.push(...page(answer, { number, size }));
    if (answer.body.last) return items;
  }
}
