/** A WebSocket written byte by byte. */
import { HANDSHAKE } from "../../support/gateway/raw.ts";
import { type Connection, until } from "../wire/connection.ts";
import { SOCKET_PATH } from "./client.ts";
import type { CommandStage } from "./stage.ts";

const TEXT = 1;
const PING = 9;
const FINAL = 0x80;
const MASKED = 0x80;
/** Of a head: the length follows in two bytes, or in eight. */
const [TWO_BYTES, EIGHT_BYTES] = [126, 127];

export async function bareSocket(stage: CommandStage): Promise<Connection> {
  const connection = await stage.listening.connection();
  connection.get(SOCKET_PATH, ...HANDSHAKE, `X-API-Key: ${stage.server.a.key}`);
  await until(() => connection.text.includes("bytesInFrame"));
  return connection;
}

/** A text message as a client sends it, with a mask of zeros. */
export function masked(text: string): Buffer {
  const payload = Buffer.from(text);
  const head = Buffer.from([FINAL | TEXT, MASKED | TWO_BYTES, 0, 0, 0, 0, 0, 0]);
  head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}

/** The first bytes of a text message of any length. */
export function headOf(bytes: number): Buffer {
  const head = Buffer.alloc(14);
  head.writeUInt16BE(((FINAL | TEXT) << 8) | MASKED | EIGHT_BYTES);
  head.writeBigUInt64BE(BigInt(bytes), 2);
  return head;
}

/** A ping as a client sends it, with a mask of zeros. */
export function ping(payload: string): Buffer {
  const head = Buffer.from([FINAL | PING, MASKED | payload.length, 0, 0, 0, 0]);
  return Buffer.concat([head, Buffer.from(payload)]);
}

/** Half a megabyte of errors for each frame: three commands with a thousand seats each. */
export function largeFrame(stage: CommandStage): string {
  const { eventId } = stage.server.a;
  const seats = Array.from({ length: 1_000 }, (_, i) => ({ id: 1_000_000 + i }));
  const command = { n: 1, call: "unlock", eventId, seats };
  return JSON.stringify([command, command, command]);
}
