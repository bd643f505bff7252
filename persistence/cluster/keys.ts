/** The keys of a cell in etcd, and the places of frames in the log that they name. No I/O. */
import { assert } from "../../engine/assert.ts";
import { isCount } from "../log/checks.ts";
import type { FramePlace } from "../log/frame.ts";
import type { KeyRange } from "./etcd.ts";

const PLACE = /^([0-9a-f]{16})-([0-9a-f]{16})$/;
/** After every digit, and not used in keys. */
const AFTER_ALL = "~";

export class CellKeys {
  /** Which store the cell has, and where its log in etcd begins. */
  readonly store: string;
  /** Who leads. Its create revision is the fence token. */
  readonly leader: string;
  readonly logs: KeyRange;
  readonly hosts: KeyRange;
  readonly #cell: string;

  constructor(cell: string) {
    this.#cell = cell;
    this.store = `${cell}/store`;
    this.leader = `${cell}/leader`;
    this.logs = { from: `${cell}/log/`, to: `${cell}/log/${AFTER_ALL}` };
    this.hosts = { from: `${cell}/hosts/`, to: `${cell}/hosts/${AFTER_ALL}` };
  }

  /** A frame, or its first part, which is put last. */
  log(place: FramePlace): string {
    return `${this.logs.from}${placeText(place)}`;
  }

  /** The frames from a place on. */
  logsFrom(place: FramePlace): KeyRange {
    return { from: this.log(place), to: this.logs.to };
  }

  /** The frames before a place. */
  logsBefore(place: FramePlace): KeyRange {
    return { from: this.logs.from, to: this.log(place) };
  }

  /** A later part of a long frame. @param part - From 1. */
  part(place: FramePlace, part: number): string {
    return `${this.#cell}/part/${placeText(place)}-${hex16(part)}`;
  }

  /** All later parts of a long frame. */
  parts(place: FramePlace): KeyRange {
    const prefix = `${this.#cell}/part/${placeText(place)}-`;
    return { from: prefix, to: `${prefix}${AFTER_ALL}` };
  }

  /** The later parts of all frames from a place on. */
  partsFrom(place: FramePlace): KeyRange {
    return { from: this.part(place, 0), to: `${this.#cell}/part/${AFTER_ALL}` };
  }

  /** The later parts of all frames before a place. */
  partsBefore(place: FramePlace): KeyRange {
    return { from: `${this.#cell}/part/`, to: this.part(place, 0) };
  }

  /** What a host says about itself; on its lease. */
  host(name: string): string {
    return `${this.hosts.from}${name}`;
  }

  /** @returns Null when the key is not that of a frame. */
  placeOf(key: string): FramePlace | null {
    if (!key.startsWith(this.logs.from)) return null;
    const match = PLACE.exec(key.slice(this.logs.from.length));
    if (match === null) return null;
    return { number: parseInt(match[1]!, 16), offset: parseInt(match[2]!, 16) };
  }
}

/** @returns Less than 0 when `a` is before `b`, 0 when they are equal. */
export function comparePlaces(a: FramePlace, b: FramePlace): number {
  return a.number - b.number || a.offset - b.offset;
}

function placeText({ number, offset }: FramePlace): string {
  assert(isCount(number) && isCount(offset), "a place has safe integers");
  return `${hex16(number)}-${hex16(offset)}`;
}

function hex16(value: number): string {
  return value.toString(16).padStart(16, "0");
}
