/** The OpenAPI 3.1 document, derived from the route table and the texts of its operations. */
import type { Shape } from "../../engine/shapes/shape.ts";
import { ERROR_ENTRIES } from "../docs/error-entries.ts";
import { readPackageFile } from "../docs/package-files.ts";
import { Access, type QueryParameter, type Route, takesIdempotencyKey } from "../routing/route.ts";
import {
  PROBLEM_MEDIA,
  problemExamples,
  problemSchemas,
  type Refusal,
  refinedProblem,
  refusalsOf,
  schemaName,
  STATUSES,
} from "./problems.ts";
import { Schemas } from "./schemas.ts";
import { codeLink, type Example, type OperationText, readTexts, type TagText } from "./texts.ts";

const JSON_MEDIA = "application/json";
const AUTH_TAG = "Login";

/** The parts of the document that do not depend on the routes. */
const FRAME = "server/docs/document.json";
interface Frame {
  readonly info: object;
  readonly servers: readonly object[];
  readonly components: object;
}

const KEYS = ["apiKey", "bearer"];
/** Alternatives of security schemes by access. */
const SECURITY: Readonly<Record<Access, readonly (readonly string[])[]>> = {
  [Access.PUBLIC]: [],
  [Access.ORGANIZATION]: keysAlone(true),
  [Access.LEGACY]: keysAlone(true),
  [Access.VIEWER]: [...keysAlone(true), []],
  [Access.EDITOR]: [...keysAlone(true), ["loginToken"], ["loginToken", "organizationId"]],
  [Access.TENANT]: keysAlone(false),
  [Access.TENANT_ORGANIZATION]: KEYS.map((key) => [key, "organizationId"]),
  [Access.PLATFORM]: keysAlone(false),
};

function keysAlone(takesOrganization: boolean): string[][] {
  return KEYS.flatMap((key) => (takesOrganization ? [[key], [key, "organizationId"]] : [[key]]));
}

/** @throws Error when a route has no text, or when two objects would have one name. */
export function openApiDocument(routes: readonly Route[], version: string): object {
  const tags = readTexts();
  const maker = new OperationMaker();
  const paths: Record<string, Record<string, object>> = {};
  for (const [route, text, tag] of described(routes, tags)) {
    paths[route.path] ??= {};
    paths[route.path]![route.method] = maker.operation(route, text, tag);
  }
  const used = JSON.stringify([paths, maker.responses]);
  const names = new Set(routes.map(({ tag }) => tag));
  const { info, servers, components } = JSON.parse(readPackageFile(FRAME).toString()) as Frame;
  return {
    openapi: "3.1.0",
    info: { version, ...info },
    servers,
    tags: tags
      .filter(({ name }) => names.has(name))
      .map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      ...components,
      examples: Object.fromEntries(
        Object.entries(problemExamples()).filter(([code]) => used.includes(`/examples/${code}"`)),
      ),
      schemas: { ...maker.schemas.all, ...problemSchemas() },
      responses: maker.responses,
    },
  };
}

/** Each route with its text, in the order of the texts. */
function described(routes: readonly Route[], tags: readonly TagText[]) {
  const byEndpoint = new Map(
    routes.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route]),
  );
  const found = tags.flatMap(({ name, operations }) =>
    operations.flatMap((text) => {
      const route = byEndpoint.get(text.endpoint);
      byEndpoint.delete(text.endpoint);
      return route === undefined ? [] : [[route, text, name] as const];
    }),
  );
  const [missing] = byEndpoint.keys();
  if (missing !== undefined) throw new Error(`no text in server/docs/operations: ${missing}`);
  return found;
}

class OperationMaker {
  readonly schemas = new Schemas();
  /** Answers that several operations share. */
  readonly responses: Record<string, object> = {};

