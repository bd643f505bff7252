/**
 * Passes WebSockets on: streams of events and command sockets of clients. Each has a WebSocket of
 * its own to the engine, which judges it; messages and close codes go through as they are.
 */
import type { Answer, Problem } from "../wire/answers.ts";
import { upgrade } from "../wire/answers.ts";
import type { Exchange } from "../wire/front.ts";
import type { Peer, SocketHandler } from "../wire/sockets.ts";
import { type AnswerRoom, collect, forwarded, keepId, UNFORWARDABLE } from "./passing.ts";
import { CLOSED_WITHOUT_CODE, UpstreamSocket } from "./web-socket.ts";

const [GOING_AWAY, STOPPING, NO_MEMORY] = [1001, 1012, 1013];

interface TunnelOptions {
  readonly engine: URL;
  readonly room: AnswerRoom;
  readonly refuse: (problem: Problem | null, exchange: Exchange) => Answer;
  readonly onAnswer: (exchange: Exchange, status: number) => void;
}

/** Opens a WebSocket to the engine for the one that a client asks for. */
export function openTunnel(exchange: Exchange, options: TunnelOptions): void {
  const answer = (given: Answer) => {
    exchange.onGone = null;
    options.onAnswer(exchange, given.status);
    exchange.respond(given);
  };
  const sender = { name: exchange.apiKey || exchange.address(), hasKey: exchange.apiKey !== "" };
  const carried = forwarded(exchange);
  if (carried === null) {
    answer(options.refuse(UNFORWARDABLE, exchange));
    return;
  }
  const tunnel = new Tunnel();
  let isAnswered = false;
  const upstream = new UpstreamSocket(
    { server: options.engine, ...carried },
    {
      opened: (protocol) => {
        isAnswered = true;
        upstream.pause();
        answer(upgrade({ protocol, sender, handler: tunnel }));
      },
      message: (payload, isBinary) => tunnel.fromEngine(payload, isBinary),
      refused: (response) => {
        keepId(exchange, response);
        collect(response, options.room, (given) => answer(given ?? options.refuse(null, exchange)));
      },
      closed: (code, reason) => {
        if (isAnswered) tunnel.engineClosed(code, reason);
        else answer(options.refuse(null, exchange));
      },
    },
  );
  tunnel.upstream = upstream;
  exchange.onGone = () => upstream.destroy();
}

class Tunnel implements SocketHandler {
  upstream: UpstreamSocket | null = null;
  #peer: Peer | null = null;
  #isClosed = false;

  opened(peer: Peer): void {
    this.#peer = peer;
    this.upstream!.resume();
  }

  fromEngine(payload: Buffer, isBinary: boolean): void {
    const message = isBinary ? payload : payload.toString();
    if (this.#peer?.send(message, isBinary) === false) this.upstream!.pause();
  }

  drained(): void {
    this.upstream!.resume();
  }

  /** What the engine has not read counts as memory of the client. */
  message(bytes: ArrayBuffer, isBinary: boolean): void {
    const { byteLength } = bytes;
    if (this.#isClosed || this.#peer === null) return;
    if (!this.#peer.keep(byteLength)) {
      this.#peer.close(NO_MEMORY, "too much waits for the engine; try again later");
      return;
    }
    this.upstream!.send(new Uint8Array(bytes), isBinary, () => this.#peer?.release(byteLength));
  }

  engineClosed(code: number, reason: string): void {
    this.#isClosed = true;
    const isLost = code === CLOSED_WITHOUT_CODE;
    this.#peer?.close(isLost ? STOPPING : code, isLost ? "the engine was lost" : reason);
  }

  closed(): void {
    this.#peer = null;
    if (!this.#isClosed) this.upstream!.close(GOING_AWAY);
    this.#isClosed = true;
  }

  stop(): void {
    this.#peer?.close(STOPPING, "the gateway is stopping");
  }
}
