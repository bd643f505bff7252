/**
 * What a row of the route table says. Router, validators, OpenAPI document and tests are derived
 * from the rows, so a path is written down in one place.
 */
import type { Caller } from "../../engine/commands.ts";
import type { Shape } from "../../engine/shapes.ts";
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

/** A request that has passed key and shape. */
export interface Context {
  readonly services: Services;
  readonly caller: Caller;
  /** Path parameters: numbers for Longs, lower-case text for UUIDs. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Query parameters that the route names, converted to their type. */
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  readonly authorization: string;
}

export type Handled = Answer | Problem;

export interface Route {
  readonly method: Method;
  /** As in OpenAPI: `/api/private/v2.0/events/{id}`; a slash at the end may be left out. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly access: Access;
  readonly params?: Readonly<Record<string, Shape>>;
  readonly query?: Readonly<Record<string, QueryParameter>>;
  readonly body?: Shape;
  /**
   * Reads the usual form of the body faster than the general way, and gives what that would give;
   * null for what is to take the general way.
   */
  readonly readBody?: (bytes: Buffer) => unknown;
  readonly bodyBytesMax?: number;
  /** Body by success status; null for no body. */
  readonly answers: Readonly<Record<number, Shape | null>>;
  /** What a success is written in, when it is not JSON. */
  readonly media?: string;
  /** Statuses of the problems that it may answer beside 500, in the words of the contract. */
  readonly problems: readonly number[];
  /** Its answer holds a secret, which is not to be stored in clear. */
  readonly isConfidential?: boolean;
  /** A row of v1: deprecated, and refused in v1's words. */
  readonly isLegacy?: boolean;
  /** True when the answer must wait until what it rests on is on disk. */
  readonly durable: boolean;
  readonly handle: (context: Context) => Handled | Promise<Handled>;
}

export interface QueryParameter {
  readonly shape: Shape;
  readonly description: string;
  readonly required?: boolean;
  readonly default?: unknown;
}

export function isProblem(handled: Handled): handled is Problem {
  return "refused" in handled;
}
