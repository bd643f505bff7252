/**
 * All connections for commands, and their turns: in one turn of the event loop, one frame of each
 * connection is decided, between the requests that came over HTTP.
 */
import { Result } from "../../engine/results.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Caller } from "../../engine/shapes/caller.ts";
import type { CommandFront, CommandSockets, Services } from "../routing/services.ts";
import { type Answer, type Problem, upgrade } from "../wire/answers.ts";
import type { RequestHead } from "../wire/front.ts";
import { FrontResult } from "../wire/replies.ts";
import { WEBSOCKET_VERSION } from "../wire/sockets.ts";
import type { WaitingWork } from "../routing/waiting-work.ts";
import { AnswerBuffers } from "./answer-buffer.ts";
import { BinaryProtocol } from "./binary-protocol.ts";
import { Command, LIMITS } from "./command.ts";
import { CloseCode, CommandConnection, type Shared } from "./connection.ts";
import { Decider } from "./decider.ts";
import { JsonProtocol } from "./json-protocol.ts";
import type { Protocol } from "./protocol.ts";
import { CommandTraffic } from "./traffic.ts";

/** Answers of all connections that wait for the disk, in bytes. */
export const ANSWER_BYTES_MAX = 64 * 1_024 * 1_024;
/** The keys of all connections are judged once in this many steps, which take a second. */
const SWEEP_STEPS = 10;
const SWEEP_STEP_MS = 100;

const NO_HANDSHAKE: Problem = {
  refused: FrontResult.MALFORMED_REQUEST,
  detail: `This path is a WebSocket: send a handshake of version ${WEBSOCKET_VERSION}.`,
  headers: [["Sec-WebSocket-Version", WEBSOCKET_VERSION]],
};

export class OpenCommandSockets implements CommandSockets, Shared {
  readonly buffers = new AnswerBuffers();
  readonly traffic = new CommandTraffic();
  readonly commands = Array.from({ length: LIMITS.commandsInFrame }, () => new Command());
  turn = 0;
  readonly #protocols: readonly Protocol[] = [new JsonProtocol(), new BinaryProtocol()];
  readonly #open = new Set<CommandConnection>();
  /** Connections with frames that wait for their turn. */
  #waiting = new Set<CommandConnection>();
  /** Those for whose answers there was no room. */
  readonly #stalled = new Set<CommandConnection>();
  /** Connections whose answers may leave. */
  #flushing: CommandConnection[] = [];
  #hasTurnAhead = false;
  /** Answers that wait for the disk. */
  answerBytes = 0;
  #engine: Engine | null = null;
  #decider: Decider | null = null;
  #sweep: Iterator<CommandConnection> | null = null;
  #timer: NodeJS.Timeout | null = null;

  get engine(): Engine {
    return this.#engine!;
  }

  get decider(): Decider {
    return this.#decider!;
  }

  get waiting(): WaitingWork {
    return this.decider.waiting;
  }

  get hasRoom(): boolean {
    return this.answerBytes < ANSWER_BYTES_MAX;
  }

  attach(front: CommandFront, services: Services): void {
    this.#engine = services.engine;
    this.#decider = new Decider(services, front);
  }

  open(head: RequestHead, { tenantId, organizationId }: Caller): Answer | Problem {
    const { protocols = null, apiKey, authorization, organizationId: named, address } = head;
    if (protocols === null) return NO_HANDSHAKE;
    const protocol = this.#choose(protocols);
    if (protocol === undefined) return this.#noneOf(protocols);
    // The exchange is used again, so its address is asked for now.
    const from = address();
    const client = { apiKey, authorization, organizationId: named, address: () => from };
    const handler = new CommandConnection(this, protocol, client);
    this.#open.add(handler);
    this.#timer ??= setInterval(() => this.#judge(), SWEEP_STEP_MS).unref();
    const sender = { name: `${tenantId}/${organizationId}`, hasKey: true };
    return upgrade({ protocol: protocols === "" ? "" : protocol.name, sender, handler });
  }

  /** The first that the client names and the server knows; JSON when it names none. */
  #choose(protocols: string): Protocol | undefined {
    if (protocols === "") return this.#protocols[0];
    const names = protocols.split(",").map((name) => name.trim());
    const known = names.map((name) => this.#protocols.find((one) => one.name === name));
    return known.find((one) => one !== undefined);
  }

  #noneOf(rejectedValue: string): Problem {
    const names = this.#protocols.map(({ name }) => name).join(", ");
    const message = `must name one of ${names}`;
    const field = "Sec-WebSocket-Protocol";
    const errors = [{ field, code: "ENUM", message, rejectedValue }];
    return { refused: Result.VALIDATION_FAILED, detail: "The subprotocol is not known.", errors };
  }

  decided(): void {
    this.#takeTurn();
  }

  decideLater(connection: CommandConnection): void {
    this.#waiting.add(connection);
    this.#takeTurn();
  }

  decideWithRoom(connection: CommandConnection): void {
    this.#stalled.add(connection);
  }

  #takeTurn(): void {
    if (this.#hasTurnAhead) return;
    this.#hasTurnAhead = true;
    setImmediate(this.#nextTurn);
  }

  readonly #nextTurn = (): void => {
    this.#hasTurnAhead = false;
    this.turn += 1;
    const waiting = this.#waiting;
    if (waiting.size === 0) return;
    this.#waiting = new Set();
    for (const connection of waiting) connection.decideNext();
  };

  flushLater(connection: CommandConnection): void {
    if (this.#flushing.length === 0) queueMicrotask(this.#flush);
    this.#flushing.push(connection);
  }

  readonly #flush = (): void => {
    const flushing = this.#flushing;
    this.#flushing = [];
    for (const connection of flushing) connection.flush();
  };

  hold(bytes: number): void {
    this.answerBytes += bytes;
    if (bytes >= 0 || this.#stalled.size === 0) return;
    for (const connection of this.#stalled) this.decideLater(connection);
    this.#stalled.clear();
  }

  closed(connection: CommandConnection): void {
    this.#open.delete(connection);
    this.#waiting.delete(connection);
    this.#stalled.delete(connection);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer ?? undefined);
    this.#timer = null;
    this.#sweep = null;
  }

  /** Closes connections whose key has ended: a share of them at a time. */
  #judge(): void {
    for (let left = Math.ceil(this.#open.size / SWEEP_STEPS); left > 0; left--) {
      this.#sweep ??= this.#open.values();
      const { value, done } = this.#sweep.next();
      if (done === true) this.#sweep = null;
      else if (!this.decider.isAdmitted(value.client)) value.close(CloseCode.KEY_ENDED);
    }
  }
}
