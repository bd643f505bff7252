/**
 * All connections for commands, and their turns: in one turn of the event loop, one frame of each
 * connection is decided, between the requests that came over HTTP.
 */
import { isRefused } from "../../engine/results.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Caller } from "../../engine/shapes/caller.ts";
import { KeyRounds } from "../routing/key-rounds.ts";
import { Subprotocols } from "../routing/subprotocols.ts";
import type { CommandFront, CommandSockets, Services } from "../routing/services.ts";
import { type Answer, type Problem, upgrade } from "../wire/answers.ts";
import type { RequestHead } from "../wire/front.ts";
import type { WaitingWork } from "../routing/waiting-work.ts";
import { AnswerBuffers } from "./answer-buffer.ts";
import { BinaryProtocol } from "./binary-protocol.ts";
import { Command, LIMITS } from "./command.ts";
import { CommandConnection, type Shared } from "./connection.ts";
import { Decider } from "./decider.ts";
import { JsonProtocol } from "./json-protocol.ts";
import type { Protocol } from "./protocol.ts";
import { CommandTraffic } from "./traffic.ts";

/** Answers of all connections that wait for the disk, in bytes. */
export const ANSWER_BYTES_MAX = 64 * 1_024 * 1_024;
export class OpenCommandSockets implements CommandSockets, Shared {
  readonly buffers = new AnswerBuffers();
  readonly traffic = new CommandTraffic();
  readonly commands = Array.from({ length: LIMITS.commandsInFrame }, () => new Command());
  turn = 0;
  readonly #protocols = new Subprotocols<Protocol>(
    new Map(
      [new JsonProtocol(), new BinaryProtocol()].map((protocol) => [protocol.name, protocol]),
    ),
  );
  readonly #open = new KeyRounds<CommandConnection>((client) => this.decider.isAdmitted(client));
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
    const chosen = this.#protocols.choose(head);
    if (isRefused(chosen)) return chosen;
    const { apiKey, authorization, organizationId: named, address } = head;
    // The exchange is used again, so its address is asked for now.
    const from = address();
    const client = { apiKey, authorization, organizationId: named, address: () => from };
    const handler = new CommandConnection(this, chosen.protocol, client);
    this.#open.add(handler);
    const sender = { name: `${tenantId}/${organizationId}`, hasKey: true };
    return upgrade({ protocol: chosen.name, sender, handler });
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
  }
}
