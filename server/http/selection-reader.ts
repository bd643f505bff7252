/**
 * Reads the body of a booking request in its usual form, in a third of the time that the JSON
 * parser and the check of the shape take. It never refuses a body: for one in another form it
 * returns null, and the general way decides.
 */
import {
  ADMISSION_LENGTH_MAX,
  CHANNEL_KEY_LENGTH_MAX,
  HOLD_TYPE_LENGTH_MAX,
  SESSION_LENGTH_MAX,
} from "../../engine/constants.ts";
import type { SeatChoice, StateSelection } from "../../engine/bodies.ts";
import { normalName } from "../../engine/names.ts";
import { FORMATS } from "../../engine/schema.ts";

const [SPACE, TAB, LINE_FEED, RETURN] = [0x20, 0x09, 0x0a, 0x0d];
export const [QUOTE, BACKSLASH, TILDE, COLON, COMMA] = [0x22, 0x5c, 0x7e, 0x3a, 0x2c];
export const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const [ZERO, NINE] = [0x30, 0x39];
/** Every number with at most so many digits is exact as a double. */
const DIGITS_MAX = 15;

export const NULL = Buffer.from("null");
export const SESSION_ID = Buffer.from('"sessionId"');
export const SEATS = Buffer.from('"seats"');
export const GROUP_OF_SEATS = Buffer.from('"groupOfSeats"');
export const HOLD_TYPE = Buffer.from('"holdType"');
const ADMISSION = Buffer.from('"admission"');
const CHANNEL = Buffer.from('"channel"');
const ID = Buffer.from('"id"');
const CAPACITY = Buffer.from('"capacity"');
const NOTHING = Buffer.alloc(0);

/** A `SeatChoice` while it is read. */
export interface ChoiceDraft {
  id: number;
  capacity: number | null | undefined;
}

/** A selection while it is read; missing members are undefined. One with fences is not usual. */
interface Draft {
  sessionId: string | null | undefined;
  seats: SeatChoice[] | null | undefined;
  groupOfSeats: SeatChoice[] | null | undefined;
  holdType: string | null | undefined;
  admission: string | null | undefined;
  channel: string | null | undefined;
  fences: undefined;
}

/** Its methods return undefined or false when the body is not in the usual form. */
export class SelectionReader {
  protected bytes: Buffer = NOTHING;
  protected at = 0;

  /**
   * @returns The same value as the general way; null for a body that must take it.
   * Cost: O(bytes), usually 80.
   */
  read(bytes: Buffer): StateSelection | null {
    this.bytes = bytes;
    this.at = 0;
    const selection = this.#selection();
    const isWhole = this.skipBlanks() === bytes.length;
    this.bytes = NOTHING;
    return isWhole && selection !== undefined ? selection : null;
  }

  #selection(): StateSelection | undefined {
    const draft: Draft = {
      sessionId: undefined,
      seats: undefined,
      groupOfSeats: undefined,
      holdType: undefined,
      admission: undefined,
      channel: undefined,
      fences: undefined,
    };
    if (!this.takes(OPEN_OBJECT)) return undefined;
    if (this.takes(CLOSE_OBJECT)) return draft;
    do {
      if (!this.#member(draft)) return undefined;
    } while (this.takes(COMMA));
    return this.takes(CLOSE_OBJECT) ? draft : undefined;
  }

