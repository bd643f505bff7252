/** Changes on their way to many clients: each form is made once, when the first one needs it. */
import { type EventChange, placesOf } from "../../engine/queries/event-change.ts";
import { changeView } from "./change-view.ts";
import { pack } from "./map.ts";

/** How a client gets its messages. */
export const Form = { JSON: "json", MSGPACK: "msgpack", EVENTS: "events" } as const;
export type Form = (typeof Form)[keyof typeof Form];

export const DELETED = "deleteevent";

/** Memory of a change, and of each of its seats and areas, in bytes. */
const CHANGE_WEIGHT = 500;
const PLACE_WEIGHT = 200;

/** Consecutive changes of one event. */
export class ChangesMessage {
  readonly changes: readonly EventChange[];
  /** Whether it ends with a block of changes: it is the same when there are later ones. */
  readonly isWhole: boolean;
  /** Of those who see all, and of the holders of tickets. */
  readonly #forms = { own: new Map<Form, Buffer>(), public: new Map<Form, Buffer>() };

  /** @param changes - At least one. */
  constructor(changes: readonly EventChange[], isWhole = false) {
    this.changes = changes;
    this.isWhole = isWhole;
  }

  get last(): number {
    return this.changes.at(-1)!.sequence;
  }

  get isEnd(): boolean {
    return this.changes.at(-1)!.call === DELETED;
  }

  /** Memory that it takes with its forms, estimated. */
  get weight(): number {
    const places = this.changes.reduce((total, change) => total + placesOf(change), 0);
    return CHANGE_WEIGHT * this.changes.length + PLACE_WEIGHT * places;
  }

  bytes(form: Form, isPublic: boolean): Buffer {
    const forms = isPublic ? this.#forms.public : this.#forms.own;
    let bytes = forms.get(form);
    if (bytes === undefined) forms.set(form, (bytes = this.#encode(form, isPublic)));
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
