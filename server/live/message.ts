/** Changes on their way to many clients: each form is made once, when the first one needs it. */
import type { EventChange } from "../../engine/queries/event-change.ts";
import { changeView } from "./change-view.ts";
import { pack } from "./map.ts";

/** How a client gets its messages. */
export const Form = { JSON: "json", MSGPACK: "msgpack", EVENTS: "events" } as const;
export type Form = (typeof Form)[keyof typeof Form];

export const DELETED = "deleteevent";

/** Consecutive changes of one event. */
export class ChangesMessage {
  readonly changes: readonly EventChange[];
  readonly #forms = new Map<string, Buffer>();

  /** @param changes - At least one. */
  constructor(changes: readonly EventChange[]) {
    this.changes = changes;
  }

  /** The event's last record before these changes. */
  get previous(): number {
    return this.changes[0]!.previous;
  }

  get last(): number {
    return this.changes.at(-1)!.sequence;
  }

  get isEnd(): boolean {
    return this.changes.at(-1)!.call === DELETED;
  }

  /** @returns The part after a record; null for nothing. */
  after(sequence: number): ChangesMessage | null {
    if (this.previous >= sequence) return this;
    const left = this.changes.filter((change) => change.sequence > sequence);
    return left.length === 0 ? null : new ChangesMessage(left);
  }

  bytes(form: Form, isPublic: boolean): Buffer {
    const key = `${form} ${isPublic}`;
    let bytes = this.#forms.get(key);
    if (bytes === undefined) this.#forms.set(key, (bytes = this.#encode(form, isPublic)));
    return bytes;
  }

  #encode(form: Form, isPublic: boolean): Buffer {
    const changes = this.changes.map((change) => changeView(change, isPublic));
    if (form === Form.MSGPACK) return pack({ type: "changes", changes: changes.map(withoutGaps) });
    if (form === Form.JSON) return Buffer.from(JSON.stringify({ type: "changes", changes }));
    const events = changes.map((change) => {
      return `id: ${change.sequence}\nevent: change\ndata: ${JSON.stringify(change)}\n\n`;
    });
    return Buffer.from(events.join(""));
  }
}

/** Messages that are kept for the clients that wait for their turn. */
export const LARGE_MESSAGES_MAX = 2;
/** A message that nobody has asked for in this time is dropped. */
const LARGE_MESSAGE_MS = 10_000;

/** Messages that are too large to be sent to many clients at once: these take turns. */
export class LargeMessages {
  /** By event and the record before the changes, the least recently used first. */
  readonly #messages = new Map<string, ChangesMessage>();
  #timer: NodeJS.Timeout | null = null;

  get count(): number {
    return this.#messages.size;
  }

  /** @param message - With changes after a record, for those who have all up to it. */
  keep(eventId: string, sequence: number, message: ChangesMessage): void {
    const name = `${eventId} ${sequence}`;
    this.#messages.delete(name);
    this.#messages.set(name, message);
    for (const oldest of this.#messages.keys()) {
      if (this.#messages.size <= LARGE_MESSAGES_MAX) break;
      this.#messages.delete(oldest);
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#messages.clear();
    }, LARGE_MESSAGE_MS).unref();
    this.#timer.refresh();
  }

  /** The message with the changes after a record, if it is kept. */
  after(eventId: string, sequence: number): ChangesMessage | undefined {
    return this.#messages.get(`${eventId} ${sequence}`);
  }
}

/** Leaves out what is undefined, as JSON does. */
function withoutGaps(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}
