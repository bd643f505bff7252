/**
 * The command socket of a process: bookings without an idempotency key go over a connection. Its
 * own code makes an answer wait for the disk, and puts it into its place.
 */
import type { Engine, Outcome } from "../../engine/engine.ts";
import type { Services } from "../../server/api/services.ts";
import {
  type BookingCommand,
  CommandLines,
  hasLayout,
  isBooking,
  type LineAnswer,
} from "../support/commands/command-lines.ts";

/** The decision of the engine, and its sequence number then. */
export interface Decision {
  readonly outcome: Outcome<unknown>;
  readonly seen: number;
}

export class CommandSocket {
  readonly #engine: Engine;
  readonly #lines: CommandLines;
  readonly #decisions: Decision[] = [];
  #count = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
    const { catalog } = engine.state;
    const services = {
      engine: this.#watched(),
      // The key of an organization is its id.
      keys: {
        identify: (key: string) => {
          const organization = catalog.organizations.get(Number(key));
          return organization === undefined ? null : { kind: "organization", organization };
        },
      },
      metrics: { refused: () => {} },
      isReady: () => true,
    } as unknown as Services;
    const front = {
      get keyed(): never {
        throw new Error("no command here has a key");
      },
      answerTo: () => {
        throw new Error("every command here is a usual one");
      },
    };
    this.#lines = new CommandLines(services, front);
  }

  takes(command: { readonly kind: string }): command is BookingCommand {
    if (!isBooking(command) || !hasLayout(command)) return false;
    return this.#engine.state.catalog.organizations.has(command.caller.organizationId);
  }

  /** Decides the command. `answered` is called when its answer has come. */
  submit(
    command: BookingCommand,
    answered: (answer: LineAnswer, decision: Decision) => void,
  ): Outcome<unknown> {
    this.#count += 1;
    const line = this.#lines.of(String(command.caller.organizationId), this.#count % 2 === 0);
    let decision: Decision | undefined;
    line.ask(command, (answer) => answered(answer, (decision ??= this.#decisions.pop()!)));
    decision ??= this.#decisions.pop()!;
    return decision.outcome;
  }

  #watched(): Engine {
    const engine = this.#engine;
    return {
      state: engine.state,
      nowMs: () => engine.nowMs(),
      atOneTime: (act: () => void) => engine.atOneTime(act),
      afterDurable: (callback: () => void) => engine.afterDurable(callback),
      submit: (command: BookingCommand) => {
        const outcome = engine.submit(command);
        this.#decisions.push({ outcome, seen: engine.sequence });
        return outcome;
      },
    } as unknown as Engine;
  }
}

/** True if an answer states the decision; the binary layout has no texts. */
export function saysSame(answer: LineAnswer, { outcome }: Decision): boolean {
  const decided = outcome as unknown as Partial<LineAnswer>;
  const codes = (errors: LineAnswer["errors"] = []) =>
    errors.map(({ field, code }) => `${field} ${code}`).join();
  const isSame = answer.refused === decided.refused && answer.value === decided.value;
  return isSame && codes(answer.errors) === codes(decided.errors);
}
