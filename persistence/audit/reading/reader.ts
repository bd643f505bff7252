/**
 * Reads the file of the audit trail beside the thread that writes it. Askers take turns of one
 * slice, so a long question delays no other asker, and no slice keeps the writer from reusing its
 * write-ahead log. For use by one thread.
 */
import {
  type AuditAnswers,
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type AuditTopic,
} from "../../../engine/queries/audit-trail.ts";
import { messageOf } from "../../disk/faults.ts";
import { openSqlReader, type SqlFile } from "../../disk/sqlite.ts";
import { AUDIT_FILE, extentOf, readTrail } from "../file.ts";
import { AuditAnswering } from "./answers.ts";
import { sentPage } from "./sent-changes.ts";
import { type Slices, Turns } from "./slices.ts";
import type { AskReader, FromReader } from "./thread.ts";

export interface ReaderOptions {
  /** The data folder. */
  readonly folder: string;
  readonly storeId: string;
  readonly send: (message: FromReader) => void;
  /** As in `AuditAnswering`. */
  readonly sliceRows?: number | undefined;
}

type Outcome = AuditOutcome<AuditAnswers[AuditTopic]>;

/** The file as it is open now. */
interface OpenFile {
  readonly sql: SqlFile;
  readonly answering: AuditAnswering;
}

/** A question, and its slices once it has begun. */
interface Asked extends AskReader {
  begun: { readonly file: OpenFile; readonly slices: Slices<Outcome> } | null;
}

const SETTINGS = "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -4096";
const UNAVAILABLE: Outcome = { gap: AuditGap.UNAVAILABLE, extent: null };

export class AuditReader {
  readonly #options: ReaderOptions;
  readonly #turns = new Turns();
  /** Questions without an answer that somebody waits for. */
  readonly #wanted = new Set<number>();
  #file: OpenFile | null = null;
  /** As in the last question. */
  #opened = 0;
  /** The failure that was reported last. */
  #failure: string | null = null;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  ask(question: AskReader): void {
    if (question.opened !== this.#opened) this.close();
    this.#opened = question.opened;
    const asked: Asked = { ...question, begun: null };
    this.#wanted.add(asked.id);
    this.#turns.add(question.asker, () => this.#step(asked));
  }

  /** Ends the work on a question. It is not answered. */
  drop(id: number): void {
    this.#wanted.delete(id);
  }

  /** Runs one slice of one question. @returns Whether questions are left. */
  step(): boolean {
    this.#turns.step();
    return !this.#turns.isEmpty;
  }

  /** Closes the file. Questions that have begun are not answered; the next one opens it again. */
  close(): void {
    const file = this.#file;
    this.#file = null;
    file?.sql.close();
  }

  /** @returns Whether the work on the question has ended. */
  #step(asked: Asked): boolean {
    if (!this.#wanted.has(asked.id)) {
      asked.begun?.slices.return(UNAVAILABLE);
      return true;
    }
    let outcome: Outcome | null;
    try {
      outcome = this.#slice(asked);
      if (outcome === null) return false;
      this.#failure = null;
    } catch (error) {
      this.#fail(error);
      outcome = UNAVAILABLE;
    }
    this.#wanted.delete(asked.id);
    this.#answered(asked, outcome);
    return true;
  }

  #answered({ id, question }: Asked, outcome: Outcome): void {
    const isFailing = this.#failure !== null;
    if (question.about === "changes" && outcome.gap === null) {
      const page = sentPage(outcome.value as AuditAnswers["changes"]);
      this.#options.send({ kind: "changes", id, extent: outcome.extent, page });
    } else this.#options.send({ kind: "answer", id, outcome, isFailing });
  }

  /** @returns The answer; null when the question needs more slices. */
  #slice(asked: Asked): Outcome | null {
    const file = (this.#file ??= this.#open());
    asked.begun ??= { file, slices: this.#answer(file, asked.question) };
    // The trail was replaced meanwhile.
    if (asked.begun.file !== file) return UNAVAILABLE;
    file.sql.execute("BEGIN");
    const { done, value } = asked.begun.slices.next();
    file.sql.execute("COMMIT");
    return done === true ? value : null;
  }

  /** Begins again when the retention has removed rows while they were read. */
  *#answer({ sql, answering }: OpenFile, question: AuditQuestion): Slices<Outcome> {
    const { storeId } = this.#options;
    for (;;) {
      const extent = extentOf(readTrail(sql, storeId));
      const outcome = yield* answering.answer(question, extent);
      if (readTrail(sql, storeId).firstSequence === extent.firstSequence) return outcome;
    }
  }

  #open(): OpenFile {
    const { folder, sliceRows } = this.#options;
    const sql = openSqlReader(`${folder}/${AUDIT_FILE}`);
    sql.execute(SETTINGS);
    return { sql, answering: new AuditAnswering(sql, sliceRows) };
  }

  /** Reports the same failure once, however often it happens. */
  #fail(error: unknown): void {
    this.close();
    const failure = messageOf(error);
    if (failure !== this.#failure) {
      this.#options.send({ kind: "report", report: { kind: "failed", failure } });
    }
    this.#failure = failure;
  }
}
