/** Changes on their way to many clients: each form is made once, when the first one needs it. */
import { type EventChange, placesOf } from "../../engine/queries/history.ts";
import { integer, list, object, oneOf } from "../../engine/schema.ts";
import { EVENT_CHANGE, MAP_MEMBERS } from "../api/entities.ts";
import { changeView } from "./change-view.ts";
import { pack } from "./map.ts";

export const Form = { JSON: "json", MSGPACK: "msgpack", EVENTS: "events" } as const;
export type Form = (typeof Form)[keyof typeof Form];

export const DELETED = "deleteevent";

/** Memory of a change, and of each of its seats and areas, in bytes. */
const CHANGE_WEIGHT = 500;
const PLACE_WEIGHT = 200;

/** Consecutive changes of one event. */
export class ChangesMessage {
  readonly changes: readonly EventChange[];
  /** True when it ends with a block of changes: later changes do not extend it. */
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

  /** Estimated memory with its forms. */
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

/** Drops undefined members, as JSON does. */
function withoutGaps(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}

// Messages shared by clients that lack the same changes, or wait for their turn at a large message.

/** Memory for the messages of all events; a larger one is kept alone. */
export const SHARED_WEIGHT_MAX = 32 * 1_024 * 1_024;
/** All are dropped when none has been added in this time. */
const SHARED_MS = 10_000;

interface Kept {
  readonly message: ChangesMessage;
  readonly weight: number;
}

interface Found {
  readonly eventId: string;
  readonly sequence: number;
  readonly message: ChangesMessage;
}

export class SharedMessages {
  /** By event and the record before the changes, the oldest first. */
  readonly #messages = new Map<string, Kept>();
  #weight = 0;
  /** Most clients ask for the message of the one before them. */
  #found: Found | null = null;
  #timer: NodeJS.Timeout | null = null;

  get count(): number {
    return this.#messages.size;
  }

  /** @param message - With changes after a record, for those who have all up to it. */
  keep(eventId: string, sequence: number, message: ChangesMessage): void {
    const name = `${eventId} ${sequence}`;
    this.#drop(name);
    const { weight } = message;
    this.#messages.set(name, { message, weight });
    this.#weight += weight;
    for (const oldest of this.#messages.keys()) {
      if (this.#weight <= SHARED_WEIGHT_MAX || oldest === name) break;
      this.#drop(oldest);
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#messages.clear();
      this.#found = null;
      this.#weight = 0;
    }, SHARED_MS).unref();
    this.#timer.refresh();
  }

  #drop(name: string): void {
    this.#weight -= this.#messages.get(name)?.weight ?? 0;
    this.#messages.delete(name);
    this.#found = null;
  }

  /** The message with the changes after a record, if it is kept. */
  after(eventId: string, sequence: number): ChangesMessage | undefined {
    const found = this.#found;
    if (found?.sequence === sequence && found.eventId === eventId) return found.message;
    const message = this.#messages.get(`${eventId} ${sequence}`)?.message;
    if (message !== undefined) this.#found = { eventId, sequence, message };
    return message;
  }
}

// The messages of the stream.

export const STREAM_PATH = "/api/private/v2.0/events/{id}/stream";

export const SNAPSHOT = object({ type: oneOf(["snapshot"]), ...MAP_MEMBERS });

export const CHANGES = object({ type: oneOf(["changes"]), changes: list(EVENT_CHANGE) });

export const HEARTBEAT = object({ type: oneOf(["heartbeat"]), sequence: integer({ minimum: 0 }) });
