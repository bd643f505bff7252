/** What the client needs of a WebSocket. */

/** Where to connect, and as whom. */
export interface Address {
  /** With the scheme `ws` or `wss`. */
  readonly url: string;
  readonly protocol: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The headers that name the caller. */
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
   * Called once, at the end. Not opened means that the handshake failed.
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
