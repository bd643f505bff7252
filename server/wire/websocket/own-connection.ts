/**
 * A WebSocket from this process to itself; all others are opened in its cork.
 *
 * Opened in the cork of its own response, a WebSocket may be closed by the library, unless that
 * happens during the call of the handler: the library then reads the state of the response from
 * memory that has become the WebSocket's. Versions after the one used here do it right
 * (https://github.com/uNetworking/uWebSockets/pull/1929). Within another cork, that of the response
 * has no effect. Without any, the library writes a warning to standard error for each WebSocket.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import net from "node:net";
import uws, { type us_listen_socket, type WebSocket } from "uWebSockets.js";
import { Broken } from "../../../engine/assert.ts";

const LOOPBACK = "127.0.0.1";
const NEVER = 0;

export interface OwnConnection {
  /** Runs the work at once. Not to be called while a handler of the library runs. */
  cork(work: () => void): void;
  close(): void;
}

/** @param onLost - Called when the connection ends before it is closed. */
export async function connectToItself(onLost: (error: unknown) => void): Promise<OwnConnection> {
  const app = uws.App();
  // Nobody else can open it.
  const path = `/${randomUUID()}`;
  let isClosed = false;
  const opened = new Promise<WebSocket<unknown>>((resolve) => {
    app.ws(path, {
      idleTimeout: NEVER,
      // With pings, the library takes no timeout for one of 252 seconds, and ends the connection
      // four seconds later.
      sendPingsAutomatically: false,
      open: resolve,
      close: () => {
        if (!isClosed) onLost(new Broken("the server has lost the connection to itself"));
      },
    });
  });
  const listening = await new Promise<us_listen_socket | false>((resolve) => {
    app.listen(LOOPBACK, 0, resolve);
  });
  if (listening === false) throw new Error(`cannot listen on ${LOOPBACK}, any port`);
  const client = net.connect(uws.us_socket_local_port(listening), LOOPBACK);
  // The other side sees that the connection has ended.
  client.on("error", () => {});
  await once(client, "connect");
  client.write(handshake(path));
  const socket = await opened;
  uws.us_listen_socket_close(listening);
  client.unref();
  return {
    cork: (work) => void socket.cork(work),
    close: () => {
      isClosed = true;
      client.destroy();
      app.close();
    },
  };
}

function handshake(path: string): string {
  const lines = [
    `GET ${path} HTTP/1.1`,
    `Host: ${LOOPBACK}`,
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    // Any 16 bytes; that of RFC 6455, section 1.3.
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ];
  return [...lines, "", ""].join("\r\n");
}
