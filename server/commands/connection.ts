/**
 * One connection, of a client or of a gateway: frames come in, are decided in turns, and are
 * answered when the log has them.
 *
 * Ordering: commands are decided in order of arrival. An answer from disk holds up the rest of its
 * frame and later frames, so answers leave in the order of the commands; on a shared connection it
 * leaves after later ones.
 */
import type { Caller } from "../../engine/bodies.ts";
import type { Engine } from "../../engine/engine.ts";
import { isRefused } from "../../engine/results.ts";
import type { WaitingWork } from "../api/overload.ts";
import { type KeyedConnection, KeyRounds, Subprotocols } from "../api/websockets.ts";
import { type Answer, type Problem, upgrade, wantsStrict } from "../http/answers.ts";
import type { RequestHead } from "../http/front.ts";
import type { Peer, SocketHandler } from "../http/sockets.ts";
import { family } from "../observe/exposition.ts";
import { type AnswerBuffer, AnswerBuffers } from "./answer-buffer.ts";
import { BinaryProtocol } from "./binary-protocol.ts";
import {
  type Call,
  type Client,
  Command,
  Handles,
  JSON_CALLS,
  LIMITS,
  type Memory,
  NO_MEMORY,
  type Protocol,
  UNREADABLE,
} from "./command.ts";
import { type CommandFront, type Decided, Decider, type DeciderServices } from "./decider.ts";
import { JsonProtocol } from "./json-protocol.ts";

/** Why a connection is closed; the number is the code of the close frame. */
export const CloseCode = {
  UNREADABLE: 1007,
  STOPPING: 1012,
  NO_MEMORY: 1013,
  KEY_ENDED: 4001,
  BEYOND_CREDIT: 4009,
} as const;
export type CloseCode = (typeof CloseCode)[keyof typeof CloseCode];

const REASONS: Readonly<Record<CloseCode, string>> = {
  [CloseCode.UNREADABLE]: "the frame cannot be read",
  [CloseCode.STOPPING]: "the server is stopping",
  [CloseCode.NO_MEMORY]: "too much waits to be decided; try again later",
  [CloseCode.KEY_ENDED]: "the key is no longer valid",
  [CloseCode.BEYOND_CREDIT]: "the frame is beyond the credit",
};

/** Backpressure: bytes of pending answers of one connection, above which no frame is decided. */
export const CONNECTION_ANSWER_BYTES_MAX = 1_024 * 1_024;

/** A waiting frame, or the rest of one. */
interface Waiting {
  readonly bytes: number;
  readonly content: ArrayBuffer | Command[];
}

interface Frame {
  readonly count: number;
  readonly bytes: number;
}

/** Answers released by one durable watermark. */
interface Extent {
  /** The connection's written bytes by then, in all. */
  readonly end: number;
  readonly commands: number;
}

export class CommandConnection implements SocketHandler, KeyedConnection {
  readonly credentials: Client;
  readonly #protocol: Protocol;
  readonly #shared: Connections;
  #peer: Peer | null = null;
  #memory: Memory | null = null;
  #handles: Handles | null = null;
  /** Received commands without an answer. */
  #unanswered = 0;
  readonly #frames: Waiting[] = [];
  /** Unsent answers; null while there are none. */
  #answers: AnswerBuffer | null = null;
  /** Sent bytes of answers, in all. */
  #sentBytes = 0;
  readonly #extents: Extent[] = [];
  /** Bytes and commands of durable answers. */
  #readyEnd = 0;
  #readyCommands = 0;
  #heldBytes = 0;
  #turn = -1;
  /** Backpressure: the client does not read. */
  #isBlocked = false;
  /** Answers being read from disk. */
  #reading = 0;
  #closeCode: CloseCode | 0 = 0;

  constructor(shared: Connections, protocol: Protocol, client: Client) {
    this.#shared = shared;
    this.#protocol = protocol;
    this.credentials = client;
  }

