/**
 * The engine's end of the links: connections of the command protocol, opened with a proof of the
 * shared secret, which carry the engine's state.
 */
import { Result } from "../../engine/results.ts";
import { bearerOf } from "../auth/access.ts";
import type { Throttle } from "../auth/limits.ts";
import type { AnswerBuffer } from "../commands/answer-buffer.ts";
import { BinaryProtocol, Kind, OPEN_BYTES, paddedWithin } from "../commands/binary-protocol.ts";
import {
  type Client,
  type Command,
  type Handles,
  type Memory,
  type Refused,
  UNREADABLE,
} from "../commands/command.ts";
import { CommandConnection, Connections } from "../commands/connection.ts";
import { type CommandFront, type DeciderServices, InnerExchange } from "../commands/decider.ts";
import { type Answer, type Problem, problemAnswer, upgrade } from "../http/answers.ts";
import type { RequestHead } from "../http/front.ts";
import { parseJson } from "../http/json.ts";
import {
  EngineState,
  Entry,
  FULL_ANSWER,
  FULL_ANSWER_BYTES,
  type KeyText,
  LINK_LIMITS,
  LINK_PROTOCOL,
  type Notice,
  ProofCheck,
  REQUEST_BYTES,
  type RequestText,
} from "./link-layout.ts";

/** Open links; a gateway needs one. */
export const LINKS_MAX = 64;
/** Waiting frames and handles of one link: twice a gateway's credit. */
export const LINK_BYTES_MAX = 2 * LINK_LIMITS.bytes;
/** After several of these in silence a gateway counts its engine as lost. */
const STATE_MS = 500;

const NOT_PROVEN: Problem = {
  refused: Result.ACCESS_DENIED,
  detail: "The proof of the gateway is missing, not valid, or too old.",
};
const TOO_MANY: Problem = { refused: Result.OVERLOADED, detail: "Too many gateways are linked." };
/** Each command names its own client. */
const NOBODY: Client = { apiKey: "", authorization: "", organizationId: "", address: () => "" };

interface LinkServices extends DeciderServices {
  /** Handshakes without a valid proof, by address. */
  readonly badKeys: Throttle;
}

export class OpenLinks extends Connections {
  readonly #protocol = new GatewayProtocol();
  readonly #proofs: ProofCheck;
  readonly #open = new Set<CommandConnection>();
  #services: LinkServices | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(secret: string) {
    super(LINK_LIMITS.commandsInFrame);
    this.#proofs = new ProofCheck(secret);
  }

  /** Open links. */
  get count(): number {
    return this.#open.size;
  }

  /** Requests answered over links. */
  get requests(): number {
    return this.traffic.count;
  }

  override attach(front: CommandFront, services: LinkServices): void {
    super.attach(front, services);
    this.#services = services;
  }

  /** @returns The answer to a handshake. */
  open(head: RequestHead): Answer | Problem {
    const { badKeys, engine } = this.#services!;
    if (!this.#proofs.accepts(bearerOf(head.authorization))) {
      badKeys.failed(head.address(), engine.nowMs());
      return NOT_PROVEN;
    }
    if (this.#open.size === LINKS_MAX) return TOO_MANY;
    const handler = new CommandConnection(this, this.#protocol, NOBODY);
    return upgrade({ protocol: LINK_PROTOCOL, sender: { name: "gateway", hasKey: true }, handler });
  }

  /** Not the body budget of clients: they could use it up, and end the links of all gateways. */
  override memoryOf(): Memory {
    let bytes = 0;
    return {
      keep: (more) => {
        if (bytes + more > LINK_BYTES_MAX) return false;
        bytes += more;
        return true;
      },
      release: (fewer) => void (bytes -= fewer),
    };
  }

  override opened(link: CommandConnection): void {
    this.#open.add(link);
    this.#timer ??= setInterval(() => {
      for (const open of this.#open) this.#tellState(open);
    }, STATE_MS).unref();
    this.#tellState(link);
  }

  override closing(link: CommandConnection): void {
    this.#tellState(link);
  }

  override closed(link: CommandConnection): void {
    super.closed(link);
    this.#open.delete(link);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer ?? undefined);
    this.#timer = null;
  }

  #tellState(link: CommandConnection): void {
    const notice: Notice = { type: "state", takes: this.#taken(link) };
    link.tell(notice);
  }

  #taken({ isClosing }: CommandConnection): EngineState {
    const { engine, isReady } = this.#services!;
    if (isClosing || !isReady()) return EngineState.CLOSED;
    return engine.isWritable ? EngineState.CHANGES : EngineState.READS;
  }
}

