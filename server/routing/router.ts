/** Finds the route of a method and path, in a tree of path segments made from the route table. */
import { Result } from "../../engine/results.ts";
import type { Problem } from "../wire/answers.ts";
import type { Found } from "../wire/front.ts";
import { FrontResult } from "../wire/replies.ts";
import type { Method, Route } from "./route.ts";
import { checksOf, type RouteChecks } from "./validate.ts";

interface Node {
  readonly children: Map<string, Node>;
  /** The child for any segment that no other child names. */
  parameter: Node | null;
  /** By method; the matches have no values of parameters yet. */
  readonly routes: Map<Method, Match>;
}

const BODY_BYTES_MAX = 1_024 * 1_024;
const NO_VALUES: readonly string[] = [];
const NOT_FOUND: Match = {
  route: undefined,
  checks: checksOf({}),
  methods: [],
  params: {},
  bodyBytesMax: BODY_BYTES_MAX,
};
const PARAMETER = /^\{(\w+)\}$/;

export class Router {
  readonly #root: Node = newNode();
  /** Paths without parameters, without their slash at the end. */
  readonly #fixed = new Map<string, Node>();

  /** @throws Error when two routes have the same method and path. */
  constructor(routes: readonly Route[]) {
    for (const route of routes) this.#add(route);
  }

  #add(route: Route): void {
    let node = this.#root;
    for (const segment of segmentsOf(route.path)) {
      node = PARAMETER.test(segment) ? (node.parameter ??= newNode()) : child(node, segment);
    }
    if (node.routes.has(route.method)) throw new Error(`two routes: ${route.method} ${route.path}`);
    const { bodyBytesMax = BODY_BYTES_MAX } = route;
    const checks = checksOf(route);
    const isFixed = namesIn(route.path).length === 0;
    node.routes.set(route.method, { ...NOT_FOUND, route, checks, bodyBytesMax, isFixed });
    if (isFixed) this.#fixed.set(withoutSlash(route.path), node);
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
    return { ...NOT_FOUND, methods };
  }
  if (values.length === 0) return found;
  const names = namesIn(found.route!.path);
  return { ...found, params: Object.fromEntries(names.map((name, i) => [name, values[i]!])) };
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
export function namesIn(path: string): string[] {
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

/** `//` keeps both: it is not the root. */
function withoutSlash(path: string): string {
  return path.length > 2 && path.endsWith("/") ? path.slice(0, -1) : path;
}

function segmentsOf(path: string): string[] {
  return withoutSlash(path).split("/").slice(1);
}

/** How a request is handled. A path without parameters has one match, made at the start. */
export interface Match extends Found {
  readonly route: Route | undefined;
  readonly checks: RouteChecks;
  /** The methods that the path has, in capitals, when the requested one is not among them. */
  readonly methods: readonly string[];
  /** Raw path parameters by their name in the route. */
  readonly params: Readonly<Record<string, string>>;
}
