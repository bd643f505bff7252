/** The world of a history: one event with a few seats on sale, and the commands to make it. */
import type {
  AnswerOf,
  BookingKind,
  CommandKind,
  CommandOf,
  MembersOf,
} from "../../../engine/commands.ts";
import type { Outcome } from "../../../engine/engine.ts";
import type { Caller } from "../../../engine/bodies.ts";
import { World } from "../../support/engine.ts";
import { section } from "../../support/layout.ts";
import { commandOf } from "../workload/ask.ts";

const SEAT_NAMES = ["1", "2", "3"];

/** Keeps the commands to make it. */
class RecordedWorld extends World {
  /** Without a value of its own: the constructor of the base fills it. */
  declare commands?: CommandOf<CommandKind>[];

  override submit<K extends CommandKind>(
    kind: K,
    caller: Caller,
    rest: MembersOf<K>,
  ): Outcome<AnswerOf<K>> {
    this.commands ??= [];
    this.commands.push({ kind, caller, ...rest } as unknown as CommandOf<CommandKind>);
    return super.submit(kind, caller, rest);
  }
}

export class Stage {
  /** In order, for an empty engine; all of them are granted. */
  readonly commands: readonly CommandOf<CommandKind>[];
  readonly caller: Caller;
  readonly eventId: string;
  readonly seatIds: readonly number[];

  constructor() {
    const world = new RecordedWorld([section("Stalls", { A: SEAT_NAMES.join(" ") })]);
    this.commands = world.commands!;
    this.caller = world.caller;
    this.eventId = world.eventId;
    this.seatIds = SEAT_NAMES.map((name) => world.labels.idOf(`A${name}`));
  }

  booking(kind: BookingKind, seat: number, sessionId: string): CommandOf<CommandKind> {
    const body = { sessionId, seats: [{ id: this.seatIds[seat]! }], groupOfSeats: [] };
    return commandOf(kind, this.caller, { eventId: this.eventId, body });
  }
}
