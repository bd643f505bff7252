/** A listening server, and clients of its command socket as organization A. */
import { BINARY_PROTOCOL, CommandClient, JSON_PROTOCOL } from "./client.ts";
import type { HttpOptions } from "../../../server/http/server.ts";
import type { TestServer } from "../../support/server.ts";
import { Listening } from "../wire/connection.ts";

export class CommandStage {
  readonly listening: Listening;
  readonly server: TestServer;

  private constructor(listening: Listening) {
    this.listening = listening;
    this.server = listening.server;
  }

  static async start(limits: Partial<HttpOptions> = {}): Promise<CommandStage> {
    return new CommandStage(await Listening.start(limits));
  }

  open(key: string = this.server.a.key): Promise<CommandClient> {
    return CommandClient.open({ base: this.listening.base, key, protocol: JSON_PROTOCOL });
  }

  openBinary(key: string = this.server.a.key): Promise<CommandClient> {
    return CommandClient.open({ base: this.listening.base, key, protocol: BINARY_PROTOCOL });
  }

  /** A command in the JSON subprotocol, on the event of A. */
  command(n: number, call: string, sessionId: string, ...labels: readonly string[]) {
    const { seats, groupOfSeats } = this.server.selection(sessionId, ...labels);
    return { n, call, eventId: this.server.a.eventId, sessionId, seats, groupOfSeats };
  }
}
