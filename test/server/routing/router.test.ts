/** The router finds the route for a method and a path. */
import { expect, test } from "vitest";
import { type Endpoint, route } from "../../../server/api/route.ts";
import { Access } from "../../../server/auth/access.ts";
import { Router } from "../../../server/api/router.ts";
import { NO_CONTENT } from "../../../server/http/answers.ts";

const BASE = { tag: "Test", access: Access.PUBLIC, durable: false };
const ROW = { summary: "", answers: { 204: null }, problems: [], handle: () => NO_CONTENT };
const at = (endpoint: Endpoint) => route(BASE, endpoint, ROW);

const router = new Router([
  at("GET /"),
  at("GET /things/"),
  at("POST /things/"),
  at("GET /things/{id}"),
  at("DELETE /things/{id}"),
  at("GET /things/{id}/parts/{partId}"),
  at("POST /things/special/{id}"),
  at("GET /plain"),
]);

const FOUND: readonly (readonly [string, string, string, Record<string, string>])[] = [
  ["get", "/", "/", {}],
  ["get", "/things/", "/things/", {}],
  ["get", "/things", "/things/", {}],
  ["post", "/things", "/things/", {}],
  ["head", "/things/7", "/things/{id}", { id: "7" }],
  ["get", "/plain/", "/plain", {}],
  ["get", "/things/7", "/things/{id}", { id: "7" }],
  ["get", "/things/7/", "/things/{id}", { id: "7" }],
  ["delete", "/things/a%20b", "/things/{id}", { id: "a%20b" }],
  ["get", "/things/1/parts/2", "/things/{id}/parts/{partId}", { id: "1", partId: "2" }],
  ["post", "/things/special/9", "/things/special/{id}", { id: "9" }],
  ["get", "/things/__proto__", "/things/{id}", { id: "__proto__" }],
];

test.each(FOUND)("%s %s finds %s", (method, path, template, params) => {
  const match = router.find(method, path);
  expect(match.route?.path).toBe(template);
  expect({ ...match.params }).toEqual(params);
});

const MISSED: readonly (readonly [string, string, readonly string[]])[] = [
  ["put", "/things/", ["GET", "HEAD", "POST"]],
  ["patch", "/things/7", ["DELETE", "GET", "HEAD"]],
  ["GET", "/plain", ["GET", "HEAD"]],
  ["get", "/nothing", []],
  ["get", "/things/7/parts", []],
  ["get", "/things/7/parts/8/9", []],
  ["get", "/THINGS/", []],
  ["get", "/constructor", []],
];

test.each(MISSED)(
  "%s %s finds nothing, but the methods %j of the path",
  (method, path, methods) => {
    const match = router.find(method, path);
    expect(match.route).toBeUndefined();
    expect([...match.methods].sort()).toEqual(methods);
  },
);

test("two routes with the same method and path are refused", () => {
  const twice = [at("GET /a/{id}"), at("GET /a/{other}")];
  expect(() => new Router(twice)).toThrow(/\/a\//);
  expect(() => new Router([at("GET /a"), at("GET /a/")])).toThrow(/\/a/);
});