  /** A repeated member is not usual. */
  #member(draft: Draft): boolean {
    if (this.names(SESSION_ID)) {
      if (draft.sessionId !== undefined) return false;
      draft.sessionId = this.text(SESSION_LENGTH_MAX);
      return draft.sessionId !== undefined;
    }
    if (this.names(SEATS)) {
      if (draft.seats !== undefined) return false;
      draft.seats = this.#choices();
      return draft.seats !== undefined;
    }
    if (this.names(GROUP_OF_SEATS)) {
      if (draft.groupOfSeats !== undefined) return false;
      draft.groupOfSeats = this.#choices();
      return draft.groupOfSeats !== undefined;
    }
    if (this.names(ADMISSION)) {
      if (draft.admission !== undefined) return false;
      draft.admission = this.text(ADMISSION_LENGTH_MAX);
      return draft.admission !== undefined;
    }
    if (this.names(CHANNEL)) {
      if (draft.channel !== undefined) return false;
      draft.channel = this.#channelKey();
      return draft.channel !== undefined;
    }
    if (!this.names(HOLD_TYPE) || draft.holdType !== undefined) return false;
    draft.holdType = this.nameText(HOLD_TYPE_LENGTH_MAX);
    return draft.holdType !== undefined;
  }

  #channelKey(): string | null | undefined {
    const key = this.text(CHANNEL_KEY_LENGTH_MAX);
    if (typeof key !== "string") return key;
    return FORMATS["channel-key"]!(key) ? key : undefined;
  }

  #choices(): SeatChoice[] | null | undefined {
    if (this.takesWord(NULL)) return null;
    if (!this.takes(OPEN_LIST)) return undefined;
    const choices: SeatChoice[] = [];
    if (this.takes(CLOSE_LIST)) return choices;
    do {
      const choice: ChoiceDraft = { id: 0, capacity: undefined };
      if (!this.choice(choice)) return undefined;
      choices.push(choice);
    } while (this.takes(COMMA));
    return this.takes(CLOSE_LIST) ? choices : undefined;
  }

  /** @param choice - Gets what is read. */
  protected choice(choice: ChoiceDraft): boolean {
    if (!this.takes(OPEN_OBJECT)) return false;
    let id: number | undefined;
    let capacity: number | null | undefined;
    do {
      if (this.names(ID)) {
        if (id !== undefined) return false;
        id = this.number();
        if (id === undefined) return false;
      } else {
        if (!this.names(CAPACITY) || capacity !== undefined) return false;
        capacity = this.takesWord(NULL) ? null : this.number();
        if (capacity === undefined) return false;
      }
    } while (this.takes(COMMA));
    if (id === undefined || !this.takes(CLOSE_OBJECT)) return false;
    choice.id = id;
    choice.capacity = capacity;
    return true;
  }

  /** A positive whole number. */
  protected number(): number | undefined {
    const bytes = this.bytes;
    let at = this.skipBlanks();
    if (at === bytes.length || bytes[at] === ZERO) return undefined;
    let value = 0;
    const start = at;
    for (; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (byte < ZERO || byte > NINE) break;
      value = value * 10 + byte - ZERO;
    }
    this.at = at;
    // The next reader sees what follows: a point or an exponent is not usual.
    return at === start || at - start > DIGITS_MAX ? undefined : value;
  }

  /** Printable ASCII without escapes, or null. */
  protected text(lengthMax: number): string | null | undefined {
    if (this.takesWord(NULL)) return null;
    if (!this.takes(QUOTE)) return undefined;
    const bytes = this.bytes;
    const start = this.at;
    let at = start;
    while (at < bytes.length && bytes[at] !== QUOTE) {
      const byte = bytes[at]!;
      if (byte < SPACE || byte > TILDE || byte === BACKSLASH) return undefined;
      at++;
    }
    if (at === bytes.length || at - start > lengthMax) return undefined;
    this.at = at + 1;
    return this.textAt(start, at);
  }

  /** A text in the stored form of names, or null. */
  protected nameText(lengthMax: number): string | null | undefined {
    const name = this.text(lengthMax);
    return typeof name === "string" && normalName(name) !== name ? undefined : name;
  }

  /** Bytes of printable ASCII as a text. */
  protected textAt(start: number, end: number): string {
    return this.bytes.toString("latin1", start, end);
  }

  /** Steps over the name of a member and its colon, if they come next. */
  protected names(name: Uint8Array): boolean {
    const start = this.at;
    if (this.takesWord(name) && this.takes(COLON)) return true;
    this.at = start;
    return false;
  }

  protected takesWord(word: Uint8Array): boolean {
    const bytes = this.bytes;
    const start = this.skipBlanks();
    if (start + word.length > bytes.length) return false;
    for (let i = 0; i < word.length; i++) {
      if (bytes[start + i] !== word[i]) return false;
    }
    this.at = start + word.length;
    return true;
  }

  protected takes(byte: number): boolean {
    const at = this.skipBlanks();
    if (at === this.bytes.length || this.bytes[at] !== byte) return false;
    this.at = at + 1;
    return true;
  }

  /**
   * @returns The position of the next byte that is no blank. It never reads beyond the end: the
   * compiler compares a byte that may be undefined half as fast.
   */
  protected skipBlanks(): number {
    const bytes = this.bytes;
    let at = this.at;
    for (; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (byte !== SPACE && byte !== LINE_FEED && byte !== RETURN && byte !== TAB) break;
    }
    this.at = at;
    return at;
  }
}
