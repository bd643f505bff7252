/** The subprotocols of a WebSocket, of which the client offers some and the server chooses one. */
import { Result } from "../../engine/results.ts";
import type { Problem } from "../wire/answers.ts";
import type { RequestHead } from "../wire/front.ts";
import { FrontResult } from "../wire/replies.ts";
import { WEBSOCKET_VERSION } from "../wire/sockets.ts";

const NO_HANDSHAKE: Problem = {
  refused: FrontResult.MALFORMED_REQUEST,
  detail: `This path is a WebSocket: send a handshake of version ${WEBSOCKET_VERSION}.`,
  headers: [["Sec-WebSocket-Version", WEBSOCKET_VERSION]],
};

export interface Chosen<Protocol> {
  /** As the client offered it; empty when it offered none. */
  readonly name: string;
  readonly protocol: Protocol;
}

export class Subprotocols<Protocol> {
  readonly #byName: ReadonlyMap<string, Protocol>;

  /** @param byName - The first one is spoken with a client that offers none. */
  constructor(byName: ReadonlyMap<string, Protocol>) {
    this.#byName = byName;
  }

  /** @returns The first that the client offers and the server knows, or a refusal. */
  choose({ protocols: offered = null }: RequestHead): Chosen<Protocol> | Problem {
    if (offered === null) return NO_HANDSHAKE;
    const [first] = this.#byName.values();
    if (offered === "") return { name: "", protocol: first! };
    for (const name of offered.split(",").map((part) => part.trim())) {
      const protocol = this.#byName.get(name);
      if (protocol !== undefined) return { name, protocol };
    }
    return this.#noneOf(offered);
  }

  #noneOf(rejectedValue: string): Problem {
    const message = `must name one of ${[...this.#byName.keys()].join(", ")}`;
    const field = "Sec-WebSocket-Protocol";
    const errors = [{ field, code: "ENUM", message, rejectedValue }];
    return { refused: Result.VALIDATION_FAILED, detail: "The subprotocol is not known.", errors };
  }
}
