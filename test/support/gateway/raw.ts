/** Bytes on a bare connection, as no HTTP client would send them. */
import { connect } from "node:net";
import { onTestFinished } from "vitest";

export const HANDSHAKE = [
  "Upgrade: websocket",
  "Connection: Upgrade",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];
const SILENT_MS_MAX = 10_000;

/** The head of a request, and the empty line after it. */
export function headOf(line: string, headers: readonly string[] = []): string {
  return [`${line} HTTP/1.1`, "Host: x", ...headers, "", ""].join("\r\n");
}

export interface RawAnswer {
  /** 0 when the connection ended, or stayed silent, without an answer. */
  readonly status: number;
  /** The `errorCode` of a problem document; empty for another answer. */
  readonly errorCode: string;
  readonly body: string;
  /** The program ended the connection. */
  readonly hasEnded: boolean;
}

/**
 * Sends bytes, each a character. Settles when the connection ends.
 *
 * @param isLast - The program must end it; otherwise a whole answer is enough.
 */
export function sendRaw(port: number, text: string, isLast = false): Promise<RawAnswer> {
  return new Promise((resolve) => {
    let [received, hasEnded] = ["", false];
    const socket = connect(port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket
      .setEncoding("latin1")
      .setTimeout(SILENT_MS_MAX, () => socket.destroy())
      .on("data", (data: string) => {
        received += data;
        if (!isLast && isWhole(received)) socket.destroy();
      })
      .on("end", () => (hasEnded = true))
      .on("error", () => {})
      .on("close", () => resolve({ ...answerIn(received), hasEnded }))
      .write(text, "latin1");
  });
}

function isWhole(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  const length = /^content-length: (\d+)/im.exec(text)?.[1];
  return end >= 0 && (length === undefined || text.length >= end + 4 + Number(length));
}

function answerIn(text: string) {
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0);
  const body = text.slice(text.indexOf("\r\n\r\n") + 4);
  return { status, errorCode: /"errorCode":"(\w+)"/.exec(body)?.[1] ?? "", body };
}
