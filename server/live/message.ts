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

/** Leaves out what is undefined, as JSON does. */
function withoutGaps(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}