  operation(route: Route, text: OperationText, tag: string): object {
    const { id, summary, takes, description, examples, scheme, isSchemeOptional } = text;
    const security = [...SECURITY[route.access], ...(scheme === "" ? [] : [[scheme]])];
    const granted = examples.filter(({ status }) => status < 400);
    return {
      operationId: id,
      tags: [tag],
      summary,
      description,
      ...(route.isLegacy === true ? { deprecated: true } : {}),
      security: [
        ...(isSchemeOptional ? [{}] : []),
        ...security.map((names) => Object.fromEntries(names.map((name) => [name, []]))),
      ],
      parameters: this.#parameters(route, granted[0] ?? examples[0]),
      ...(route.body === undefined ? {} : { requestBody: this.#body(route, takes, granted) }),
      responses: {
        ...this.#successes(route, text, granted),
        ...this.#problems(route, text),
      },
    };
  }

  #parameters(route: Route, example: Example | undefined): object[] {
    const { params = {}, query = {}, path } = route;
    const [resource = "", search] = (example?.target ?? path).split("?");
    const segments = resource.split("/");
    const values = new URLSearchParams(search);
    const inPath = Object.entries(params).map(([name, shape]) => ({
      name,
      in: "path",
      required: true,
      description: idText(path, name),
      schema: this.schemas.refer(shape, ""),
      ...exampleOf(shape, segments[path.split("/").indexOf(`{${name}}`)]),
    }));
    const inQuery = Object.entries(query).map(([name, parameter]) => ({
      ...this.#queryParameter(name, parameter),
      ...exampleOf(parameter.shape, values.get(name)),
    }));
    const key = { $ref: "#/components/parameters/IdempotencyKey" };
    const prefer = { $ref: "#/components/parameters/Prefer" };
    return [
      ...inPath,
      ...inQuery,
      ...(takesIdempotencyKey(route) ? [key] : []),
      ...(route.takesPrefer === true ? [prefer] : []),
    ];
  }

  #queryParameter(name: string, parameter: QueryParameter): object {
    const { shape, description, required = false } = parameter;
    const hasDefault = parameter.default !== undefined;
    const schema = { ...shape, ...(hasDefault ? { default: parameter.default } : {}) };
    return { name, in: "query", required, description, schema: this.schemas.refer(schema, "") };
  }

  #body({ body, mayBeEmpty = false }: Route, name: string, granted: readonly Example[]): object {
    const schema = this.schemas.refer(body!, name);
    const examples = examplesOf(granted, (example) => example.body);
    return { required: !mayBeEmpty, content: { [JSON_MEDIA]: { schema, ...examples } } };
  }

  #successes(route: Route, text: OperationText, granted: readonly Example[]): object {
    const { answers, media = JSON_MEDIA } = route;
    const byStatus = Object.entries(answers).map(([status, shape]) => {
      const applied = route.takesPrefer === true ? headerOf("Preference-Applied") : {};
      const sequence = route.hasSequence === true ? headerOf("X-Sequence") : {};
      const headers = { ...headerOf("Keep-Alive"), ...applied, ...sequence };
      const facts = { description: text.success, headers };
      if (shape === null) return [status, facts] as const;
      const examples = examplesOf(granted, ({ answer }) => answer);
      const others = Object.entries(route.otherMedia ?? {}).map(([other, example]) => {
        const shown = { other: { value: example } };
        return [other, { schema: { type: "string" }, examples: shown }] as const;
      });
      const content = {
        [media]: { schema: this.schemas.refer(shape, text.returns), ...examples },
        ...Object.fromEntries(others),
      };
      return [status, { ...facts, content }] as const;
    });
    return Object.fromEntries(byStatus);
  }

  #problems(route: Route, text: OperationText): object {
    const refusals = refusalsOf(route, text);
    const statuses = new Set([...refusals.map(({ status }) => status), ...route.problems]);
    return Object.fromEntries(
      [...statuses].map((status) => {
        const alike = refusals.filter((refusal) => refusal.status === status);
        const own = text.examples.filter((example) => example.status === status);
        return [status, this.#problem(route, status, alike, own)];
      }),
    );
  }

  /** A problem that is described with the words of the error codes alone is shared. */
  #problem(
    route: Route,
    status: number,
    refusals: readonly Refusal[],
    own: readonly Example[],
  ): object {
    const isLogin = route.tag === AUTH_TAG;
    const codes = refusals.map(({ errorCode }) => schemaName(errorCode)).join("Or");
    const name = isLogin ? `Login${status}` : codes;
    const isOwn = own.length > 0 || refusals.some(({ text }) => text !== "");
    const response = isLogin ? loginProblem(status, own) : problemResponse(status, refusals, own);
    if (isOwn) return response;
    this.responses[name] ??= response;
    return { $ref: `#/components/responses/${name}` };
  }
}

