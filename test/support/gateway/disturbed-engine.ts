/**
 * A gateway before an engine whose link works, so that the gateway takes requests, but whose HTTP
 * answers are those of the test.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { LINK_PATH } from "../../../server/gateway/link-layout.ts";
import { listen } from "../../../server/http/server.ts";
import { TestServer } from "../server.ts";
import { newGateway } from "./stage.ts";

const ACCEPT_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const HOST = "127.0.0.1";

/** @param head - Of the request, each byte a character. */
type Respond = (socket: Socket, head: string) => void;

/**
 * Ends with the test.
 *
 * @returns The gateway's port, errors fatal to a process, and a way to break the link.
 */
export async function startDisturbed(respond: Respond) {
  const broken: unknown[] = [];
  const onBroken = (error: unknown) => void broken.push(error);
  const engine = await listen(new TestServer().dispatch, { host: HOST, port: 0, onBroken });
  const sockets = new Set<Socket>();
  const links = new Set<Socket>();
  const proxy = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    let head = "";
    socket.on("data", function read(piece: Buffer) {
      head += piece.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      socket.off("data", read);
      if (head.startsWith(`GET ${LINK_PATH} `)) {
        links.add(socket);
        passOn(socket, engine.port, head);
      } else respond(socket.resume(), head);
    });
  }).listen(0, HOST);
  await once(proxy, "listening");
  const gateway = await newGateway((proxy.address() as AddressInfo).port, { onBroken });
  onTestFinished(async () => {
    gateway.link.stop();
    await gateway.stop();
    for (const socket of sockets) socket.destroy();
    proxy.close();
    engine.close();
  });
  const breakLink = () => {
    for (const link of links) link.destroy();
  };
  return { port: gateway.port, broken, breakLink };
}

function passOn(socket: Socket, port: number, head: string): void {
  const engine = connect(port, HOST).on("error", () => {});
  engine.write(head, "latin1");
  engine.on("close", () => socket.destroy());
  socket.on("close", () => engine.destroy()).pipe(engine);
  engine.pipe(socket);
}

/** The handshake answer to a request head. */
export function openingOf(head: string): string {
  const key = /^sec-websocket-key: (\S+)/im.exec(head)?.[1] ?? "";
  const accept = createHash("sha1").update(key + ACCEPT_SUFFIX);
  return [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${accept.digest("base64")}`,
    "",
    "",
  ].join("\r\n");
}

/** Sends as fast as the other side reads, until it ends the connection. @returns How many bytes. */
export async function flood(socket: Socket, piece: Buffer, bytesMax: number): Promise<number> {
  while (!socket.destroyed && socket.bytesWritten < bytesMax) {
    if (socket.write(piece)) await new Promise(setImmediate);
    else await Promise.race([once(socket, "drain"), once(socket, "close")]).catch(() => {});
  }
  return socket.bytesWritten;
}
