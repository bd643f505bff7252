/** The OpenAPI document: it is well-formed, complete, and matches the route table. */
import { expect, test } from "vitest";
import { openApiDocument } from "../../../server/docs/openapi.ts";
import { readMembers, readTexts } from "../../../server/docs/schemas.ts";
import { API_ROUTES, routeTable } from "../../../server/routes/table.ts";
import { Access } from "../../../server/auth/access.ts";
import { REPLIES } from "../../../server/http/answers.ts";
import { TestServer } from "../../support/server.ts";
import { BODY_BYTES } from "../../../server/http/limits.ts";

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

interface Media {
  readonly examples?: Readonly<Record<string, unknown>>;
}

interface Response {
  readonly description: string;
  readonly content?: Readonly<Record<string, Media>>;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly object[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: {
    readonly description: string;
    readonly content: Readonly<Record<string, Media>>;
  };
  readonly "x-max-body-bytes"?: number;
  readonly responses: Readonly<Record<string, Response>>;
}

interface Document {
  readonly openapi: string;
  readonly info: Readonly<Record<string, unknown>>;
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, { properties: Record<string, { enum?: string[] }> }>>;
    readonly securitySchemes: Readonly<Record<string, unknown>>;
  };
}

const server = new TestServer();
const reply = await server.call<Document>("GET", "/openapi.json");
const document = reply.body;

/** Target of a reference; the value itself when it is none. */
function resolved<T extends object>(value: T): T {
  if (!("$ref" in value)) return value;
  const parts = String(value.$ref).replace(/^#\//, "").split("/");
  return parts.reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], document) as T;
}
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

/** Every value in the document, with its place. */
function* walk(value: unknown, place = "#"): Generator<readonly [string, unknown]> {
  yield [place, value];
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) yield* walk(member, `${place}/${name}`);
}

test("the document has every route of the table, and no others", () => {
  const expected = API_ROUTES.map(({ method, path }) => `${method} ${path}`);
  const found = operations.map(({ method, path }) => `${method} ${path}`);
  expect(found.filter((name) => !expected.includes(name))).toEqual([
    "get /openapi.json",
    "get /asyncapi.json",
  ]);
  expect(expected.filter((name) => !found.includes(name))).toEqual([]);
});

test("every operation has a unique id, a summary, and a tag from the list", () => {
  const ids = operations.map(({ operation }) => operation.operationId);
  expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
  const tags = new Set(document.tags.map(({ name }) => name));
  for (const { operation } of operations) {
    expect(operation.operationId).toMatch(/^[a-z][A-Za-z0-9]{3,24}$/);
    expect(operation.summary).toMatch(/\w/);
    expect(operation.tags.every((tag) => tags.has(tag))).toBe(true);
  }
});

/** Public routes that read a token themselves. */
const TOKENS = { "/api/auth/user/": "loginToken", "/metrics": "metricsToken" };

test("every operation declares its access, with security schemes that exist", () => {
  for (const { path, method, operation } of operations) {
    const route = API_ROUTES.find((known) => known.path === path && known.method === method);
    const isOpen = (route?.access ?? Access.PUBLIC) === Access.PUBLIC && !(path in TOKENS);
    expect([path, operation.security.length === 0]).toEqual([path, isOpen]);
    for (const scheme of operation.security.flatMap((item) => Object.keys(item))) {
      expect(document.components.securitySchemes).toHaveProperty(scheme);
    }
  }
});

test("every operation has a success and its problems, each with a description", () => {
  for (const { path, method, operation } of operations) {
    const statuses = Object.keys(operation.responses);
    expect([path, statuses.some((status) => /^(101|[23])/.test(status))]).toEqual([path, true]);
    const route = API_ROUTES.find((known) => known.path === path && known.method === method);
    expect([path, statuses.includes("500")]).toEqual([path, route?.durable === true]);
    for (const status of route?.problems ?? []) expect(statuses).toContain(String(status));
    for (const [status, response] of Object.entries(operation.responses)) {
      expect([path, status, resolved(response).description]).not.toEqual([path, status, ""]);
      if (status === "204") expect(response.content).toBeUndefined();
    }
  }
});

