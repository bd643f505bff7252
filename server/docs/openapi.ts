/** The OpenAPI 3.1 document, derived from the route table and the texts of its operations. */
import type { Shape } from "../../engine/schema.ts";
import { canBeStrict, type Route, takesIdempotencyKey } from "../api/route.ts";
import { Access } from "../auth/access.ts";
import type { QueryParameter } from "../api/validate.ts";
import { BinaryProtocol } from "../commands/binary-protocol.ts";
import {
  ANSWERS_FRAME,
  CART_COMMAND,
  COMMANDS_FRAME,
  CREDIT,
  LIMITS,
  SOCKET_PATH,
} from "../commands/command.ts";
import { JsonProtocol } from "../commands/json-protocol.ts";
import { REPLIES } from "../http/answers.ts";
import { CHANGES, HEARTBEAT, SNAPSHOT, STREAM_PATH } from "../live/message.ts";
import { readPackageFile } from "./package-files.ts";
import { ERROR_CODES, ERROR_ENTRIES, exampleProblem } from "./pages.ts";
import {
  codeLink,
  type Example,
  type OperationText,
  readTexts,
  type RefusalText,
  Schemas,
  type TagText,
} from "./schemas.ts";
import { BODY_BYTES } from "../http/limits.ts";

// The problems of an operation, and the components of each error code.

const PROBLEM_MEDIA = "application/problem+json";

/** Error codes added by the front to every route of a kind. */
const FRONT_CODES: readonly (readonly [(route: Route) => boolean, readonly string[]])[] = [
  [isGuarded, ["VALIDATION_FAILED", "MALFORMED_REQUEST", "ACCESS_DENIED", "RATE_LIMITED"]],
  [takesBody, ["VALIDATION_FAILED", "MALFORMED_REQUEST", "UNSUPPORTED_MEDIA_TYPE"]],
  [takesBody, ["PAYLOAD_TOO_LARGE"]],
  [takesIdempotencyKey, ["IDEMPOTENCY_IN_PROGRESS", "IDEMPOTENCY_REPLY_GONE"]],
  [takesIdempotencyKey, ["IDEMPOTENCY_KEY_REUSED", "OVERLOADED"]],
  [({ durable }) => durable, ["INTERNAL_ERROR", "LOG_UNAVAILABLE", "NOT_LEADER"]],
  [isOfOrganization, ["ORGANIZATION_MOVING"]],
  [moves, ["ORGANIZATION_MOVED"]],
];

const WITHOUT_ORGANIZATION: ReadonlySet<Access> = new Set([
  Access.PUBLIC,
  Access.PLATFORM,
  Access.TENANT,
]);

export function isOfOrganization({ access }: Route): boolean {
  return !WITHOUT_ORGANIZATION.has(access);
}

/** The history before a move stays in its cell. */
export function moves(route: Route): boolean {
  return isOfOrganization(route) && route.isHistory !== true;
}

function isGuarded({ access }: Route): boolean {
  return access !== Access.PUBLIC;
}

function takesBody({ body }: Route): boolean {
  return body !== undefined;
}

/** An error code of an operation. */
interface Refusal extends RefusalText {
  readonly status: number;
}

/** The refusals of an operation by their order in the table of refusals. */
export function refusalsOf(route: Route, { refusals }: OperationText): readonly Refusal[] {
  const own = new Map(refusals.map((refusal) => [refusal.errorCode, refusal]));
  const added = FRONT_CODES.filter(([applies]) => applies(route)).flatMap(([, codes]) => codes);
  const codes = new Set([...added, ...own.keys()]);
  return [...STATUSES].flatMap(([errorCode, usual]) => {
    if (!codes.has(errorCode)) return [];
    // A row of v1 answers 400 where it does not list the status.
    const isListed = added.includes(errorCode) || route.problems.includes(usual);
    const status = route.isLegacy === true && !isListed ? 400 : usual;
    return [{ errorCode, fieldCodes: [], text: "", ...own.get(errorCode), status }];
  });
}

/** By error code, in the order of the statuses. */
const STATUSES: ReadonlyMap<string, number> = new Map(
  Object.values(REPLIES)
    .map(({ errorCode, status }) => [errorCode, status] as const)
    .sort(([, a], [, b]) => a - b),
);

/** `EVENT_NOT_PUBLISHED` becomes `EventNotPublished`. */
export function schemaName(errorCode: string): string {
  return errorCode.toLowerCase().replaceAll(/(?:^|_)([a-z])/g, (_, first: string) => {
    return first.toUpperCase();
  });
}

/** A schema per error code: a problem with this code, and the codes of its field errors. */
function problemSchemas(): Record<string, object> {
  return Object.fromEntries(
    Object.entries(ERROR_ENTRIES).map(([errorCode, { cause, client, fieldCodes }]) => {
      const schema = refinedProblem("Problem", Object.keys(fieldCodes), errorCode);
      return [schemaName(errorCode), { description: `${cause}\n\n${client}`, ...schema }];
    }),
  );
}

