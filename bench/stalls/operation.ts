/** An operation whose stall is measured, and how it is carried out. */
import type { Stage } from "./stage.ts";

/** What an operation fills into its row of the route table. */
export interface Filling {
  /** For the path parameters, in order. */
  readonly path?: readonly (string | number)[];
  /** Without its question mark. */
  readonly query?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Operation {
  /** Method and path as in the route table. */
  readonly route: string;
  /** Says how it differs from others of the same row. */
  readonly variant: string;
  readonly fill: (stage: Stage) => Filling;
  /** Keeps what later operations need. */
  readonly keep?: (stage: Stage, answer: never) => void;
  /** Runs before it, outside of the measurement. */
  readonly prepare?: (stage: Stage) => Promise<void>;
  /** Other work follows its answer, in slices that are measured too. */
  readonly hasAftermath?: boolean;
}

type Options = Omit<Operation, "route" | "variant" | "fill">;

export function operation(
  route: string,
  variant = "",
  fill: Operation["fill"] = () => ({}),
  options: Options = {},
): Operation {
  return { route, variant, fill, ...options };
}

const PARAMETER = /\{[^}]+\}/g;

export async function carryOut(stage: Stage, { route, fill, keep }: Operation): Promise<void> {
  const { path = [], query, ...ask } = fill(stage);
  const left = [...path];
  const target = route.replace(PARAMETER, () => String(left.shift()));
  const line = query === undefined ? target : `${target}?${query}`;
  const answer = await stage.ask(line, ask);
  keep?.(stage, answer as never);
}
