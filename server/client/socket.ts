/** A WebSocket, as the client uses it. */

/** An endpoint and the caller's headers. */
export interface Address {
  /** With the scheme `ws` or `wss`. */
  readonly url: string;
  readonly protocol: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The caller's credentials. */
export interface Access {
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** @param url - Base URL of a server, without a slash at its end. */
export function endpointOf(
  url: string,
  { key, headers = {} }: Access,
  { path, protocol }: { readonly path: string; readonly protocol: string },
): Address {
  return {
    url: url.replace(/^http/, "ws") + path,
    protocol,
    headers: key === undefined ? headers : { "X-API-Key": key, ...headers },
  };
}

export interface SocketEvents {
  opened(): void;
  message(text: string): void;
  /**
   * Called once, at the end. Not opened: the handshake failed.
   *
   * @param code - Of the close frame, or 1006 for none; the HTTP status of a refused handshake.
   * @param location - Of a redirected handshake.
   */
  closed(code: number, reason: string, location?: string): void;
}

export interface Socket {
  send(text: string): void;
  /** Sends a close frame; `closed` follows. */
  close(): void;
}

export type OpenSocket = (address: Address, events: SocketEvents) => Socket;

export const CLOSED_WITHOUT_CODE = 1006;

// The `WebSocket` of a browser. It cannot send a key: something on the way must add it.

/** The used parts of the class `WebSocket`. */
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
