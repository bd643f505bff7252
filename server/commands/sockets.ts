/** All connections for commands: they are opened here, and closed when their keys end. */
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
import { Turns } from "./turns.ts";

/** Answers of all connections that wait for the disk, in bytes. */
export const ANSWER_BYTES_MAX = 64 * 1_024 * 1_024;
export class OpenCommandSockets implements CommandSockets, Shared {
  readonly buffers = new AnswerBuffers();
  readonly traffic = new CommandTraffic();
  readonly commands = Array.from({ length: LIMITS.commandsInFrame }, () => new Command());
  readonly turns = new Turns<CommandConnection>();
  readonly #protocols = new Subprotocols<Protocol>(
    new Map(
      [new JsonProtocol(), new BinaryProtocol()].map((protocol) => [protocol.name, protocol]),
    ),
  );
  readonly #open = new KeyRounds<CommandConnection>((client) => this.decider.isAdmitted(client));
  /** Connections for whose answers there was no room. */
  readonly #stalled = new Set<CommandConnection>();
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

  decideWithRoom(connection: CommandConnection): void {
    this.#stalled.add(connection);
  }

  hold(bytes: number): void {
    this.answerBytes += bytes;
    if (bytes >= 0 || this.#stalled.size === 0) return;
    for (const connection of this.#stalled) this.turns.decideLater(connection);
    this.#stalled.clear();
  }

  closed(connection: CommandConnection): void {
    this.#open.delete(connection);
    this.turns.delete(connection);
    this.#stalled.delete(connection);
  }
}
