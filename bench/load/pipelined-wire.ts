/** How commands are written that are sent before earlier ones have been answered. */
import { FrameReader, frameOf, Opcode } from "../../server/client/node-socket.ts";
import type { EventOnSale, Target } from "./plan.ts";
import { SCRIPTS } from "./wire.ts";

export type Pipelining = "binary" | "json" | "resp";

export interface PipelinedPlan {
  readonly target: Pick<Target, "host" | "port">;
  readonly protocol: Pipelining;
  readonly event: EventOnSale;
  readonly connections: number;
  /** Commands without an answer, of each connection. */
  readonly inFlight: number;
  readonly durationMs: number;
}

export interface PipelinedMeasurement {
  readonly commandsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers that were not `true`. */
  readonly refused: number;
  /** Processor seconds of this program per second; near 1, the generator is the limit. */
  readonly generatorShare: number;
}

export type Pair = readonly [seat: number, neighbour: number];
export type Change = "lock" | "unlock";

/** One connection. */
export interface PipelinedWire {
  /** What is sent first. */
  readonly greeting: Buffer;
  /** @returns What is sent once the server has greeted; null before. */
  greeted(bytes: Buffer): Buffer | null;
  batch(change: Change, pairs: readonly Pair[]): Buffer;
  /** @returns For each answer, in order, whether it was `true`. */
  read(bytes: Buffer): readonly boolean[];
}

const BINARY_COMMAND_BYTES = 24;
const NOTHING = Buffer.alloc(0);
const BINARY = 2;
const CALLS: Readonly<Record<Change, number>> = { lock: 1, unlock: 2 };
const [EVENT, SESSION] = [128, 129];
const TRUE = 1;
const REFUSED_STATUS = 400;

export function wireOf({ protocol, event }: PipelinedPlan, session: string): PipelinedWire {
  if (protocol === "resp") return new RespPipeline(event, session);
  return protocol === "json"
    ? new JsonPipeline(event, session)
    : new BinaryPipeline(event, session);
}

abstract class SocketPipeline implements PipelinedWire {
  readonly greeting: Buffer;
  protected readonly event: EventOnSale;
  protected readonly session: string;
  readonly #frames = new FrameReader();

  constructor(event: EventOnSale, session: string, protocol: string) {
    this.event = event;
    this.session = session;
    const lines = [
      "GET /api/private/v2.0/booking/socket HTTP/1.1",
      "Host: bench",
      "Upgrade: websocket",
      "Connection: Upgrade",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      `Sec-WebSocket-Protocol: frontrow.commands.v1+${protocol}`,
      `X-API-Key: ${event.key}`,
    ];
    this.greeting = Buffer.from([...lines, "", ""].join("\r\n"));
  }

  greeted(bytes: Buffer): Buffer | null {
    return bytes.includes("}") ? this.opening() : null;
  }

  read(bytes: Buffer): readonly boolean[] {
    const messages = this.#frames.read(bytes).filter(({ opcode }) => opcode <= BINARY);
    return messages.flatMap(({ payload }) => this.answers(payload));
  }

  protected abstract opening(): Buffer;
  protected abstract answers(message: Buffer): readonly boolean[];
  abstract batch(change: Change, pairs: readonly Pair[]): Buffer;
}

class JsonPipeline extends SocketPipeline {
  constructor(event: EventOnSale, session: string) {
    super(event, session, "json");
  }

  protected opening(): Buffer {
    return NOTHING;
  }

  batch(call: Change, pairs: readonly Pair[]): Buffer {
    const { eventId } = this.event;
    const commands = pairs.map((pair, i) => {
      return {
        n: i + 1,
        call,
        eventId,
        sessionId: this.session,
        seats: pair.map((id) => ({ id })),
      };
    });
    return frameOf(Opcode.TEXT, Buffer.from(JSON.stringify(commands)));
  }

  protected answers(message: Buffer): readonly boolean[] {
    const answers = JSON.parse(message.toString("latin1")) as readonly { readonly body: unknown }[];
    return answers.map(({ body }) => body === true);
  }
}

class BinaryPipeline extends SocketPipeline {
  constructor(event: EventOnSale, session: string) {
    super(event, session, "binary");
  }

  protected opening(): Buffer {
    const id = Buffer.from(this.event.eventId.replaceAll("-", ""), "hex");
    const entry = (kind: number, text: Buffer) => {
      const bytes = Buffer.alloc((8 + text.length + 3) & ~3);
      bytes.writeUInt16LE(1, 0);
      bytes.writeUInt16LE(text.length, 2);
      bytes[4] = kind;
      text.copy(bytes, 8);
      return bytes;
    };
    const opened = [entry(EVENT, id), entry(SESSION, Buffer.from(this.session))];
    return frameOf(BINARY, Buffer.concat(opened));
  }

  batch(change: Change, pairs: readonly Pair[]): Buffer {
    const bytes = Buffer.alloc(pairs.length * BINARY_COMMAND_BYTES);
    for (const [i, [seat, neighbour]] of pairs.entries()) {
      const at = i * BINARY_COMMAND_BYTES;
      bytes.writeUInt32LE(i + 1, at);
      bytes[at + 4] = CALLS[change];
      bytes.writeUInt16LE(1, at + 6);
      bytes.writeUInt16LE(1, at + 8);
      bytes.writeUInt16LE(2, at + 12);
      bytes.writeUInt32LE(seat, at + 16);
      bytes.writeUInt32LE(neighbour, at + 20);
    }
    return frameOf(BINARY, bytes);
  }

  protected answers(message: Buffer): readonly boolean[] {
    const answers: boolean[] = [];
    for (let at = 0; at < message.length;) {
      const isRefused = message.readUInt16LE(at + 4) >= REFUSED_STATUS;
      answers.push(!isRefused && message.readUInt16LE(at + 6) === TRUE);
      at += isRefused ? 12 + 4 * message.readUInt16LE(at + 10) : 8;
    }
    return answers;
  }
}

/** Redis: each command is a call of a script. */
class RespPipeline implements PipelinedWire {
  readonly greeting = Buffer.from("*1\r\n$4\r\nPING\r\n");
  readonly #event: EventOnSale;
  readonly #session: string;
  #rest = "";

  constructor(event: EventOnSale, session: string) {
    this.#event = event;
    this.#session = session;
  }

  greeted(): Buffer {
    return NOTHING;
  }

  batch(change: Change, pairs: readonly Pair[]): Buffer {
    const { eventId } = this.#event;
    const commands = pairs.map((pair) => {
      const words = ["EVALSHA", SCRIPTS[change].sha, "1", `seats:${eventId}`, this.#session];
      const all = [...words, ...pair.map(String)];
      return `*${all.length}\r\n${all.map((word) => `$${word.length}\r\n${word}\r\n`).join("")}`;
    });
    return Buffer.from(commands.join(""));
  }

  read(bytes: Buffer): readonly boolean[] {
    const lines = (this.#rest + bytes.toString("latin1")).split("\r\n");
    this.#rest = lines.pop()!;
    return lines.map((line) => line === ":1");
  }
}
