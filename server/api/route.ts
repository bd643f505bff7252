/**
 * A row of the route table. Router, validators, OpenAPI document and tests are derived from the
 * rows, so a path is written down in one place.
 */
import type { Caller } from "../../engine/bodies.ts";
import type { FieldError } from "../../engine/results.ts";
import type { Shape, TypeOf } from "../../engine/schema.ts";
import { Access, type Ticket } from "../auth/access.ts";
import type { Answer, Problem } from "../http/answers.ts";
import type { LongBody, RequestHead } from "../http/front.ts";
import type { Services } from "./services.ts";
import type { QueryParameter } from "./validate.ts";

export type Method = "get" | "post" | "put" | "delete";

/** A request whose key and shape have been checked. */
export interface Context<Params = unknown, Query = unknown, Body = unknown> {
  readonly services: Services;
  readonly caller: Caller;
  /** As of `Admitted`. */
  readonly ticket: Ticket | null;
  /** Path parameters: numbers for Longs, lower-case text for UUIDs. */
  readonly params: Params;
  /** Query parameters that the route names, converted to their type. */
  readonly query: Query;
  readonly body: Body;
  readonly authorization: string;
  /** For what a handler checks again after it has waited. */
  readonly head: RequestHead;
}

/** A request of which only the body matters. */
export type WithBody<Body> = Context<unknown, unknown, Body>;

export type Handled = Answer | Problem;

export type Shapes = Readonly<Record<string, Shape>>;
export type QueryParameters = Readonly<Record<string, QueryParameter>>;

/** The values of query parameters: undefined where one is neither given nor has a default. */
export type QueryOf<Q extends QueryParameters> = {
  readonly [K in keyof Q]: Q[K] extends { required: boolean } | { default: unknown }
    ? TypeOf<Q[K]["shape"]>
    : TypeOf<Q[K]["shape"]> | undefined;
};

/** The values of path parameters. */
export type ParamsOf<P> = { readonly [K in keyof P]: TypeOf<P[K]> };

/** Method and path of a route, as in OpenAPI: `GET /api/private/v2.0/events/{id}`. */
export type Endpoint = `${Uppercase<Method>} /${string}`;

/** Members that the rows of a group share. */
export interface RouteBase {
  readonly tag: string;
  readonly access: Access;
  /** True when the answer must wait until what it rests on is on disk. */
  readonly durable: boolean;
  /** Its answer holds a secret, which must not be stored in clear. */
  readonly isConfidential?: boolean;
  /** A row of v1: deprecated, and refused in the words of v1. */
  readonly isLegacy?: boolean;
  /** An empty body counts as an empty object. */
  readonly mayBeEmpty?: boolean;
  /** Changes nothing, whatever its method: an `Idempotency-Key` is not looked at. */
  readonly isDryRun?: boolean;
  /** @returns The path that its problems name; undefined for its own. */
  readonly problemPath?: (query: string) => string | undefined;
  /** Its answer names the last record of the event in `X-Sequence`. */
  readonly hasSequence?: boolean;
  /** Its answers have an `ETag`. */
  readonly hasVersion?: boolean;
  /** A change is refused unless `If-Match` names the stored version. */
  readonly takesIfMatch?: boolean;
  /** Answers 304 where `If-None-Match` names what the client would get. */
  readonly takesIfNoneMatch?: boolean;
  /** Pages of every origin may call it, also after a preflight (CORS). */
  readonly isShared?: boolean;
  /** Takes `Prefer: return=representation`. */
  readonly takesPrefer?: boolean;
  /** Reads history, which an organization that moves leaves behind. */
  readonly isHistory?: boolean;
  /** A key that was rotated and is in its grace time is refused. */
  readonly needsCurrentKey?: boolean;
  /** By default `BODY_BYTES.usual`. */
  readonly bodyBytesMax?: number;
  /** By default `BODY_VALUES.usual`. */
  readonly bodyValuesMax?: number;
}

