/** A history in the thread of the test, fed with the records of an engine. */
import { drain } from "../../engine/inventory/steps.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type {
  AuditAnswers,
  AuditOutcome,
  AuditQuestion,
  AuditTopic,
} from "../../engine/queries/history.ts";
import { realDisk } from "../../persistence/disk/disk.ts";
import { type HistoryOptions, OpenHistory } from "../../persistence/history/keeper.ts";
import { ByteWriter } from "../../persistence/log/bytes.ts";
import { encodeRecord } from "../../persistence/log/codec.ts";
import type { ChainMark } from "../../persistence/log/log-reader.ts";
import type { AuditTrail } from "../../server/live/changes.ts";
import type { KeptRecord, MemoryJournal } from "./engine.ts";

export const AUDIT_STORE = "11111111-2222-4333-8444-555555555555";

export function markAt(sequence: number): ChainMark {
  return { sequence, chain: new Uint8Array(16).fill(sequence % 251) };
}

/** A history without a log. */
export class Book extends OpenHistory {
  readonly folder: string;

  /** @param folder - A data folder; a new one by default. */
  constructor(
    folder = mkdtempSync(path.join(tmpdir(), "frontrow-test-")),
    options: Partial<HistoryOptions> = {},
  ) {
    super({ disk: realDisk, folder, storeId: AUDIT_STORE, ...options });
    this.folder = folder;
  }

  /** The last record. */
  get sequence(): number {
    return this.tail.sequence;
  }

  /** Takes the records that it lacks. */
  feed(kept: readonly KeptRecord[]): void {
    const out = new ByteWriter(1_024);
    for (const { sequence, timeMs, record } of kept) {
      if (sequence <= this.sequence) continue;
      out.length = 0;
      encodeRecord(out, timeMs, record);
      this.tail.add(out.bytes.subarray(0, out.length), sequence, 1);
    }
  }

  /** Moves what it has into the archive. */
  archiveAll(): void {
    while (!this.archiveSlice(markAt(this.sequence)));
  }

  /** Applies the retention. */
  removeBefore(beforeMs: number): void {
    this.expire(beforeMs);
    while (this.isExpiring) this.archiveSlice();
  }

  answer(question: AuditQuestion): AuditOutcome<AuditAnswers[AuditTopic]> {
    return drain(this.answers.answer(question));
  }

  /** Closes it, and removes its folder. */
  discard(): void {
    this.close();
    rmSync(this.folder, { recursive: true });
  }
}

/** The audit trail of a journal in memory. */
export class JournalTrail implements AuditTrail {
  readonly #journal: MemoryJournal;
  #book: Book | null = null;

  constructor(journal: MemoryJournal) {
    this.#journal = journal;
  }

  get book(): Book {
    return (this.#book ??= new Book());
  }

  async ask<K extends AuditTopic>(
    question: AuditQuestion<K>,
  ): Promise<AuditOutcome<AuditAnswers[K]>> {
    this.book.feed(this.#journal.kept);
    return this.book.answer(question as AuditQuestion) as AuditOutcome<AuditAnswers[K]>;
  }
}
