/**
 * The dispatch of a server, watched: a refused request must not change the state, and each answer
 * must fit the API reference.
 */
import { RecentChanges } from "../../persistence/changes/recent-changes.ts";
import { type LogRecord, RecordType } from "../../engine/records.ts";
import { Move } from "../../engine/inventory/states.ts";
import { digest } from "../../engine/verify/digest.ts";
import { Dispatch } from "../../server/dispatch.ts";
import type { Services } from "../../server/routing/services.ts";
import type { Answer } from "../../server/wire/answers.ts";
import type { Exchange } from "../../server/wire/front.ts";
import { undocumented } from "../support/answers/documented.ts";

const REFUSED = 400;
const FAILED = 500;

/** Keeps the records that were written. */
export class Records extends RecentChanges {
  /** Since the last call of `clear`. */
  readonly all: LogRecord[] = [];

  override beforeApply(sequence: number, timeMs: number, record: LogRecord): void {
    super.beforeApply(sequence, timeMs, record);
    this.all.push(record);
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
  /** The state after the last record. */
  #digest = { sequence: -1, text: "" };
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
    const changeSince = this.mark();
    this.#left = null;
    super.handle(exchange);
    // Null when it comes in a later turn: hashes of passwords and the audit trail.
    const answer = this.#left ?? exchange.answer;
    if (answer === null) return;
    if (answer.status >= FAILED) this.faults.push(`${request}: answered ${answer.status}`);
    const fault = route === undefined ? null : undocumented(route, answer);
    if (fault !== null) this.faults.push(fault);
    if (answer.status < REFUSED) return;
    const change = changeSince();
    if (change !== null)
      this.faults.push(`${request}: refused with ${answer.status}, but ${change}`);
  }

  /** @returns Says what was done since that a refused request must not do; null for nothing. */
  mark(): () => string | null {
    const before = this.#digestNow();
    const from = this.#records.all.length;
    return () => {
      const written = this.#records.all.slice(from);
      if (!written.every(mayFollowRefusal)) return "wrote records";
      const isSame = written.length > 0 || before === digest(this.#services.engine.state);
      return isSame ? null : "changed state";
    };
  }

  override leave(exchange: Exchange & Watched): void {
    this.#left = exchange.answer;
    super.leave(exchange);
  }

  /** What was wrong since the last call. */
  takeFaults(): readonly string[] {
    this.#records.clear();
    return this.faults.splice(0);
  }

  /** Cost: O(everything) after a change, O(1) otherwise. */
  #digestNow(): string {
    const { state, sequence } = this.#services.engine;
    if (this.#digest.sequence !== sequence) this.#digest = { sequence, text: digest(state) };
    return this.#digest.text;
  }
}

/** A hold whose time is over ends before any request is decided; a final refusal is kept. */
function mayFollowRefusal(record: LogRecord): boolean {
  if (record.type === RecordType.MOVE) return record.move === Move.EXPIRE;
  if (record.type !== RecordType.CATALOG) return false;
  return [...record.puts, ...record.removes].every(({ table }) => table === "replies");
}
