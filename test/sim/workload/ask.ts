/** What a client of the simulation asks, and what the model has to say to it. */
import type { CommandKind, CommandOf } from "../../../engine/commands.ts";
import type { Caller } from "../../../engine/shapes/caller.ts";
import type { State } from "../../../engine/state.ts";
import type { Answer, Model } from "../model/model.ts";
import type { Random } from "./random.ts";

/** What the model makes of a request. Called on more than one model, so it keeps nothing. */
export interface Twin {
  /** What the answer must be; without it any is right. */
  readonly expect?: (model: Model, nowMs: number) => Answer;
  /** What a granted request changes beyond that; `value` is what the engine gave. */
  readonly effect?: (model: Model, value: never, nowMs: number) => void;
}

export interface Ask {
  readonly command: CommandOf<CommandKind>;
  /** It names what is another organization's, or nobody's, so it must be refused. */
  readonly isForeign?: boolean;
  /** @param state - Of the engine, just before it is asked. */
  readonly twin?: (state: State) => Twin;
}

/** Who can ask, and what there is. */
export interface House {
  readonly caller: Caller;
  readonly tenant: Caller;
  readonly venueId: number;
  readonly schemaId: number;
}

/** What generators of requests choose from. */
export interface Scene {
  readonly random: Random;
  readonly model: Model;
  readonly state: State;
  readonly houses: readonly House[];
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

/** Ids of events of an organization, as the model knows them. */
export function eventsOf(model: Model, organization: number): string[] {
  return [...model.events]
    .filter(([, event]) => event.organization === organization)
    .map(([id]) => id);
}

/** One of many, or undefined. */
export function anyOf<T>(random: Random, choices: Iterable<T>): T | undefined {
  const list = [...choices];
  return list.length === 0 ? undefined : random.pick(list);
}