export class GatewayProtocol extends BinaryProtocol {
  override readonly name = LINK_PROTOCOL;
  override readonly limits = LINK_LIMITS;
  override readonly isShared = true;

  protected override isCommand(kind: number): boolean {
    return kind === Entry.REQUEST || super.isCommand(kind);
  }

  protected override entryBytes(view: DataView, at: number): number {
    const room = view.byteLength - at;
    const kind = room < OPEN_BYTES ? 0 : view.getUint8(at + 4);
    if (kind === Entry.KEY) return paddedWithin(OPEN_BYTES + view.getUint16(at + 2, true), room);
    if (kind === Entry.USE) return OPEN_BYTES;
    if (kind !== Entry.REQUEST) return super.entryBytes(view, at);
    if (room < REQUEST_BYTES) return UNREADABLE;
    const texts = view.getUint32(at + 8, true) + view.getUint32(at + 12, true);
    return paddedWithin(REQUEST_BYTES + texts, room);
  }

  protected override open(view: DataView, at: number, handles: Handles): number {
    if (view.getUint8(at + 4) !== Entry.USE) return super.open(view, at, handles);
    const key = handles.find(Kind.KEY, view.getUint16(at, true));
    const client = key && (key.client ??= clientOf(key.text));
    handles.client = client ?? null;
    return client === undefined || client === null ? UNREADABLE : 0;
  }

  protected override readCommand(
    view: DataView,
    at: number,
    handles: Handles,
    command: Command,
  ): number {
    if (view.getUint8(at + 4) === Entry.REQUEST) return readRequest(view, at, command);
    // Without a key it would be judged as the command of the one before.
    return handles.client === null ? UNREADABLE : super.readCommand(view, at, handles, command);
  }

  override writeProblem(to: AnswerBuffer, number: number, refused: Refused): number {
    const answer = problemAnswer(refused.problem, refused.path, refused.timeMs);
    this.writeAnswer(to, number, answer);
    return answer.status;
  }

  override writeAnswer(to: AnswerBuffer, number: number, answer: Answer): void {
    const { status, type, headers } = answer;
    const head = Buffer.from(JSON.stringify([type, headers]));
    const body = typeof answer.body === "string" ? Buffer.from(answer.body) : answer.body;
    to.reserve(FULL_ANSWER_BYTES + head.length + body.length);
    to.uint32(number);
    to.uint16(status);
    to.uint16(FULL_ANSWER);
    to.uint32(head.length);
    to.uint32(body.length);
    for (const part of [head, body]) {
      to.bytes.set(part, to.length);
      to.length += part.length;
    }
  }
}

function clientOf(text: string): Client | null {
  const members = membersOf(Buffer.from(text));
  if (members === null) return null;
  const { from, ...credentials } = members as unknown as KeyText;
  return { ...credentials, address: () => from };
}

/** @returns 0, or UNREADABLE when its head is not a JSON object. */
function readRequest(view: DataView, at: number, command: Command): number {
  const bytes = Buffer.from(view.buffer as ArrayBuffer);
  const start = at + REQUEST_BYTES;
  const body = start + view.getUint32(at + 8, true);
  const end = body + view.getUint32(at + 12, true);
  const members = membersOf(bytes.subarray(start, body));
  if (members === null) return UNREADABLE;
  const { from, ...head } = members as unknown as RequestText;
  command.clear();
  command.number = view.getUint32(at, true);
  command.request = new InnerExchange({ ...head, address: () => from }, bytes.subarray(body, end));
  return 0;
}

function membersOf(json: Buffer): object | null {
  const parsed = parseJson(json);
  return parsed.ok && typeof parsed.value === "object" ? parsed.value : null;
}
