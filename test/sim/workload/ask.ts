/** A request of a client of the simulation, and its effect on the model. */
import type { CommandKind, CommandOf } from "../../../engine/commands.ts";
import type { Engine, Outcome } from "../../../engine/engine.ts";
import { Result } from "../../../engine/results.ts";
import type { Caller, Cart } from "../../../engine/bodies.ts";
import type { State } from "../../../engine/state.ts";
import type { Answer } from "../model/facts.ts";
import type { Model } from "../model/model.ts";
import type { Random } from "./random.ts";

/** The effect of a request on a model. It is used for several models, so it has no state. */
export interface Twin {
  /**
   * The required answer; without it any answer is right.
   * @param sequence - Of the last record written by the request; of a refused one, the number that
   * its record would have had.
   */
  readonly expect?: (model: Model, nowMs: number, sequence: number) => Answer;
  /** Further changes by a granted request; `value` is the answer of the engine. */
  readonly effect?: (model: Model, value: never, nowMs: number) => void;
}

export interface Ask {
  readonly command: CommandOf<CommandKind>;
  /** It names something of another organization, or unknown, so it must be refused. */
  readonly isForeign?: boolean;
  /** @param state - The state of the engine just before the request. */
  readonly twin?: (state: State) => Twin;
}

/** An organization, with the rows used by its clients. */
export interface House {
  readonly caller: Caller;
  readonly tenant: Caller;
  readonly venueId: number;
  readonly schemaId: number;
}

/** The choices of the generators of requests. */
export interface Scene {
  readonly random: Random;
  readonly model: Model;
  readonly state: State;
  readonly houses: readonly House[];
  /** True for random limits on holds. Stored histories have none: tests rely on them. */
  readonly hasLimits: boolean;
  /** True for wrong fences, expected prices, and moves from and to BLOCKED. Stored histories have none. */
  readonly hasGuards: boolean;
  /** Never the same twice in a run. */
  nextName(): string;
}

/** Builds a command: the table of commands pairs each kind with its members. */
export function commandOf<K extends CommandKind>(
  kind: K,
  caller: Caller,
  rest: Omit<CommandOf<K>, "kind" | "caller">,
): CommandOf<CommandKind> {
  return { kind, caller, ...rest } as unknown as CommandOf<CommandKind>;
}

/** Members naming the events whose holds the engine ends before its decision. */
interface Scope {
  readonly eventId: string;
  readonly schemaId: number;
  readonly organizationId: number;
}

/** The result of a request in the model. */
export interface Acted {
  /** The required answer; undefined if any answer is right. */
  readonly expected: Answer | undefined;
  /** Events whose inventory it may have changed. */
  readonly events: readonly string[];
}

export interface Asked {
  readonly outcome: Outcome<unknown>;
  readonly nowMs: number;
  /** Does the same to a model; may be called on more than one. */
  readonly act: (model: Model) => Acted;
}

/** The way of a command to the engine. */
export type Submit = (command: CommandOf<CommandKind>) => Outcome<unknown>;

/** Submits the command of a request. */
export function ask(
  engine: Engine,
  { command, twin }: Ask,
  submit: Submit = (given) => engine.submit(given),
): Asked {
  const { expect, effect } = twin?.(engine.state) ?? {};
  const nowMs = engine.nowMs();
  const outcome = submit(command);
  const sequence = engine.sequence + (outcome.refused === Result.OK ? 0 : 1);
  const act = (model: Model): Acted => {
    const events = scopeOf(model, command);
    for (const eventId of events) model.expire(eventId, nowMs);
    const expected = expect?.(model, nowMs, sequence);
    if (outcome.refused === Result.OK) effect?.(model, outcome.value as never, nowMs);
    return { expected, events };
  };
  return { outcome, nowMs, act };
}

/** The events whose holds the engine ends before it decides. */
export function scopeOf(model: Model, command: object): string[] {
  const { eventId, schemaId, organizationId } = command as Partial<Scope>;
  const { body } = command as { readonly body?: Partial<Cart> };
  const items = body?.items?.map((item) => item.eventId) ?? [];
  const named = [...new Set(eventId === undefined ? items : [eventId])];
  const own = named.filter((id) => model.events.has(id));
  if (schemaId === undefined && organizationId === undefined) return own;
  const others = [...model.events].filter(
    ([, event]) => event.schema === schemaId || event.organization === organizationId,
  );
  return [...own, ...others.map(([id]) => id)];
}

/** Ids of events of an organization, as the model knows them. */
export function eventsOf(model: Model, organization: number): string[] {
  return [...model.events]
    .filter(([, event]) => event.organization === organization)
    .map(([id]) => id);
}

/** A random one, or undefined if there is none. */
export function anyOf<T>(random: Random, choices: Iterable<T>): T | undefined {
  const list = [...choices];
  return list.length === 0 ? undefined : random.pick(list);
}
