/** Finds the route of a method and path, in a tree of path segments made from the route table. */
import { assert } from "../../engine/assert.ts";
import {
  type AnswerOf,
  type CommandKind,
  type CommandOf,
  COMMANDS,
} from "../../engine/commands.ts";
import { isGranted, Result } from "../../engine/results.ts";
import { type Members, type Shape, shapeOf, UUID, UUID_KEY } from "../../engine/schema.ts";
import { type Answer, FrontResult, preflight, type Problem, REPLIES } from "../http/answers.ts";
import type { Found } from "../http/front.ts";
import {
  type Endpoint,
  type Handled,
  type Method,
  type Route,
  route,
  type RouteBase,
} from "./route.ts";
import type { Services } from "./services.ts";
import { checksOf, type RouteChecks } from "./validate.ts";
import { BODY_BYTES } from "../http/limits.ts";

interface Node {
  readonly children: Map<string, Node>;
  /** The child for any segment that no other child names. */
  parameter: Node | null;
  /** By method; the matches have no values of parameters yet. */
  readonly routes: Map<Method, Match>;
}

const NO_VALUES: readonly string[] = [];
const NOT_FOUND: Match = {
  route: undefined,
  checks: checksOf({}),
  methods: [],
  isShared: false,
  params: {},
  bodyBytesMax: BODY_BYTES.keys,
};
const PARAMETER = /^\{(\w+)\}$/;

export class Router {
  readonly #root: Node = newNode();
  /** Paths without parameters, without their slash at the end. */
  readonly #fixed = new Map<string, Node>();

  /** @throws Error when two routes have the same method and path. */
  constructor(routes: readonly Route[]) {
    for (const row of routes) this.#add(row);
  }

  #add(row: Route): void {
    let node = this.#root;
    for (const segment of segmentsOf(row.path)) {
      node = PARAMETER.test(segment) ? (node.parameter ??= newNode()) : child(node, segment);
    }
    if (node.routes.has(row.method)) throw new Error(`two routes: ${row.method} ${row.path}`);
    const { bodyBytesMax = BODY_BYTES.usual } = row;
    const checks = checksOf(row);
    const isFixed = namesIn(row.path).length === 0;
    node.routes.set(row.method, { ...NOT_FOUND, route: row, checks, bodyBytesMax, isFixed });
    if (isFixed) this.#fixed.set(withoutSlash(row.path), node);
  }

  /** Cost: one look-up for a path without parameters, else one per segment. */
  find(method: string, path: string): Match {
    const fixed = this.#fixed.get(withoutSlash(path));
    if (fixed !== undefined) return match(fixed, method, NO_VALUES);
    let node: Node | undefined = this.#root;
    const values: string[] = [];
    for (const segment of segmentsOf(path)) {
      let next: Node | undefined = node.children.get(segment);
      if (next === undefined && node.parameter !== null) {
        values.push(segment);
        next = node.parameter;
      }
      if (next === undefined) return NOT_FOUND;
      node = next;
    }
    return match(node, method, values);
  }
}

function match({ routes }: Node, method: string, values: readonly string[]): Match {
  // HEAD is answered as GET; the socket leaves out the body.
  const found = routes.get(method === "head" ? "get" : (method as Method));
  if (found === undefined) {
    const methods = [...routes.keys()].map((name) => name.toUpperCase());
    if (routes.has("get")) methods.push("HEAD");
    const isShared = [...routes.values()].some(({ route: row }) => row!.isShared === true);
    return { ...NOT_FOUND, methods, isShared };
  }
  if (values.length === 0) return found;
  const names = namesIn(found.route!.path);
  return { ...found, params: Object.fromEntries(names.map((name, i) => [name, values[i]!])) };
}

/** The answer to a browser that asks before the call of a page; null for any other request. */
export function preflightOf({ methods, isShared }: Match, method: string): Answer | null {
  return isShared && method === "options" ? preflight([...methods, "OPTIONS"]) : null;
}

/** Why a match without a route is refused. */
export function refuseRoute({ methods }: Match): Problem {
  if (methods.length === 0) {
    return { refused: Result.ENTITY_NOT_FOUND, detail: "There is no such path." };
  }
  return {
    refused: FrontResult.METHOD_NOT_ALLOWED,
    detail: `This path takes ${methods.join(", ")}.`,
    headers: [["Allow", methods.join(", ")]],
  };
}

