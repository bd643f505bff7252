/**
 * A load generator on plain sockets: each connection has one request under way, the next goes out
 * when the answer is in. No HTTP library, so that it costs less than what it measures.
 */
import net from "node:net";
import { build, type Histogram } from "hdr-histogram-js";

export interface Target {
  readonly host: string;
  readonly port: number;
}

export interface Load {
  readonly connections: number;
  readonly durationMs: number;
  /** Requests of one connection, sent in turn again and again. */
  readonly requestsOf: (connection: number) => readonly Buffer[];
}

export interface Measured {
  readonly requestsPerSecond: number;
  /** Microseconds of the first request of each connection's turn. */
  readonly latency: Histogram;
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>;
}

const STATUS_START = "HTTP/1.1 ".length;
const STATUS_END = STATUS_START + 3;
const HEAD_END = "\r\n\r\n";
const LENGTH = /content-length: (\d+)/i;

export async function run(target: Target, load: Load): Promise<Measured> {
  const latency = build({ highestTrackableValue: 60_000_000 });
  const statuses: Record<string, number> = {};
  const startedMs = performance.now();
  const endMs = startedMs + load.durationMs;
  const lines = Array.from({ length: load.connections }, (_, connection) =>
    drive(target, load.requestsOf(connection), { endMs, latency, statuses }),
  );
  await Promise.all(lines);
  const seconds = (performance.now() - startedMs) / 1_000;
  const answers = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  return { requestsPerSecond: answers / seconds, latency, statuses };
}

interface Line {
  readonly endMs: number;
  readonly latency: Histogram;
  readonly statuses: Record<string, number>;
}

/** Ends after a whole turn, so that what the turn took it has given back. */
function drive(target: Target, requests: readonly Buffer[], line: Line): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ ...target, noDelay: true });
    let turn = 0;
    let sentMs = 0;
    let pending = "";
    const send = () => {
      sentMs = performance.now();
      socket.write(requests[turn]!);
    };
    socket.on("connect", send);
    socket.on("error", reject);
    socket.on("data", (chunk) => {
      pending += chunk.toString("latin1");
      if (!isWhole(pending)) return;
      const status = pending.slice(STATUS_START, STATUS_END);
      line.statuses[status] = (line.statuses[status] ?? 0) + 1;
      pending = "";
      const nowMs = performance.now();
      if (turn === 0) line.latency.recordValue(Math.round((nowMs - sentMs) * 1_000));
      turn = (turn + 1) % requests.length;
      if (turn === 0 && nowMs >= line.endMs) {
        socket.end();
        resolve();
      } else {
        send();
      }
    });
  });
}

function isWhole(answer: string): boolean {
  const head = answer.indexOf(HEAD_END);
  if (head < 0) return false;
  const length = Number(LENGTH.exec(answer)?.[1] ?? 0);
  return answer.length >= head + HEAD_END.length + length;
}

/** The bytes of a POST request with a JSON body. */
export function post(path: string, key: string, body: unknown): Buffer {
  const text = JSON.stringify(body);
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: bench\r\nX-API-Key: ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
}
