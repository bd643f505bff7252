/** The `WebSocket` of a browser. It cannot send a key: something on the way must add it. */
import { CLOSED_WITHOUT_CODE, type OpenSocket } from "./socket.ts";

/** The parts of the class `WebSocket` that are used. */
interface WebSocketLike {
  addEventListener(type: string, listener: (event: SocketEvent) => void): void;
  send(text: string): void;
  close(): void;
}

/** A message has `data`, and a close the others. */
interface SocketEvent {
  readonly data?: unknown;
  readonly code?: number;
  readonly reason?: string;
}

/** Such as `globalThis.WebSocket`. */
export type WebSocketClass = new (url: string, protocol: string) => unknown;

export function openWith(Class: WebSocketClass): OpenSocket {
  return ({ url, protocol }, events) => {
    const socket = new Class(url, protocol) as WebSocketLike;
    socket.addEventListener("open", () => events.opened());
    socket.addEventListener("message", ({ data }) => events.message(String(data)));
    socket.addEventListener("close", ({ code = CLOSED_WITHOUT_CODE, reason = "" }) =>
      events.closed(code, reason),
    );
    return socket;
  };
}