/** The names of the parameters of a path, in order. */
function namesIn(path: string): string[] {
  return segmentsOf(path).flatMap((segment) => PARAMETER.exec(segment)?.[1] ?? []);
}

function newNode(): Node {
  return { children: new Map(), parameter: null, routes: new Map() };
}

function child(node: Node, segment: string): Node {
  const existing = node.children.get(segment);
  if (existing !== undefined) return existing;
  const made = newNode();
  node.children.set(segment, made);
  return made;
}

/** A slash at the end makes no difference. `//` keeps both: it is not the root. */
export function withoutSlash(path: string): string {
  return path.length > 2 && path.endsWith("/") ? path.slice(0, -1) : path;
}

function segmentsOf(path: string): string[] {
  return withoutSlash(path).split("/").slice(1);
}

/** Route and checks of a request. A path without parameters has one match, made at the start. */
export interface Match extends Found {
  readonly route: Route | undefined;
  readonly checks: RouteChecks;
  /** The methods that the path has, in capitals, when the requested one is not among them. */
  readonly methods: readonly string[];
  /** True where pages of every origin may use these. */
  readonly isShared: boolean;
  /** Raw path parameters by their name in the route. */
  readonly params: Readonly<Record<string, string>>;
}

// Rows for commands whose members all come from the path and the body.

interface CommandRow<K extends CommandKind> extends Partial<RouteBase> {
  readonly answers: Route["answers"];
  /** Set if the contract lists others than the command's refusals give. */
  readonly problems?: readonly number[];
  readonly show: (value: AnswerOf<K>, services: Services) => Answer;
}

/**
 * Makes the row of a command from its row in the command table. A path parameter is the member of
 * the same name; `{id}` is the one that is left.
 */
export function commandRoute<K extends CommandKind>(
  base: RouteBase,
  endpoint: Endpoint,
  kind: K,
  { show, problems = problemsOf(kind), ...facts }: CommandRow<K>,
): Route {
  const { body, ...ids }: Members = COMMANDS[kind].members;
  const members = membersInPath(namesIn(endpoint), Object.keys(ids));
  const shapes = members.map(([name, member]) => [name, parameterShape(shapeOf(ids[member]!))]);
  const params: Readonly<Record<string, Shape>> = Object.fromEntries(shapes);
  return route(base, endpoint, {
    ...facts,
    ...(members.length > 0 ? { params } : {}),
    ...(body === undefined ? {} : { body: shapeOf(body) }),
    problems,
    handle: (context) => {
      const command: Record<string, unknown> = { kind, caller: context.caller };
      for (const [name, member] of members) command[member] = context.params[name];
      if (body !== undefined) command["body"] = context.body;
      // The values have passed the shapes of the command's members.
      return submit(context.services, command as unknown as CommandOf<K>, show);
    },
  });
}

/** Submits a command and shows its answer. */
export function submit<K extends CommandKind>(
  services: Services,
  command: CommandOf<K>,
  show: (value: AnswerOf<K>, services: Services) => Answer,
): Handled {
  const outcome = services.engine.submit(command);
  return isGranted(outcome) ? show(outcome.value, services) : outcome;
}

/** The statuses of a command's refusals, and those of a bad request and a bad key. */
export function problemsOf(kind: CommandKind): readonly number[] {
  const refused = COMMANDS[kind].refusals.map((code) => REPLIES[code].status);
  return [...new Set([400, 403, ...refused])].sort((a, b) => a - b);
}

/** @returns Pairs of path parameter and member. */
function membersInPath(
  parameters: readonly string[],
  members: readonly string[],
): readonly (readonly [string, string])[] {
  const left = members.filter((member) => !parameters.includes(member));
  const pairs = parameters.map((name) => [name, name === "id" ? left[0]! : name] as const);
  const isCovered = pairs.length === members.length && left.length <= 1;
  assert(isCovered, "the path of a command names all its members but the body");
  return pairs;
}

/** The front takes UUIDs in any letter case and hands them on in lower case. */
function parameterShape(shape: Shape): Shape {
  return shape === UUID_KEY ? UUID : shape;
}