function problemResponse(
  status: number,
  refusals: readonly Refusal[],
  own: readonly Example[],
): object {
  const schemas = refusals.map(({ errorCode, fieldCodes }) =>
    fieldCodes.length === 0
      ? { $ref: `#/components/schemas/${schemaName(errorCode)}` }
      : refinedProblem(schemaName(errorCode), fieldCodes),
  );
  const missing = refusals.filter(
    ({ errorCode }) => !own.some(({ answer }) => codeOf(answer) === errorCode),
  );
  const shared = missing.map(({ errorCode }) => [
    errorCode,
    { $ref: `#/components/examples/${errorCode}` },
  ]);
  return {
    description: refusals
      .map(
        ({ errorCode, text }) =>
          `- ${codeLink(errorCode)}: ${text || ERROR_ENTRIES[errorCode]!.cause}`,
      )
      .join("\n"),
    ...headersOf(status),
    content: {
      [PROBLEM_MEDIA]: {
        schema: schemas.length === 1 ? schemas[0] : { oneOf: schemas },
        examples: {
          ...examplesOf(own, ({ answer }) => answer).examples,
          ...Object.fromEntries(shared),
        },
      },
    },
  };
}

/** Refusals of a login have no code. */
function loginProblem(status: number, own: readonly Example[]): object {
  const entry = Object.entries(ERROR_ENTRIES).find(([code]) => STATUSES.get(code) === status)?.[1];
  const error = entry?.example.detail ?? "";
  const examples = { refused: { value: { success: false, error } } };
  return {
    description: own[0]?.title ?? entry?.cause ?? "",
    ...headersOf(status === 503 ? status : 0),
    content: {
      [JSON_MEDIA]: {
        schema: { $ref: "#/components/schemas/LoginFailure" },
        ...(own.length === 0 ? { examples } : examplesOf(own, ({ answer }) => answer)),
      },
    },
  };
}

const HEADERS: Readonly<Record<number, string>> = {
  307: "Location",
  405: "Allow",
  429: "Retry-After",
  503: "Retry-After",
};

/** The headers of a refusal. */
function headersOf(status: number): object {
  const name = HEADERS[status];
  const own = name === undefined ? {} : headerOf(name);
  return { headers: { ...headerOf("X-Request-Id"), ...own } };
}

function headerOf(name: string): object {
  return { [name]: { $ref: `#/components/headers/${name}` } };
}

function codeOf(answer: unknown): unknown {
  return (answer as { readonly errorCode?: unknown } | undefined)?.errorCode;
}

/** Named examples; the key of an example is its title in a short form. */
function examplesOf(examples: readonly Example[], valueOf: (example: Example) => unknown) {
  const named = examples.map((example) => {
    const key = example.title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
    return [key, { summary: example.title, value: valueOf(example) }] as const;
  });
  return { examples: Object.fromEntries(named) };
}

/** The example of a parameter, from the target of the first example. */
function exampleOf(shape: Shape, text: string | null | undefined): object {
  if (text === null || text === undefined || text.startsWith("%7B")) return {};
  if (shape["type"] === "array") return { example: [text] };
  return { example: shape["type"] === "string" ? text : (JSON.parse(text) as unknown) };
}

/** Segments of paths whose id is not that of their singular. */
const NOUNS: Readonly<Record<string, string>> = {
  series: "series",
  seatmap: "schema",
  clone: "schema to clone, or of the clone operation",
};

/** What an id in a path identifies: the last noun before it. */
function idText(path: string, name: string): string {
  const noun = name === "id" ? path.slice(0, path.indexOf("{id}")).split("/").at(-2)! : name;
  const words = NOUNS[noun] ?? noun.replace(/(Id|s)$/, "").replaceAll("_", " ");
  return `The id of the ${words}.`;
}
