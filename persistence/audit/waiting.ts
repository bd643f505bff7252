/** Questions to the audit trail that wait for an answer, within bounds. */
import type { AuditOutcome, AuditQuestion } from "../../engine/queries/audit-trail.ts";

/** Questions of one asker. */
export const ASKER_MAX = 64;
export const WAITING_MAX = 1_024;

type Resolve = (outcome: AuditOutcome<never>) => void;

export interface Waiting {
  /** As by `askerOf`. */
  readonly asker: string;
  readonly question: AuditQuestion;
  readonly resolve: Resolve;
}

export class WaitingQuestions {
  /** Questions that were refused because too many were waiting. */
  refused = 0;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ofAsker = new Map<string, number>();
  #asked = 0;

  get size(): number {
    return this.#waiting.size;
  }

  /** Whether the asker may wait for an answer; otherwise the question counts as refused. */
  admits(asker: string): boolean {
    const own = this.#ofAsker.get(asker) ?? 0;
    const isAdmitted = own < ASKER_MAX && this.size < WAITING_MAX;
    if (!isAdmitted) this.refused += 1;
    return isAdmitted;
  }

  /** @returns The id of the question. */
  add(waiting: Waiting): number {
    const { asker } = waiting;
    const id = this.#asked++;
    this.#waiting.set(id, waiting);
    this.#ofAsker.set(asker, (this.#ofAsker.get(asker) ?? 0) + 1);
    return id;
  }

  get(id: number): Waiting | undefined {
    return this.#waiting.get(id);
  }

  settle(id: number, outcome: AuditOutcome<unknown>): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    const { asker, resolve } = waiting;
    const left = this.#ofAsker.get(asker)! - 1;
    if (left === 0) this.#ofAsker.delete(asker);
    else this.#ofAsker.set(asker, left);
    resolve(outcome as AuditOutcome<never>);
  }

  settleAll(outcome: AuditOutcome<never>): void {
    for (const id of this.#waiting.keys()) this.settle(id, outcome);
  }
}
