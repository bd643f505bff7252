/**
 * The dispatch of a server, watched: a refused request must write nothing, nothing but a record may
 * change the state, and each answer must fit the API reference.
 */
import { apply } from "../../engine/apply.ts";
import { RecentChanges } from "../../persistence/history/recent-changes.ts";
import { type LogRecord, RecordType } from "../../engine/records.ts";
import { Move } from "../../engine/inventory/states.ts";
import { State } from "../../engine/state.ts";
import { digest } from "../../engine/verify.ts";
import { Dispatch } from "../../server/dispatch.ts";
import type { Services } from "../../server/api/services.ts";
import type { Answer } from "../../server/http/answers.ts";
import type { Exchange } from "../../server/http/front.ts";
import { undocumented } from "../support/answers/documented.ts";
import { copyOf } from "../support/engine.ts";

const REFUSED = 400;
const FAILED = 500;
/** While an organization moves to another cell, its changes are refused with 503. */
const MOVING = "ORGANIZATION_MOVING";

/** Keeps the written records, and the state they make of an empty store. */
export class Records extends RecentChanges {
  /** Since the last call of `clear`. */
  readonly all: LogRecord[] = [];
  readonly made = new State();

  override beforeApply(sequence: number, timeMs: number, record: LogRecord): void {
    super.beforeApply(sequence, timeMs, record);
    this.all.push(record);
    // A copy: what is changed in place in one of the two is not changed in the other.
    apply(this.made, copyOf(record), timeMs, sequence);
  }

  clear(): void {
    this.all.length = 0;
  }
}

type Watched = Parameters<Dispatch["handle"]>[0];

export class WatchedDispatch extends Dispatch {
  /** In the order in which they were seen. */
  readonly faults: string[] = [];
  readonly #services: Services;
  readonly #records: Records;
  /** The answer that left during `handle`. */
  #left: Answer | null = null;

  constructor(records: Records, ...options: ConstructorParameters<typeof Dispatch>) {
    super(...options);
    this.#services = options[0];
    this.#records = records;
  }

  override handle(exchange: Watched): void {
    const { route } = exchange.found!;
    const { path, method } = exchange;
    const request = `${method} ${path}`;
    const wrote = this.mark();
    this.#left = null;
    super.handle(exchange);
    // Null when it comes in a later turn: hashes of passwords and the audit trail.
    const answer = this.#left ?? exchange.answer;
    if (answer === null) return;
    if (hasFailed(answer.status, String(answer.body)))
      this.faults.push(`${request}: answered ${answer.status}`);
    const fault = route === undefined ? null : undocumented(route, answer);
    if (fault !== null) this.faults.push(fault);
    if (answer.status >= REFUSED && wrote()) {
      this.faults.push(`${request}: refused with ${answer.status}, but wrote records`);
    }
  }

  /** @returns Says whether records were written since that may not follow a refusal. */
  mark(): () => boolean {
    const from = this.#records.all.length;
    return () => !this.#records.all.slice(from).every(mayFollowRefusal);
  }

  /** Something other than records has changed the state. Cost: O(everything). */
  hasStrayed(): boolean {
    return digest(this.#services.engine.state) !== digest(this.#records.made);
  }

  override leave(exchange: Exchange & Watched): void {
    this.#left = exchange.answer;
    super.leave(exchange);
  }

  /** Faults since the last call. */
  takeFaults(): readonly string[] {
    this.#records.clear();
    return this.faults.splice(0);
  }
}

/** @param body - Names the error. */
export function hasFailed(status: number, body: string): boolean {
  return status >= FAILED && !body.includes(`"${MOVING}"`);
}

/** A hold whose time is over ends before any request is decided; a final refusal is kept. */
function mayFollowRefusal(record: LogRecord): boolean {
  if (record.type === RecordType.MOVE) return record.move === Move.EXPIRE;
  if (record.type !== RecordType.CATALOG) return false;
  return [...record.puts, ...record.removes].every(({ table }) => table === "replies");
}