test("every operation, parameter, body and answer has a description and an example", () => {
  const faults: string[] = [];
  const ask = (isThere: boolean, what: string) => void (isThere || faults.push(what));
  const hasExample = (media: Media) => Object.keys(media.examples ?? {}).length > 0;
  for (const { operation } of operations) {
    const { operationId: id, description, parameters, requestBody, responses } = operation;
    ask(description.length > 10, `${id}: no description`);
    for (const parameter of parameters.map(resolved)) {
      ask(parameter.description !== "", `${id} ${parameter.name}: no description`);
      ask(parameter.in !== "path" || "example" in parameter, `${id} ${parameter.name}: no example`);
    }
    const bodies = Object.values(requestBody?.content ?? {});
    ask(bodies.every(hasExample), `${id}: no example of a body`);
    for (const [status, response] of Object.entries(responses)) {
      const media = Object.values(resolved(response).content ?? {});
      ask(media.every(hasExample), `${id} ${status}: no example`);
    }
  }
  expect(faults).toEqual([]);
});

test("every object has a name, but for the narrowed forms of problems", () => {
  for (const [place, value] of walk(document)) {
    if (typeof value !== "object" || value === null || !("properties" in value)) continue;
    if (/\/examples\/|\/allOf\/1$|\/properties$/.test(place)) continue;
    expect(place).toMatch(/^#\/components\/schemas\/[A-Z]\w+$/);
  }
});

test("every text belongs to a route, and a route without a text is refused", () => {
  const endpoints = new Set(
    routeTable("0.0.0-test", true).map(({ method, path }) => `${method.toUpperCase()} ${path}`),
  );
  const texts = readTexts().flatMap((tag) => tag.operations);
  const unknown = texts.filter(({ endpoint }) => !endpoints.has(endpoint));
  expect(unknown.map(({ id }) => id)).toEqual([]);
  const extra = { ...API_ROUTES[0]!, path: "/api/unknown" };
  expect(() => openApiDocument([...API_ROUTES, extra], "0.0.0-test")).toThrow("no text");
});

test("every text of a member belongs to a member of a schema", () => {
  const unknown = [...readMembers().keys()].filter((key) => {
    const [name = "", member = ""] = key.split(".");
    return document.components.schemas[name]?.properties[member] === undefined;
  });
  expect(unknown).toEqual([]);
});

test("the document lists every error code", () => {
  const known = Object.values(REPLIES).map(({ errorCode }) => errorCode);
  const { errorCode } = document.components.schemas["Problem"]!.properties;
  expect(errorCode?.enum).toEqual([...new Set(known)].sort());
});

test("the document uses only formats that other tools know", () => {
  const known = new Set<unknown>(["uuid", "int64", "email", "date-time"]);
  const found = new Set<unknown>();
  for (const [place, value] of walk(document.paths)) {
    if (place.endsWith("/format") && typeof value === "string") found.add(value);
    if (place.endsWith("/pattern")) new RegExp(String(value)).test("");
  }
  expect([...found].filter((format) => !known.has(format))).toEqual([]);
  expect(found.size).toBeGreaterThan(0);
});

test("every required member of an object is declared", () => {
  for (const [place, value] of walk(document)) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) continue;
    const { required, properties, type } = value as Readonly<Record<string, unknown>>;
    if (!Array.isArray(required) || type !== "object") continue;
    const members = Object.keys(properties ?? {});
    const undeclared = required.filter((name) => !members.includes(String(name)));
    expect([place, undeclared]).toEqual([place, []]);
  }
});

test("every operation with a body says how large it may be", () => {
  for (const { path, method, body, bodyBytesMax = BODY_BYTES.usual } of API_ROUTES) {
    const { requestBody, "x-max-body-bytes": bytes } = document.paths[path]![method]!;
    const stated = [bytes, requestBody?.description];
    const expected =
      body === undefined ? [] : [bodyBytesMax, `At most ${bodyBytesMax / 1_024} KiB.`];
    expect([path, ...stated]).toEqual([path, expected[0], expected[1]]);
  }
});
