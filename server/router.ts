/** From method and path to a route: a tree of path segments made from the route table. */
import type { Method, Route } from "./route.ts";

interface Node {
  readonly children: Map<string, Node>;
  /** The child for a parameter, and its name. */
  parameter: { readonly name: string; readonly node: Node } | null;
  readonly routes: Map<string, Route>;
}

export interface Match {
  readonly route: Route | undefined;
  /** Methods that the path has, in capitals; empty when there is no such path. */
  readonly methods: readonly string[];
  /** Raw path parameters. */
  readonly params: Readonly<Record<string, string>>;
}

const NO_PARAMS = {};

export class Router {
  readonly #root: Node = newNode();
  /** Paths without parameters, with their slash at the end taken off. */
  readonly #fixed = new Map<string, Node>();

  /** @throws Error when two routes have the same method and path. */
  constructor(routes: readonly Route[]) {
    for (const route of routes) this.#add(route);
  }

  #add(route: Route): void {
    let node = this.#root;
    let isFixed = true;
    for (const segment of segmentsOf(route.path)) {
      if (!segment.startsWith("{")) {
        node = child(node, segment);
        continue;
      }
      isFixed = false;
      const name = segment.slice(1, -1);
      node.parameter ??= { name, node: newNode() };
      if (node.parameter.name !== name) throw new Error(`two names for one segment: ${route.path}`);
      node = node.parameter.node;
    }
    if (node.routes.has(route.method)) throw new Error(`two routes: ${route.method} ${route.path}`);
    node.routes.set(route.method, route);
    if (isFixed) this.#fixed.set(withoutSlash(route.path), node);
  }

  /** Cost: one look-up for a path without parameters, else one per segment. */
  find(method: string, path: string): Match {
    const fixed = this.#fixed.get(withoutSlash(path));
    if (fixed !== undefined) return match(fixed, method, NO_PARAMS);
    let node: Node | undefined = this.#root;
    const params: Record<string, string> = {};
    for (const segment of segmentsOf(path)) {
      const next: Node | undefined = node.children.get(segment);
      if (next === undefined && node.parameter !== null) {
        params[node.parameter.name] = segment;
        node = node.parameter.node;
      } else {
        node = next;
      }
      if (node === undefined) return { route: undefined, methods: [], params };
    }
    return match(node, method, params);
  }
}

function match(node: Node, method: string, params: Record<string, string>): Match {
  const methods = [...node.routes.keys()].map((name) => name.toUpperCase());
  return { route: node.routes.get(method as Method), methods, params };
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

function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

function segmentsOf(path: string): string[] {
  return withoutSlash(path).split("/").slice(1);
}
