/**
 * A row of the route table. Router, validators, OpenAPI document and tests are derived from the
 * rows, so a path is written down in one place.
 */
import type { Caller } from "../../engine/shapes/caller.ts";
import type { Shape, TypeOf } from "../../engine/shapes/shape.ts";
import type { Answer, Problem } from "../wire/answers.ts";
import type { Services } from "./services.ts";

export type Method = "get" | "post" | "put" | "delete";

/** Who may call a route. */
export const Access = {
  /** No key at all. */
  PUBLIC: "public",
  /** An organization's key, or a tenant token that names an organization. */
  ORGANIZATION: "organization",
  /** The same, or a login's token that names one of its organizations. */
  EDITOR: "editor",
  /** A tenant token alone. */
  TENANT: "tenant",
  /** A tenant token that names an organization. */
  TENANT_ORGANIZATION: "tenant-organization",
  /** The platform token. */
  PLATFORM: "platform",
} as const;
export type Access = (typeof Access)[keyof typeof Access];

/** A request whose key and shape have been checked. */
export interface Context<Params = unknown, Query = unknown, Body = unknown> {
  readonly services: Services;
  readonly caller: Caller;
  /** Path parameters: numbers for Longs, lower-case text for UUIDs. */
  readonly params: Params;
  /** Query parameters that the route names, converted to their type. */
  readonly query: Query;
  readonly body: Body;
  readonly authorization: string;
}

export type Handled = Answer | Problem;

type Shapes = Readonly<Record<string, Shape>>;
type QueryParameters = Readonly<Record<string, QueryParameter>>;

export interface QueryParameter<T = unknown> {
  readonly shape: Shape<T>;
  readonly description: string;
  readonly required?: boolean;
  readonly default?: T;
}

type ParamsOf<P> = { readonly [K in keyof P]: TypeOf<P[K]> };

/** The values of query parameters: undefined where one is neither given nor has a default. */
export type QueryOf<Q extends QueryParameters> = {
  readonly [K in keyof Q]: Q[K] extends { required: boolean } | { default: unknown }
    ? TypeOf<Q[K]["shape"]>
    : TypeOf<Q[K]["shape"]> | undefined;
};

/** The members of a row that do not depend on what it takes. */
export interface RouteFacts {
  readonly method: Method;
  /** As in OpenAPI: `/api/private/v2.0/events/{id}`. The slash at the end may be left out. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly access: Access;
  readonly bodyBytesMax?: number;
  /** Body by success status; null for no body. */
  readonly answers: Readonly<Record<number, Shape | null>>;
  /** The media type of a success, when it is not JSON. */
  readonly media?: string;
  /** Its answer holds a secret, which must not be stored in clear. */
  readonly isConfidential?: boolean;
  /** A row of v1: deprecated, and refused in the words of v1. */
  readonly isLegacy?: boolean;
  /** True when the answer must wait until what it rests on is on disk. */
  readonly durable: boolean;
}

interface TypedRoute<P extends Shapes, Q extends QueryParameters, Body> extends RouteFacts {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: Shape<Body>;
  /**
   * Reads the usual form of the body faster than the general way, with the same result; null for a
   * body that must take the general way.
   */
  readonly readBody?: (bytes: Buffer) => Body | null;
  /** Statuses of the problems that it may answer beside 500, as the contract lists them. */
  readonly problems: readonly number[];
  readonly handle: (context: Context<ParamsOf<P>, QueryOf<Q>, Body>) => Handled | Promise<Handled>;
}

/** A row as the front sees it: its handler takes what the shapes of the row have let through. */
export interface Route extends Omit<TypedRoute<Shapes, QueryParameters, unknown>, "handle"> {
  readonly handle: (context: Context) => Handled | Promise<Handled>;
}

/** Makes a row. The handler's types are those of the row's shapes. */
export function route<P extends Shapes, Q extends QueryParameters, Body>(
  row: TypedRoute<P, Q, Body>,
): Route {
  // The front calls a handler only with values that match the shapes of its row.
  return row as unknown as Route;
}
