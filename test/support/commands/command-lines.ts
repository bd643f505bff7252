/**
 * Connections of the command socket without a network: the server's code from a frame to its
 * answers, on any engine. A command is decided while it is sent, so a model can follow.
 */
import type { BookingKind, CommandOf } from "../../../engine/commands.ts";
import { type FieldError, Result } from "../../../engine/results.ts";
import {
  BinaryProtocol,
  FIELDS,
  REASONS,
  RESULT_CODES,
} from "../../../server/commands/binary-protocol.ts";
import { CALLS, LIMITS, type Protocol } from "../../../server/commands/command.ts";
import {
  CommandConnection,
  Connections,
  FrameScheduler,
} from "../../../server/commands/connection.ts";
import type { CommandFront } from "../../../server/commands/decider.ts";
import { JsonProtocol } from "../../../server/commands/json-protocol.ts";
import type { Services } from "../../../server/api/services.ts";
import { REPLIES } from "../../../server/http/answers.ts";
import type { Peer } from "../../../server/http/sockets.ts";
import { commandEntry, openEntry, readAnswers } from "./binary-layout.ts";

export type BookingCommand = CommandOf<BookingKind>;

/** An answer as the engine would give it. */
export interface LineAnswer {
  readonly refused: Result;
  readonly value?: boolean;
  readonly errors: readonly FieldError[];
}

type OnAnswer = (answer: LineAnswer) => void;

/** Several refusals of a booking have the same code; this is the first of them. */
const REFUSALS = new Map<string, Result>();
for (const [refused, { errorCode }] of Object.entries(REPLIES)) {
  if (!REFUSALS.has(errorCode)) REFUSALS.set(errorCode, Number(refused) as Result);
}
const UINT32_MAX = 0xffff_ffff;
const POSITION = "[]";

export function isBooking(command: { readonly kind: string }): command is BookingCommand {
  return (CALLS as readonly string[]).includes(command.kind);
}

/** @returns True when the binary layout can say it. */
export function hasLayout({ body }: BookingCommand): boolean {
  const isWhole = (n: unknown) => Number.isInteger(n) && (n as number) > 0;
  const { sessionId: _, holdType: __, seats, groupOfSeats, ...others } = body;
  return (
    Object.values(others).every((value) => (value ?? null) === null) &&
    (seats ?? []).every(({ id, capacity }) => isWhole(id) && capacity == null) &&
    (groupOfSeats ?? []).every(
      ({ id, capacity }) => isWhole(id) && isWhole(capacity) && capacity! <= UINT32_MAX,
    )
  );
}

/** Each frame has a turn of its own, and answers leave at once. */
class PromptTurns extends FrameScheduler {
  override decided(): void {}
  override decideLater(): void {
    throw new Error("a frame waits, though each comes in a turn of its own");
  }
  override flushLater(connection: CommandConnection): void {
    connection.flush();
  }
}

/** The connections of all clients, by their keys. */
export class CommandLines extends Connections {
  override readonly turns = new PromptTurns();
  readonly #json = new Map<string, JsonLine>();
  readonly #binary = new Map<string, BinaryLine>();

  constructor(services: Services, front: CommandFront) {
    super(LIMITS.commandsInFrame);
    this.attach(front, services);
  }

  override decideWithRoom(): void {
    throw new Error("there is always room");
  }