/** The schema of a problem with fewer values than the schema named `base`. */
function refinedProblem(base: string, fieldCodes: readonly string[], errorCode?: string): object {
  const code = { type: "string", enum: fieldCodes };
  const items = refined("ErrorDetail", { code });
  const errors =
    fieldCodes.length === 0 ? { type: "array", maxItems: 0 } : { type: "array", items };
  if (errorCode === undefined) return refined(base, { errors });
  return refined(base, { errorCode: { type: "string", enum: [errorCode] }, errors });
}

function refined(base: string, properties: object): object {
  return { allOf: [{ $ref: `#/components/schemas/${base}` }, { type: "object", properties }] };
}

const JSON_MEDIA = "application/json";
const UNCHANGED = "The answer that `If-None-Match` names is still right.";
const KIBIBYTE = 1_024;
const AUTH_TAG = "Login";

/** The parts of the document without routes. */
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
      // For operations without an example of their own.
      examples: Object.fromEntries(
        Object.entries(ERROR_ENTRIES)
          .filter(([code]) => used.includes(`/examples/${code}"`))
          .map(([code, { cause }]) => {
            const error = ERROR_CODES.find((one) => one.code === code)!;
            return [code, { summary: cause, value: exampleProblem(error) }];
          }),
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
  /** Answers shared by several operations. */
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
      ...(route.body === undefined ? {} : this.#body(route, takes, granted)),
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
    const prefer = route.takesPrefer === true ? "Prefer" : "Handling";
    return [
      ...inPath,
      ...inQuery,
      ...(takesIdempotencyKey(route) ? [key] : []),
      ...(route.takesIfMatch === true ? [{ $ref: "#/components/parameters/IfMatch" }] : []),
      ...(route.takesIfNoneMatch === true ? [{ $ref: "#/components/parameters/IfNoneMatch" }] : []),
      ...(canBeStrict(route) ? [{ $ref: `#/components/parameters/${prefer}` }] : []),
    ];
  }

  #queryParameter(name: string, parameter: QueryParameter): object {
    const { shape, description, required = false } = parameter;
    const hasDefault = parameter.default !== undefined;
    const schema = { ...shape, ...(hasDefault ? { default: parameter.default } : {}) };
    return { name, in: "query", required, description, schema: this.schemas.refer(schema, "") };
  }

  #body(route: Route, name: string, granted: readonly Example[]): object {
    const { body, mayBeEmpty = false, bodyBytesMax = BODY_BYTES.usual } = route;
    const schema = this.schemas.refer(body!, name);
    const examples = examplesOf(granted, (example) => example.body);
    const description = `At most ${bodyBytesMax / KIBIBYTE} KiB.`;
    const content = { [JSON_MEDIA]: { schema, ...examples } };
    return {
      "x-max-body-bytes": bodyBytesMax,
      requestBody: { description, required: !mayBeEmpty, content },
    };
  }

  #successes(route: Route, text: OperationText, granted: readonly Example[]): object {
    const { answers, media = JSON_MEDIA } = route;
    const byStatus = Object.entries(answers).map(([status, shape]) => {
      const headers = {
        ...headerOf("Keep-Alive"),
        ...(canBeStrict(route) ? headerOf("Preference-Applied") : {}),
        ...(takesIdempotencyKey(route) ? headerOf("Idempotency-Replayed") : {}),
        ...(route.hasSequence === true ? headerOf("X-Sequence") : {}),
        ...(route.hasVersion === true ? headerOf("ETag") : {}),
      };
      const facts = { description: status === "304" ? UNCHANGED : text.success, headers };
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

  /** A problem without words of its own is shared. */
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

/** Segments of paths whose noun is not their singular. */
const NOUNS: Readonly<Record<string, string>> = {
  series: "series",
  seatmap: "schema",
  clone: "schema to clone, or of the clone operation",
};

/** An id in a path belongs to the last noun before it. */
function idText(path: string, name: string): string {
  const noun = name === "id" ? path.slice(0, path.indexOf("{id}")).split("/").at(-2)! : name;
  const words = NOUNS[noun] ?? noun.replace(/(Id|s)$/, "").replaceAll("_", " ");
  return `The id of the ${words}.`;
}

// The AsyncAPI 3 document: the messages of the WebSockets, derived from their shapes.

const DESCRIPTION =
  "The WebSockets of the service: booking commands, and the stream of an event. The guide at " +
  "/docs/commands and /docs/live describes close codes, and the binary layout of commands.";
const STREAM_PROTOCOLS = ["frontrow.stream.v1+json", "frontrow.stream.v1+msgpack"];

interface Message {
  readonly summary: string;
  readonly contentType: string;
  readonly payload: object;
  readonly examples?: readonly object[];
}

interface Channel {
  readonly address: string;
  readonly description: string;
  readonly parameters?: object;
  readonly messages: Readonly<Record<string, Message>>;
  /** Headers and query of the opening request. */
  readonly handshake: object;
}

export function asyncApiDocument(version: string): object {
  const schemas = new Schemas();
  const channels = {
    bookingCommands: commandChannel(schemas),
    eventStream: streamChannel(schemas),
  };
  const operation = (action: string, channel: keyof typeof channels, ...names: string[]) => ({
    action,
    channel: { $ref: `#/channels/${channel}` },
    messages: names.map((name) => ({ $ref: `#/channels/${channel}/messages/${name}` })),
  });
  return {
    asyncapi: "3.0.0",
    info: { title: "Frontrow", version, description: DESCRIPTION },
    channels: Object.fromEntries(
      Object.entries(channels).map(([name, { messages, handshake, ...channel }]) => {
        const refer = (message: string) => ({ $ref: `#/components/messages/${message}` });
        const names = Object.keys(messages);
        return [
          name,
          {
            ...channel,
            messages: Object.fromEntries(names.map((message) => [message, refer(message)])),
            bindings: { ws: { method: "GET", ...handshake, bindingVersion: "0.1.0" } },
          },
        ];
      }),
    ),
    operations: {
      takeCommands: operation("receive", "bookingCommands", "commands", "binaryCommands"),
      sendAnswers: operation("send", "bookingCommands", "credit", "answers", "binaryAnswers"),
      sendChanges: operation("send", "eventStream", ...Object.keys(channels.eventStream.messages)),
    },
    components: {
      messages: { ...channels.bookingCommands.messages, ...channels.eventStream.messages },
      schemas: schemas.all,
    },
  };
}

function jsonMessage(summary: string, payload: object, example?: object): Message {
  const examples = example === undefined ? {} : { examples: [{ payload: example }] };
  return { summary, contentType: JSON_MEDIA, payload, ...examples };
}

/** @param protocols - Values of `Sec-WebSocket-Protocol`. */
function handshakeHeaders(protocols: readonly string[]) {
  const key = { type: "string", description: "The secret key of the organization." };
  const protocol = { type: "string", enum: protocols };
  const description = "With `handling=strict`, what is not known is refused.";
  const prefer = { type: "string", description };
  const properties = { "X-API-Key": key, "Sec-WebSocket-Protocol": protocol, Prefer: prefer };
  return { type: "object", properties };
}

function commandChannel(schemas: Schemas): Channel {
  const names = [new JsonProtocol(), new BinaryProtocol()].map(({ name }) => name);
  const [json, binary] = names;
  const binaryMessage = (summary: string): Message => ({
    summary,
    contentType: "application/octet-stream",
    payload: { type: "string", contentEncoding: "binary" },
  });
  const credit = schemas.refer(CREDIT, "Credit");
  schemas.refer(CART_COMMAND, "CartCommand");
  const commands = schemas.refer(COMMANDS_FRAME, "Command");
  const answers = schemas.refer(ANSWERS_FRAME, "CommandAnswer");
  return {
    address: SOCKET_PATH,
    description: "The command socket of an organization.",
    messages: {
      credit: jsonMessage("The first message of the server: what a client may send.", credit, {
        type: "credit",
        ...LIMITS,
      }),
      commands: jsonMessage(`A frame of commands (${json}).`, commands),
      answers: jsonMessage(`The answers to commands, in their order (${json}).`, answers),
      binaryCommands: binaryMessage(
        `A frame of commands and handles in the binary layout (${binary}).`,
      ),
      binaryAnswers: binaryMessage(`The answers to commands in the binary layout (${binary}).`),
    },
    handshake: { headers: { ...handshakeHeaders(names), required: ["X-API-Key"] } },
  };
}

function streamChannel(schemas: Schemas): Channel {
  const first = "The whole map of the event: the first message, unless changes continue one.";
  const since = { type: "integer", description: "Send the changes after this sequence number." };
  const ticket = { type: "string", description: "A ticket for the event, in place of the key." };
  return {
    address: STREAM_PATH,
    description: "The changes of one event. The guide at /docs/live describes its close codes.",
    parameters: { id: { description: "The id of the event." } },
    messages: {
      snapshot: jsonMessage(first, schemas.refer(SNAPSHOT, "StreamSnapshot")),
      changes: jsonMessage(
        "What has changed, oldest first.",
        schemas.refer(CHANGES, "StreamChanges"),
      ),
      heartbeat: jsonMessage(
        "After 15 seconds without a change.",
        schemas.refer(HEARTBEAT, "StreamHeartbeat"),
        { type: "heartbeat", sequence: 4_713 },
      ),
    },
    handshake: {
      headers: handshakeHeaders(STREAM_PROTOCOLS),
      query: { type: "object", properties: { since, ticket } },
    },
  };
}
