/** Rows for commands whose members all come from the path and the body. */
import { assert } from "../../engine/assert.ts";
import { type CommandKind, type CommandOf, COMMANDS } from "../../engine/commands.ts";
import type { AnswerOf } from "../../engine/decide.ts";
import { isGranted } from "../../engine/results.ts";
import { UUID, UUID_KEY } from "../../engine/shapes/fields.ts";
import { type Members, type Shape, shapeOf } from "../../engine/shapes/shape.ts";
import type { Answer } from "../wire/answers.ts";
import { REPLIES } from "../wire/replies.ts";
import { type Endpoint, type Handled, route, type Route, type RouteBase } from "./route.ts";
import { namesIn } from "./router.ts";
import type { Services } from "./services.ts";

interface CommandRow<K extends CommandKind> extends Partial<RouteBase> {
  readonly answers: Route["answers"];
  /** When the contract lists others than the command's refusals give. */
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
