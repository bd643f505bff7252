/** The router finds the route for a method and a path. */
import { expect, test } from "vitest";
import { Access, type Method, type Route } from "../../../server/routing/route.ts";
import { Router } from "../../../server/routing/router.ts";
import { NO_CONTENT } from "../../../server/wire/answers.ts";

function route(method: Method, path: string): Route {
  return {
    method,
    path,
    tag: "Test",
    summary: path,
    access: Access.PUBLIC,
    answers: { 204: null },
    problems: [],
    durable: false,
    handle: () => NO_CONTENT,
  };
}

const router = new Router([
  route("get", "/"),
  route("get", "/things/"),
  route("post", "/things/"),
  route("get", "/things/{id}"),
  route("delete", "/things/{id}"),
  route("get", "/things/{id}/parts/{partId}"),
  route("post", "/things/special/{id}"),
  route("get", "/plain"),
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
  const twice = [route("get", "/a/{id}"), route("get", "/a/{other}")];
  expect(() => new Router(twice)).toThrow(/\/a\//);
  expect(() => new Router([route("get", "/a"), route("get", "/a/")])).toThrow(/\/a/);
});
