/** A courier with a real engine, trail and file, and fake receivers. */
import path from "node:path";
import { onTestFinished } from "vitest";
import type { WebhookRow } from "../../../engine/catalog.ts";
import type { StateSelection, WebhookBody } from "../../../engine/bodies.ts";
import { openSqlWriter } from "../../../persistence/disk/sqlite.ts";
import { AuditGap, type AuditQuestion } from "../../../engine/queries/history.ts";
import { AUDIT_FILE, isDamage } from "../../../persistence/history/archive.ts";
import { DeliveryFile } from "../../../persistence/deliveries.ts";
import type { Attempt, AttemptResult } from "../../../server/webhooks/attempt.ts";
import { Courier, type CourierPorts } from "../../../server/webhooks/courier.ts";
import type { GivenUp, Webhook } from "../../../server/webhooks/messages.ts";
import { AUDIT_STORE, Book } from "../../support/audit.ts";
import { MemoryJournal, START_MS, World } from "../../support/engine.ts";
import type { LayoutPart } from "../../support/layout.ts";
import { temporaryFolder } from "../../support/server-process.ts";

const OK: AttemptResult = { status: 200, askedMs: 0, failure: "" };

export function failed(status: number | null, askedMs = 0): AttemptResult {
  return { status, askedMs, failure: `the answer was ${status}` };
}

interface Sent {
  readonly id: string;
  readonly url: string;
  readonly type: string;
  readonly eventId: string;
  /** Of its changes. */
  readonly sequences: readonly number[];
}

export class Sending {
  readonly world: World;
  readonly journal = new MemoryJournal();
  readonly sent: Sent[] = [];
  readonly reports: string[] = [];
  readonly disabled: [webhookId: number, reason: string][] = [];
  nowMs = START_MS;
  /** The receivers' answer; null for none. */
  answer: (sent: Sent) => AttemptResult | Promise<AttemptResult> | null = () => OK;
  courier: Courier;
  file: DeliveryFile;
  readonly #folder = temporaryFolder();
  readonly #book = new Book(this.#folder);
  #version = 0;

  constructor(parts: readonly LayoutPart[]) {
    this.world = new World(parts, { journal: this.journal });
    [this.file, this.courier] = this.#open();
    onTestFinished(() => {
      this.courier.close();
      this.#book.close();
    });
  }

  #open(): [DeliveryFile, Courier] {
    const file = new DeliveryFile(path.join(this.#folder, "webhooks.sqlite"), AUDIT_STORE, 0);
    const ports = {
      file,
      ask: ((question: AuditQuestion) => this.#ask(question)) as CourierPorts["ask"],
      attempt: (attempt: Attempt) => this.#receive(attempt),
      allowsPrivate: false,
      nowMs: () => this.nowMs,
      random: () => 0,
      emit: ((event, value) => this.#hear(event, value)) as CourierPorts["emit"],
      wake: () => {},
    };
    const rows = [...this.world.engine.state.catalog.webhooks.values()];
    return [
      file,
      new Courier(
        ports,
        rows.map((row) => this.shown(row)),
      ),
    ];
  }

  /** As the thread of the history does. */
  async #ask(question: AuditQuestion) {
    try {
      return this.#book.answer(question);
    } catch (error) {
      if (!isDamage(error)) throw error;
      return { gap: AuditGap.DAMAGED, extent: this.#book.answers.extent };
    }
  }

  #hear(event: string, value: unknown): void {
    if (event === "report") this.reports.push(String(value));
    if (event !== "disable") return;
    const { webhookId, reason } = value as GivenUp;
    this.disabled.push([webhookId, reason]);
  }

  shown(row: WebhookRow): Webhook {
    const secrets = [{ secret: "whsec_c2VjcmV0", validUntilMs: Infinity }];
    return { ...row, secrets, version: (this.#version += 1) };
  }

  /** As after a kill: only the file survives. */
  restart(): void {
    this.courier.close();
    [this.file, this.courier] = this.#open();
  }

  create(members: Partial<WebhookBody> = {}): WebhookRow {
    const url = "https://odeon.example/hook";
    const body: WebhookBody = { url, events: ["change"], ...members };
    const row = this.world.must("createWebhook", this.world.caller, { body });
    this.courier.put(this.shown(row));
    return row;
  }

  /** @param isHeard - True when the courier hears of it at once. */
  update({ id, url }: WebhookRow, members: Partial<WebhookBody>, isHeard = true): WebhookRow {
    const body = { url, events: ["change" as const], ...members, id };
    const row = this.world.must("updateWebhook", this.world.caller, { body });
    if (isHeard) this.courier.put(this.shown(row));
    return row;
  }

  book(kind: "lock" | "unlock" | "sale" | "directsale", selection: StateSelection): number {
    const { caller, eventId } = this.world;
    this.world.must(kind, caller, { eventId, body: selection });
    return this.world.engine.sequence;
  }

  /** The trail gets all records. */
  feed(): void {
    // There is no log that the courier could follow.
    this.#book.feed(this.journal.kept);
    this.#book.archiveAll();
  }

  /** Damages the chunks of an event. @param by - Minus one makes them whole again. */
  damage(eventId: string, by = 1): void {
    const sql = openSqlWriter(path.join(this.#folder, AUDIT_FILE));
    const partition = "(SELECT partition FROM events WHERE eventId = ?)";
    sql.run(`UPDATE chunks SET digest = digest + ? WHERE partition = ${partition}`, by, eventId);
    sql.close();
  }

  /** @param until - The last record when the courier was last told of the webhooks. */
  async follow(until = this.world.engine.sequence): Promise<void> {
    this.feed();
    await this.courier.follow(until);
  }

  /** The trail gets all records, and the courier makes turns until nothing happens any more. */
  async run(until?: number): Promise<void> {
    await this.follow(until);
    for (let quiet = 0; quiet < 3;) {
      const before = this.sent.length;
      const hasMore = this.courier.turn();
      await new Promise(setImmediate);
      quiet = hasMore || this.sent.length > before ? 0 : quiet + 1;
    }
  }

  #receive({ url, body, headers }: Attempt): Promise<AttemptResult> {
    const { type, data } = JSON.parse(body) as {
      type: string;
      data: { eventId: string; changes: { sequence: number }[] };
    };
    const sequences = data.changes.map(({ sequence }) => sequence);
    const sent = { id: headers["webhook-id"]!, url, type, eventId: data.eventId, sequences };
    this.sent.push(sent);
    const result = this.answer(sent);
    return result === null ? new Promise(() => {}) : Promise.resolve(result);
  }
}