  /** The connection of a key: with the binary layout, or with JSON. */
  of(key: string, isBinary: boolean): Line {
    if (!isBinary) return lineOf(this.#json, key, () => new JsonLine(this, key));
    return lineOf(this.#binary, key, () => new BinaryLine(this, key));
  }
}

function lineOf<L extends Line>(lines: Map<string, L>, key: string, open: () => L): L {
  const line = lines.get(key) ?? open();
  lines.set(key, line);
  return line;
}

abstract class Line implements Peer {
  readonly waitingBytes = 0;
  protected readonly connection: CommandConnection;
  readonly #lines: CommandLines;
  readonly #waiting: { readonly command: BookingCommand; readonly done: OnAnswer }[] = [];
  /** Numbers of the next command and the next answer. */
  #sent = 1;
  #answered = 1;
  #hasCredit = false;

  constructor(lines: CommandLines, key: string, protocol: Protocol) {
    this.#lines = lines;
    const client = { apiKey: key, authorization: "", organizationId: "", address: () => "" };
    this.connection = new CommandConnection(lines, protocol, client);
    this.connection.opened(this);
  }

  /** Decides the command. `done` is called when its answer has come. */
  ask(command: BookingCommand, done: OnAnswer): void {
    this.#waiting.push({ command, done });
    this.#lines.turns.now += 1;
    this.frame(this.#sent, command);
    this.#sent += 1;
  }

  send(message: string | Uint8Array): boolean {
    if (!this.#hasCredit) {
      this.#hasCredit = true;
      return true;
    }
    for (const { n, answer } of this.read(message)) {
      if (n !== this.#answered) throw new Error(`answer ${n} in place of ${this.#answered}`);
      this.#answered += 1;
      const { command, done } = this.#waiting.shift()!;
      done(withValues(answer, command));
    }
    return true;
  }

  close(code: number): void {
    throw new Error(`the connection was closed with ${code}`);
  }
  keep(): boolean {
    return true;
  }
  release(): void {}

  protected abstract frame(n: number, command: BookingCommand): void;
  protected abstract read(
    message: string | Uint8Array,
  ): readonly { readonly n: number; readonly answer: LineAnswer }[];
}

function grantedOf(value: boolean): LineAnswer {
  return { refused: Result.OK, value, errors: [] };
}

/** With the refused values: the binary layout has positions only. */
function withValues(answer: LineAnswer, { body }: BookingCommand): LineAnswer {
  const errors = answer.errors.map((error) => {
    const [, list, position, member] = /^(\w+)\[(\d+)\]\.(\w+)$/.exec(error.field) ?? [];
    if (list === undefined || error.rejectedValue !== undefined) return error;
    const choices = body[list as "seats" | "groupOfSeats"]!;
    return { ...error, rejectedValue: choices[Number(position)]![member as "id" | "capacity"] };
  });
  return { ...answer, errors };
}

class JsonLine extends Line {
  constructor(lines: CommandLines, key: string) {
    super(lines, key, new JsonProtocol());
  }

  protected frame(n: number, { kind: call, eventId, body }: BookingCommand): void {
    const { fences, ...usual } = body;
    // Fences, even none, take the general way.
    const named = fences === null ? usual : body;
    const bytes = Buffer.from(JSON.stringify([{ n, call, eventId, ...named }]));
    this.connection.message(Uint8Array.from(bytes).buffer, false);
  }

  protected read(message: string | Uint8Array) {
    const answers = JSON.parse(Buffer.from(message as Uint8Array).toString()) as {
      readonly n: number;
      readonly body: boolean | { readonly errorCode: string; readonly errors: FieldError[] };
    }[];
    return answers.map(({ n, body }) => {
      if (typeof body === "boolean") return { n, answer: grantedOf(body) };
      const { errorCode, errors } = body;
      return { n, answer: { refused: REFUSALS.get(errorCode)!, errors } };
    });
  }
}

class BinaryLine extends Line {
  /** Handles by kind and text. */
  readonly #handles = new Map<string, number>();

  constructor(lines: CommandLines, key: string) {
    super(lines, key, new BinaryProtocol());
  }

  protected frame(n: number, { kind: call, eventId, body }: BookingCommand): void {
    const opened: Buffer[] = [];
    const handle = (kind: string, text: string | null | undefined) => {
      if (text == null || text === "") return 0;
      const name = `${kind} ${text}`;
      const known = this.#handles.get(name);
      if (known !== undefined) return known;
      const number = this.#handles.size + 1;
      this.#handles.set(name, number);
      opened.push(openEntry(kind, number, text));
      return number;
    };
    const entry = commandEntry({
      n,
      call,
      event: handle("event", eventId),
      session: handle("session", body.sessionId),
      holdType: handle("hold type", body.holdType),
      seats: (body.seats ?? []).map(({ id }) => id),
      areas: (body.groupOfSeats ?? []).map(({ id, capacity }) => [id, capacity!] as const),
    });
    const bytes = Buffer.concat([...opened, entry]);
    this.connection.message(Uint8Array.from(bytes).buffer, true);
  }

  protected read(message: string | Uint8Array) {
    return readAnswers(Buffer.from(message as Uint8Array)).map(({ n, result, errors }) => {
      if (result <= 1) return { n, answer: grantedOf(result === 1) };
      const list = errors.map(([field, reason, position]): FieldError => {
        const name = FIELDS[field]!.replace(POSITION, `[${position}]`);
        return { field: name, code: REASONS[reason]!, message: "", rejectedValue: undefined };
      });
      return { n, answer: { refused: REFUSALS.get(RESULT_CODES[result]!)!, errors: list } };
    });
  }
}
