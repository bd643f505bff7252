/** Slow connections: some send one byte now and then, some never read their answers. */
import net from "node:net";
import type { ServerProcess } from "../../support/server-process.ts";
import type { Outcome } from "../campaign.ts";
import type { Disturber } from "./neighbour.ts";

/** One beat of the crowd: each slow sender sends a byte in one of so many beats. */
const BEAT_MS = 100;
const BEATS_PER_BYTE = 20;
/** Unread ones are replaced: they cannot notice their close. */
const BEATS_PER_READER = 150;
const BODY = `{"username":"${"s".repeat(3_000)}"}`;
const HEAD = `POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: ${BODY.length}\r\n\r\n`;

export interface SlowForm {
  readonly senders: number;
  readonly deaf: number;
}

/** Sends a request slowly, from its first byte or from the first of its body. */
interface Sender {
  readonly socket: net.Socket;
  readonly text: string;
  sent: number;
}

export class SlowCrowd implements Disturber {
  readonly violations: string[] = [];
  readonly #form: SlowForm;
  readonly #url: URL;
  readonly #senders: Sender[] = [];
  readonly #deaf: net.Socket[] = [];
  #beats = 0;
  #timer: NodeJS.Timeout | undefined;
  #opened = 0;
  #closed = 0;
  /** Connections that could not be opened, by the code of the error. */
  readonly #failed = new Map<string, number>();
  #connected = 0;

  constructor(server: ServerProcess, form: SlowForm) {
    this.#url = new URL(server.url);
    this.#form = form;
  }

  get figures(): Outcome["figures"] {
    const failed = [...this.#failed].map(([code, n]) => `${n} × ${code}`);
    return {
      "slow senders": this.#form.senders,
      "connections that never read": this.#form.deaf,
      "connections opened": this.#opened,
      "  established": this.#connected,
      "  ended by the server": this.#closed,
      "  errors": failed.length === 0 ? "none" : failed.join(", "),
    };
  }

  start(): void {
    const { senders, deaf } = this.#form;
    for (let i = 0; i < senders; i++) this.#senders.push(this.#newSender(i));
    for (let i = 0; i < deaf; i++) this.#deaf.push(this.#newDeaf());
    this.#timer = setInterval(() => this.#beat(), BEAT_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const { socket } of this.#senders) socket.destroy();
    for (const socket of this.#deaf) socket.destroy();
    const { senders, deaf } = this.#form;
    const least = senders + deaf;
    if (this.#connected < least) {
      this.violations.push(`${this.#connected} of ${least} connections were established`);
    }
  }

  #beat(): void {
    this.#beats += 1;
    for (let i = this.#beats % BEATS_PER_BYTE; i < this.#senders.length; i += BEATS_PER_BYTE) {
      const sender = this.#senders[i]!;
      const isOver = sender.socket.destroyed || sender.sent === sender.text.length;
      if (isOver) this.#replace(i);
      else sender.socket.write(sender.text[sender.sent++]!);
    }
    for (let i = this.#beats % BEATS_PER_READER; i < this.#deaf.length; i += BEATS_PER_READER) {
      this.#deaf[i]!.destroy();
      this.#deaf[i] = this.#newDeaf();
    }
  }

  #replace(index: number): void {
    this.#senders[index]!.socket.destroy();
    this.#senders[index] = this.#newSender(index);
  }

  #newSender(index: number): Sender {
    const text = HEAD + BODY;
    const socket = this.#connect().on("data", () => {});
    const sent = index % 2 === 0 ? 1 : HEAD.length + 1;
    socket.write(text.slice(0, sent));
    return { socket, text, sent };
  }

  #newDeaf(): net.Socket {
    const socket = this.#connect().pause();
    socket.write("GET /docs/reference.js HTTP/1.1\r\nHost: x\r\n\r\n");
    return socket;
  }

  #connect(): net.Socket {
    const { port, hostname } = this.#url;
    this.#opened += 1;
    const socket = net.connect({ port: Number(port), host: hostname, noDelay: true });
    socket.on("connect", () => (this.#connected += 1));
    socket.on("end", () => (this.#closed += 1));
    socket.on("error", ({ code = "?" }: NodeJS.ErrnoException) => {
      this.#failed.set(code, (this.#failed.get(code) ?? 0) + 1);
    });
    return socket;
  }
}
