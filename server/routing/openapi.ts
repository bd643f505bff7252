/** The OpenAPI 3.1 document, derived from the route table. */
import type { Shape } from "../../engine/shapes/shape.ts";
import { REPLIES } from "../wire/replies.ts";
import { LOGIN_FAILURE, PROBLEM } from "../wire/shapes.ts";
import { Access, type QueryParameter, type Route } from "./route.ts";

const JSON_MEDIA = "application/json";
const PROBLEM_MEDIA = "application/problem+json";
const AUTH_TAG = "Login";
const TAKES_ORGANIZATION: ReadonlySet<Access> = new Set([
  Access.ORGANIZATION,
  Access.LEGACY,
  Access.TENANT_ORGANIZATION,
]);

/** The formats of this project as patterns, for plain JSON Schema. */
const PATTERNS: Readonly<Record<string, string>> = {
  "local-date-time": "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?$",
  "local-date": "^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?)?$",
  moment: "^([1-9]\\d{0,14}|\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?)?)$",
};

/** Formats that say what is done with a text, or what no pattern can say. */
const UNPATTERNED = new Set(["line", "name", "text"]);

export function openApiDocument(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    paths[route.path]![route.method] = operationOf(route);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Frontrow",
      version,
      description:
        "Seat inventory, pricing and booking. Errors are RFC 9457 problems; clients branch on " +
        "`errorCode`.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: { Problem: publicShape(PROBLEM), ErrorCode: errorCodeShape() },
      securitySchemes: {
        apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
        bearer: { type: "http", scheme: "bearer" },
      },
    },
  };
}

function operationOf(route: Route): object {
  const { method, path, tag, summary, access } = route;
  const words = path.replace(/\{(\w+)\}/g, "by_$1").split(/[^A-Za-z0-9]+/);
  return {
    operationId: [method, ...words.filter((word) => word !== "")].join("_"),
    tags: [tag],
    summary,
    ...(route.isLegacy === true ? { deprecated: true } : {}),
    security: access === Access.PUBLIC ? [] : [{ apiKey: [] }, { bearer: [] }],
    parameters: parametersOf(route),
    ...(route.body === undefined ? {} : { requestBody: bodyOf(route, route.body) }),
    responses: responsesOf(route),
  };
}

function parametersOf({ params = {}, query = {}, access }: Route): object[] {
  const inPath = Object.entries(params).map(([name, shape]) => ({
    name,
    in: "path",
    required: true,
    schema: publicShape(shape),
  }));
  const inQuery = Object.entries(query).map(([name, parameter]) => queryParameter(name, parameter));
  const organization = {
    name: "X-Organization-ID",
    in: "header",
    required: access === Access.TENANT_ORGANIZATION,
    description: "The organization acted for; required with a tenant token.",
    schema: { type: "integer", minimum: 1 },
  };
  const takesHeader = TAKES_ORGANIZATION.has(access);
  return [...inPath, ...inQuery, ...(takesHeader ? [organization] : [])];
}

function queryParameter(name: string, parameter: QueryParameter): object {
  const { shape, description, required = false } = parameter;
  const hasDefault = parameter.default !== undefined;
  const schema = publicShape(hasDefault ? { ...shape, default: parameter.default } : shape);
  return { name, in: "query", required, description, schema };
}

function bodyOf({ mayBeEmpty = false }: Route, shape: Shape): object {
  return { required: !mayBeEmpty, content: { [JSON_MEDIA]: { schema: publicShape(shape) } } };
}

function responsesOf(route: Route): object {
  const { answers, media = JSON_MEDIA, tag } = route;
  const responses: Record<string, object> = {};
  for (const [status, shape] of Object.entries(answers)) {
    const content = shape === null ? {} : { content: { [media]: { schema: publicShape(shape) } } };
    responses[status] = { description: "Done.", ...content };
  }
  const problem =
    tag === AUTH_TAG
      ? { [JSON_MEDIA]: { schema: publicShape(LOGIN_FAILURE) } }
      : { [PROBLEM_MEDIA]: { schema: { $ref: "#/components/schemas/Problem" } } };
  for (const status of allProblems(route)) {
    responses[status] = { description: codesOf(status), content: problem };
  }
  return responses;
}

/** The problems of the route, and those that the front adds to every route of its kind. */
function allProblems({ method, problems, body, access, durable }: Route): number[] {
  const ofBody = body === undefined ? [] : [413, 415];
  const isKeyed = method !== "get" && access !== Access.PUBLIC;
  const ofKey = isKeyed ? [409, 422] : [];
  const ofCaller = access === Access.PUBLIC ? [] : [429];
  const ofLog = durable ? [503] : [];
  const all = new Set([...problems, ...ofBody, ...ofKey, ...ofCaller, ...ofLog, 500]);
  return [...all].sort((a, b) => a - b);
}

function codesOf(status: number): string {
  const codes = Object.values(REPLIES).filter((reply) => reply.status === status);
  return [...new Set(codes.map(({ errorCode }) => errorCode))].join(", ") || "Refused.";
}

function errorCodeShape(): object {
  const refused = Object.values(REPLIES).map(({ errorCode }) => errorCode);
  return { type: "string", enum: [...new Set(refused)].sort() };
}

/** A shape without formats that only this project knows. */
function publicShape(shape: Shape): object {
  const { format, ...rest } = shape as { format?: string } & Record<string, unknown>;
  const pattern = PATTERNS[format ?? ""];
  const known = pattern === undefined ? { format } : { pattern };
  return Object.fromEntries([
    ...Object.entries(format === undefined || UNPATTERNED.has(format) ? {} : known),
    ...Object.entries(rest).map(([name, value]) => [name, publicMember(name, value)]),
  ]) as object;
}

function publicMember(name: string, value: unknown): unknown {
  if (name === "items") return publicShape(value as Shape);
  if (name !== "properties") return value;
  const members = Object.entries(value as Record<string, Shape>);
  return Object.fromEntries(members.map(([key, shape]) => [key, publicShape(shape)]));
}
