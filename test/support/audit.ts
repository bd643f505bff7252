/** An audit trail in this thread, on a journal in memory. */
import type {
  AuditAnswers,
  AuditOutcome,
  AuditQuestion,
  AuditTopic,
} from "../../engine/queries/history.ts";
import { OpenTrail } from "../../persistence/audit/keeper.ts";
import type { MemoryJournal } from "./engine.ts";
import type { AuditTrail } from "../../server/live/changes.ts";

const STORE = "11111111-2222-4333-8444-555555555555";
const CHAIN = new Uint8Array(16);

export class JournalTrail implements AuditTrail {
  readonly #journal: MemoryJournal;
  #book: OpenTrail | null = null;

  constructor(journal: MemoryJournal) {
    this.#journal = journal;
  }

  get book(): OpenTrail {
    return (this.#book ??= new OpenTrail(":memory:", STORE));
  }

  async ask<K extends AuditTopic>(
    question: AuditQuestion<K>,
  ): Promise<AuditOutcome<AuditAnswers[K]>> {
    const { book } = this;
    const { kept } = this.#journal;
    const mark = { sequence: kept.length, chain: CHAIN };
    for (const { sequence, timeMs, record } of kept.slice(book.row.sequence)) {
      book.add(sequence, timeMs, record, mark);
    }
    book.commit(mark);
    return book.answer(question as AuditQuestion) as AuditOutcome<AuditAnswers[K]>;
  }
}