  opened(peer: Peer): void {
    this.#peer = peer;
    this.#memory = this.#shared.memoryOf(peer);
    this.tell({ type: "credit", ...this.#protocol.limits });
    this.#shared.opened(this);
  }

  /** Sends a notice. */
  tell(message: object): void {
    this.#peer?.send(JSON.stringify(message), false);
  }

  get isClosing(): boolean {
    return this.#closeCode !== 0;
  }

  /** True while an answer from disk holds up later commands. */
  get #isHeldUp(): boolean {
    return this.#reading > 0 && !this.#protocol.isShared;
  }

  message(frame: ArrayBuffer, isBinary: boolean): void {
    if (this.#closeCode !== 0) return;
    if (isBinary !== this.#protocol.isBinary) this.close(CloseCode.UNREADABLE);
    else if (frame.byteLength > this.#protocol.limits.bytesInFrame) {
      this.close(CloseCode.BEYOND_CREDIT);
    } else if (this.#frames.length === 0 && this.#mayDecide()) this.#read(frame, true);
    else this.#keep(frame);
  }

  drained(): void {
    this.#isBlocked = false;
    if (this.#frames.length > 0) this.#shared.turns.decideLater(this);
  }

  closed(): void {
    this.#peer = null;
    this.#closeCode = CloseCode.STOPPING;
    this.#frames.length = 0;
    this.#shared.decider.waiting.count -= this.#decidedCommands();
    this.#freeAnswers();
    this.#shared.closed(this);
  }

  stop(): void {
    this.close(CloseCode.STOPPING);
  }

  judged(isValid: boolean): void {
    if (!isValid) this.close(CloseCode.KEY_ENDED);
  }

  /** Decides nothing more, and closes after the pending answers. */
  close(code: CloseCode): void {
    if (this.#closeCode !== 0) return;
    this.#closeCode = code;
    this.#shared.traffic.closed(code);
    for (const { bytes } of this.#frames) this.#memory!.release(bytes);
    this.#frames.length = 0;
    this.#shared.closing(this);
    this.#closeWhenAnswered();
  }

  /** Decides a waiting frame, unless it must go on waiting. */
  decideNext(): void {
    const waiting = this.#frames[0];
    if (waiting === undefined || this.#isBlocked || this.#isHeldUp) return;
    if (!this.#hasRoom()) {
      this.#shared.decideWithRoom(this);
      return;
    }
    if (this.#turn !== this.#shared.turns.now) this.#takeUp(waiting);
    if (this.#frames.length > 0) this.#shared.turns.decideLater(this);
  }

  #mayDecide(): boolean {
    if (this.#isBlocked || this.#isHeldUp || this.#turn === this.#shared.turns.now) return false;
    return this.#hasRoom();
  }

  #hasRoom(): boolean {
    return this.#heldBytes < CONNECTION_ANSWER_BYTES_MAX && this.#shared.hasRoom;
  }

  /** Keeps a frame within the limits until its turn. */
  #keep(frame: ArrayBuffer): void {
    const count = this.#protocol.count(frame);
    if (!this.#accepts(count)) return;
    if (!this.#memory!.keep(frame.byteLength)) {
      this.close(CloseCode.NO_MEMORY);
      return;
    }
    this.#unanswered += count;
    this.#frames.push({ bytes: frame.byteLength, content: frame.slice(0) });
    this.#shared.turns.decideLater(this);
  }

  /** Closes the connection, if the count is none or too high. */
  #accepts(count: number): boolean {
    const { commands, commandsInFrame } = this.#protocol.limits;
    if (count === UNREADABLE) this.close(CloseCode.UNREADABLE);
    else if (count === NO_MEMORY) this.close(CloseCode.NO_MEMORY);
    else if (count > commandsInFrame || this.#unanswered + count > commands) {
      this.close(CloseCode.BEYOND_CREDIT);
    } else return true;
    return false;
  }

  #takeUp({ bytes, content }: Waiting): void {
    this.#frames.shift();
    this.#memory!.release(bytes);
    if (content instanceof ArrayBuffer) this.#read(content, false);
    else this.#decide(content, content.length, bytes);
  }

  /** Reads a frame, once: reading opens its handles. */
  #read(frame: ArrayBuffer, isNew: boolean): void {
    const { commands } = this.#shared;
    this.#handles ??= new Handles(this.#memory!);
    const count = this.#protocol.readFrame(frame, this.#handles, commands);
    if (isNew ? !this.#accepts(count) : count < 0 && !this.#accepts(count)) return;
    if (isNew) this.#unanswered += count;
    this.#decide(commands, count, frame.byteLength);
  }

  /** Decides commands until all are done, or one of them waits for its answer from disk. */
  #decide(commands: Command[], count: number, bytes: number): void {
    const { decider, engine } = this.#shared;
    this.#turn = this.#shared.turns.now;
    this.#shared.turns.decided();
    let client: Client | null = this.#protocol.isShared ? null : this.credentials;
    const hasKey = client === null || decider.begin(client);
    const wereRead = this.#reading;
    let done = 0;
    engine.atOneTime(() => {
      while (done < count && !this.#isHeldUp) {
        const command = commands[done]!;
        done += 1;
        if (command.client !== null && command.client !== client) {
          client = command.client;
          decider.begin(client);
        }
        this.#show(command, decider.decide(command));
      }
    });
    const decided = done - (this.#reading - wereRead);
    if (done < count) this.#suspend(commands, done, { count, bytes });
    if (decided > 0) this.#answerLater(decided);
    if (!hasKey) this.close(CloseCode.KEY_ENDED);
  }

  /** Keeps the remaining commands. New ones take their place for other frames. */
  #suspend(commands: Command[], done: number, { count, bytes }: Frame): void {
    if (!this.#memory!.keep(bytes)) {
      this.close(CloseCode.NO_MEMORY);
      return;
    }
    const rest = commands.slice(done, count);
    for (let i = done; i < count; i++) commands[i] = new Command();
    for (const command of rest) command.keep();
    this.#frames.unshift({ bytes, content: rest });
  }

  #show(command: Command, decided: Decided | Answer | Promise<Answer>): void {
    const { number, call } = command;
    const { traffic, engine, decider } = this.#shared;
    if (decided instanceof Promise) {
      this.#reading += 1;
      void decided.then((answer) => this.#resume(call, number, answer));
      return;
    }
    const to = (this.#answers ??= this.#newAnswers());
    if ("status" in decided) {
      this.#protocol.writeAnswer(to, number, decided);
      traffic.answered(call, decided.status);
    } else if (decided.problem === null) {
      this.#protocol.writeDone(to, number, decided.isDone!);
      traffic.answered(call, 200);
    } else {
      const refused = { problem: decided.problem, path: decider.pathOf(command), timeMs: 0 };
      refused.timeMs = engine.nowMs();
      traffic.answered(call, this.#protocol.writeProblem(to, number, refused));
    }
  }

  /** An answer has been read from disk: the commands after it may be decided. */
  #resume(call: Command["call"], number: number, answer: Answer): void {
    if (this.#peer === null) return;
    const { traffic } = this.#shared;
    this.#reading -= 1;
    this.#protocol.writeAnswer((this.#answers ??= this.#newAnswers()), number, answer);
    traffic.answered(call, answer.status);
    this.#answerLater(1);
    if (this.#frames.length > 0) this.#shared.turns.decideLater(this);
  }

  /** Releases the written answers when the log has their records. */
  #answerLater(commands: number): void {
    const { decider, engine } = this.#shared;
    decider.waiting.count += commands;
    this.#extents.push({ end: this.#writtenBytes(), commands });
    this.#hold();
    engine.afterDurable(this.#durable);
  }

  #newAnswers(): AnswerBuffer {
    const answers = this.#shared.buffers.take();
    answers.length = this.#protocol.headBytes;
    return answers;
  }

  #writtenBytes(): number {
    const { headBytes } = this.#protocol;
    return this.#sentBytes + (this.#answers?.length ?? headBytes) - headBytes;
  }

  readonly #durable = (): void => {
    const extent = this.#extents.shift();
    if (extent === undefined || this.#peer === null) return;
    const isFirst = this.#readyCommands === 0;
    this.#readyEnd = extent.end;
    this.#readyCommands += extent.commands;
    if (isFirst) this.#shared.turns.flushLater(this);
  };

  /** Sends the durable answers, as one message. */
  flush(): void {
    const [answers, peer, commands] = [this.#answers, this.#peer, this.#readyCommands];
    this.#readyCommands = 0;
    if (peer === null) return;
    if (answers !== null && commands > 0) {
      const { headBytes, isBinary } = this.#protocol;
      const end = headBytes + this.#readyEnd - this.#sentBytes;
      this.#isBlocked = !peer.send(this.#protocol.messageOf(answers, end), isBinary);
      this.#sentBytes = this.#readyEnd;
      this.#unanswered -= commands;
      this.#shared.decider.waiting.count -= commands;
      if (end === answers.length) this.#freeAnswers();
      else answers.remove(headBytes, end);
      this.#hold();
    }
    this.#closeWhenAnswered();
  }

  #closeWhenAnswered(): void {
    const owes = this.#extents.length > 0 || this.#readyCommands > 0 || this.#reading > 0;
    if (this.#closeCode === 0 || owes) return;
    this.#peer?.close(this.#closeCode, REASONS[this.#closeCode]);
  }

  #decidedCommands(): number {
    return this.#extents.reduce((sum, { commands }) => sum + commands, this.#readyCommands);
  }

  #freeAnswers(): void {
    if (this.#answers !== null) this.#shared.buffers.giveBack(this.#answers);
    this.#answers = null;
    this.#hold();
  }

  /** Tells how much memory the answers take now. */
  #hold(): void {
    const bytes = this.#answers?.length ?? 0;
    this.#shared.hold(bytes - this.#heldBytes);
    this.#heldBytes = bytes;
  }
}

/**
 * Fair scheduling: in one turn of the event loop, one frame of each connection is decided, between
 * the requests over HTTP. Answers are sent once for all frames of a durable batch.
 */
export class FrameScheduler {
  /** The number of this turn. In a new turn, every connection may have another frame decided. */
  now = 0;
  /** Connections with waiting frames. */
  #waiting = new Set<CommandConnection>();
  /** Connections with durable answers. */
  #flushing: CommandConnection[] = [];
  #hasTurnAhead = false;

  /** A frame has been decided in this turn. */
  decided(): void {
    this.#takeTurn();
  }

  /** Calls `decideNext` in a later turn. */
  decideLater(connection: CommandConnection): void {
    this.#waiting.add(connection);
    this.#takeTurn();
  }

  #takeTurn(): void {
    if (this.#hasTurnAhead) return;
    this.#hasTurnAhead = true;
    setImmediate(this.#next);
  }

  readonly #next = (): void => {
    this.#hasTurnAhead = false;
    this.now += 1;
    const waiting = this.#waiting;
    if (waiting.size === 0) return;
    this.#waiting = new Set();
    for (const connection of waiting) connection.decideNext();
  };

  /** Calls `flush` when the callbacks of this log batch have run. */
  flushLater(connection: CommandConnection): void {
    if (this.#flushing.length === 0) queueMicrotask(this.#flush);
    this.#flushing.push(connection);
  }

  readonly #flush = (): void => {
    const flushing = this.#flushing;
    this.#flushing = [];
    for (const connection of flushing) connection.flush();
  };

  delete(connection: CommandConnection): void {
    this.#waiting.delete(connection);
  }
}

/** Bytes of pending answers of all connections. */
export const ANSWER_BYTES_MAX = 64 * 1_024 * 1_024;

/** Connections of one kind, and their shared objects. */
export class Connections {
  readonly buffers = new AnswerBuffers();
  readonly traffic = new CommandTraffic();
  readonly turns = new FrameScheduler();
  /** As many as a frame may have. */
  readonly commands: Command[];
  /** Bytes of pending answers. */
  answerBytes = 0;
  /** Connections without room for answers. */
  readonly #stalled = new Set<CommandConnection>();
  #decider: Decider | null = null;

  constructor(commandsInFrame: number) {
    this.commands = Array.from({ length: commandsInFrame }, () => new Command());
  }

  get engine(): Engine {
    return this.decider.engine;
  }

  get decider(): Decider {
    return this.#decider!;
  }

  get waiting(): WaitingWork {
    return this.decider.waiting;
  }

  /** True while the answers of all connections leave room. */
  get hasRoom(): boolean {
    return this.answerBytes < ANSWER_BYTES_MAX;
  }

  /** To be called once, before the first handshake. */
  attach(front: CommandFront, services: DeciderServices): void {
    this.#decider = new Decider(services, front);
  }

  /** The quota for a connection's frames and handles. */
  memoryOf(peer: Peer): Memory {
    return peer;
  }

  opened(_connection: CommandConnection): void {}

  /** The connection decides nothing more, but still owes answers. */
  closing(_connection: CommandConnection): void {}

  closed(connection: CommandConnection): void {
    this.turns.delete(connection);
    this.#stalled.delete(connection);
  }

  /** Calls `decideNext` when there is room for answers again. */
  decideWithRoom(connection: CommandConnection): void {
    this.#stalled.add(connection);
  }

  /** Counts bytes of answers in memory. */
  hold(bytes: number): void {
    this.answerBytes += bytes;
    if (bytes >= 0 || this.#stalled.size === 0) return;
    for (const connection of this.#stalled) this.turns.decideLater(connection);
    this.#stalled.clear();
  }
}

/** The connections of clients: they are opened here, and closed when their keys end. */
export class OpenCommandSockets extends Connections {
  readonly #protocols = new Subprotocols<Protocol>(
    new Map(
      [new JsonProtocol(), new BinaryProtocol()].map((protocol) => [protocol.name, protocol]),
    ),
  );
  readonly #open = new KeyRounds<CommandConnection>((client) => this.decider.isAdmitted(client));

  constructor() {
    super(LIMITS.commandsInFrame);
  }

  /** @returns The answer to a handshake. */
  open(head: RequestHead, { tenantId, organizationId }: Caller): Answer | Problem {
    const chosen = this.#protocols.choose(head);
    if (isRefused(chosen)) return chosen;
    const { apiKey, authorization, organizationId: named, address } = head;
    // The exchange is used again, so its address is asked for now.
    const from = address();
    const caller = { apiKey, authorization, organizationId: named, address: () => from };
    const client = { ...caller, isStrict: wantsStrict(head.prefer) };
    const handler = new CommandConnection(this, chosen.protocol, client);
    this.#open.add(handler);
    const sender = { name: `${tenantId}/${organizationId}`, hasKey: true };
    return upgrade({ protocol: chosen.name, sender, handler });
  }

  override closed(connection: CommandConnection): void {
    super.closed(connection);
    this.#open.delete(connection);
  }
}

// Metrics: commands by call and status, connections by close code. Plain counters, as those of
// requests.

const STATUSES = 512;
const NO_CALL = JSON_CALLS.length;
const NAME = "frontrow_commands_total";
const CLOSED = "frontrow_command_connections_closed_total";
const CLOSED_HELP = "Connections for commands that the server closed, by the code of the close.";

export class CommandTraffic {
  readonly #counts = new Float64Array((JSON_CALLS.length + 1) * STATUSES);

  readonly #closed = new Map<number, number>();

  /** Answers in all. */
  get count(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  /** @param call - Null for an unknown one. */
  answered(call: Call | null, status: number): void {
    const row = call === null ? NO_CALL : JSON_CALLS.indexOf(call);
    this.#counts[row * STATUSES + status]! += 1;
  }

  /** The server closes a connection with a code. */
  closed(code: number): void {
    this.#closed.set(code, (this.#closed.get(code) ?? 0) + 1);
  }

  text(): string {
    const answered = [...this.#counts].flatMap((count, i) => {
      const call = JSON_CALLS[Math.floor(i / STATUSES)] ?? "none";
      return count === 0 ? [] : [[{ call, status: String(i % STATUSES) }, count] as const];
    });
    const closed = [...this.#closed].map(
      ([code, count]) => [{ code: String(code) }, count] as const,
    );
    const lines = [
      ...family(NAME, "counter", "Answered commands over WebSockets by call and status.", answered),
      ...family(CLOSED, "counter", CLOSED_HELP, closed),
    ];
    return `${lines.join("\n")}\n`;
  }
}
