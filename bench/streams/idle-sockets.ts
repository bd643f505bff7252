/** A program that opens WebSockets and leaves them idle, until it is disconnected. */
import { connect, type Socket } from "node:net";
import { answerPlans } from "../harness/processes.ts";
import type { Target } from "../load/plan.ts";

export interface IdlePlan {
  readonly target: Pick<Target, "host" | "port">;
  readonly path: string;
  readonly key: string;
  readonly count: number;
}

const OPENED_TOGETHER = 100;
const sockets: Socket[] = [];

answerPlans(open);

/** @throws Error when the server refuses one, or has closed one. */
async function open(plan: IdlePlan): Promise<void> {
  for (let i = 0; i < plan.count; i += OPENED_TOGETHER) {
    const count = Math.min(OPENED_TOGETHER, plan.count - i);
    sockets.push(...(await Promise.all(Array.from({ length: count }, () => openOne(plan)))));
  }
  const closed = sockets.filter(({ destroyed }) => destroyed).length;
  if (closed > 0) throw new Error(`the server has closed ${closed} WebSockets`);
}

function openOne({ target, path, key }: IdlePlan): Promise<Socket> {
  const request = [
    `GET ${path} HTTP/1.1`,
    `Host: ${target.host}`,
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    `X-API-Key: ${key}`,
  ];
  return new Promise((resolve, reject) => {
    const socket = connect(target.port, target.host);
    socket.on("error", reject);
    let head = "";
    // The server may write an answer in pieces.
    const take = (bytes: Buffer) => {
      head += bytes.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      socket.off("data", take).resume();
      if (head.startsWith("HTTP/1.1 101")) resolve(socket);
      else reject(new Error(head));
    };
    socket.on("data", take);
    socket.write(`${request.join("\r\n")}\r\n\r\n`);
  });
}