export interface RouteRow<
  P extends Shapes,
  Q extends QueryParameters,
  Body,
> extends Partial<RouteBase> {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: Shape<Body>;
  /** Shape of the body by query, which may be invalid; undefined for `body`. */
  readonly bodyOf?: (query: QueryOf<Q>) => Shape | undefined;
  /**
   * Reads the usual form of the body faster than the general way, with the same result; null for a
   * body that must take the general way.
   */
  readonly readBody?: (bytes: Buffer) => Body | null;
  /**
   * Errors that the handler would find in the state, to be reported beside those of the shape. Not
   * called for a body of the right shape: its handler may have to repeat a stored reply.
   */
  readonly errorsOf?: (services: Services, body: unknown) => readonly FieldError[];
  /**
   * Meaning of the request, when other bytes may have the same: a repetition with its
   * `Idempotency-Key` is recognized by this text.
   */
  readonly meaning?: (query: QueryOf<Q>, body: Body) => string;
  /** True when `handleLong` handles the request, neither parsed nor checked before. */
  readonly isLong?: (context: Context<ParamsOf<P>, QueryOf<Q>, null>, bytes: number) => boolean;
  readonly handleLong?: (
    context: Context<ParamsOf<P>, QueryOf<Q>, null>,
    body: LongBody,
  ) => Promise<Handled>;
  /** Of a booking call: the ids of its events; one may come again. */
  readonly eventsOf?: (query: QueryOf<Q>, body: Body) => readonly string[];
  /** A change that is refused before others when too much work waits. */
  readonly yields?: boolean;
  /** Body by success status; null for no body. */
  readonly answers: Readonly<Record<number, Shape | null>>;
  /** The media type of a success, when it is not JSON. */
  readonly media?: string;
  /** Media types in which it comes too, when the client asks for them, each with an example. */
  readonly otherMedia?: Readonly<Record<string, string>>;
  /** Statuses of the problems that it may answer besides 500, as the contract lists them. */
  readonly problems: readonly number[];
  readonly handle: (context: Context<ParamsOf<P>, QueryOf<Q>, Body>) => Handled | Promise<Handled>;
}

type AnyRow = RouteRow<Shapes, QueryParameters, unknown>;

/** A row as the front sees it: its handler takes what the shapes of the row have let through. */
export interface Route
  extends
    RouteBase,
    Omit<
      AnyRow,
      "handle" | "isLong" | "handleLong" | "meaning" | "bodyOf" | "eventsOf" | keyof RouteBase
    > {
  readonly method: Method;
  /** The slash at the end may be left out. */
  readonly path: string;
  readonly handle: (context: Context) => Handled | Promise<Handled>;
  readonly meaning?: (query: unknown, body: unknown) => string;
  readonly bodyOf?: (query: unknown) => Shape | undefined;
  readonly eventsOf?: (query: unknown, body: unknown) => readonly string[];
  readonly isLong?: (context: Context, bytes: number) => boolean;
  readonly handleLong?: (context: Context, body: LongBody) => Promise<Handled>;
}

/** Makes a row. The handler's types are those of the row's shapes. */
export function route<P extends Shapes, Q extends QueryParameters, Body>(
  base: RouteBase,
  endpoint: Endpoint,
  row: RouteRow<P, Q, Body>,
): Route {
  const [method = "", path] = endpoint.split(" ");
  // The front calls a handler only with values that match the shapes of its row.
  return { ...base, ...row, method: method.toLowerCase(), path } as unknown as Route;
}

/** False for paths of people and monitors: they have no documented refusal of a request. */
export function canBeStrict({ access, body }: Route): boolean {
  return access !== Access.PUBLIC || body !== undefined;
}

/** True when a retry of its requests is recognized by an `Idempotency-Key`. */
export function takesIdempotencyKey({ method, access, isDryRun }: Route): boolean {
  return method !== "get" && access !== Access.PUBLIC && isDryRun !== true;
}
