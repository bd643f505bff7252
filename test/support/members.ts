/** All members of an object, private ones too: only the inspector sees those. */
import { type Runtime, Session } from "node:inspector";

type Property = Pick<Runtime.PropertyDescriptor, "name" | "value">;

const NAME = "inspectedByTest";

/** The value of a function. */
export const METHOD = "a function";

/** @returns By name, private ones with their `#`: primitive values, or the class of an object. */
export function membersOf(object: object): ReadonlyMap<string, unknown> {
  const session = new Session();
  session.connect();
  const named = globalThis as Record<string, unknown>;
  named[NAME] = object;
  const members = new Map<string, unknown>();
  try {
    const evaluated = call(session, "Runtime.evaluate", { expression: `globalThis.${NAME}` });
    const { objectId } = (evaluated as { result: Runtime.RemoteObject }).result;
    const found = call(session, "Runtime.getProperties", { objectId, ownProperties: true });
    const { result, privateProperties } = found as Record<string, readonly Property[]>;
    for (const { name, value } of [...result!, ...privateProperties!]) {
      if (value === undefined) continue;
      const shown = value.objectId === undefined ? value.value : value.description;
      members.set(name, value.type === "function" ? METHOD : shown);
    }
  } finally {
    delete named[NAME];
    session.disconnect();
  }
  return members;
}

/** The inspector of the own thread answers at once. */
function call(session: Session, method: string, parameters: object): object {
  let outcome: object | undefined;
  session.post(method, parameters, (error, result) => (outcome = error ?? result));
  if (outcome === undefined || outcome instanceof Error) throw new Error(method);
  return outcome;
}
