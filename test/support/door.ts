/** A world whose event has a door, and what its server does for it. */
import type { AdmissionBody } from "../../engine/bodies.ts";
import { visitorFacts, type VisitorFacts } from "../../engine/door.ts";
import type { Door } from "../../engine/inventory/door.ts";
import { drain } from "../../engine/inventory/steps.ts";
import { Draw } from "../../server/door/draw.ts";
import { DoorSecrets, entryOf } from "../../server/door/keys.ts";
import { START_MS, World, type WorldOptions } from "./engine.ts";
import type { LayoutPart } from "./layout.ts";

export const MINUTE_MS = 60_000;

export class DoorWorld extends World {
  readonly keys = new DoorSecrets("5a".repeat(32));
  /** Milliseconds since 1970. */
  opensAtMs = START_MS + MINUTE_MS;

  constructor(parts: readonly LayoutPart[], options?: WorldOptions) {
    super(parts, options);
    this.engine.state.doorKeys = this.keys;
  }

  get door(): Door {
    return this.engine.state.doors.get(this.event.partition)!;
  }

  /** The value of its beacon. */
  get beacon(): string | null {
    return this.door.row.beacon?.value ?? null;
  }

  put(body: Partial<AdmissionBody> = {}) {
    return this.submit("putAdmission", this.caller, this.settings(body));
  }

  settings(body: Partial<AdmissionBody> = {}) {
    const { eventId, opensAtMs } = this;
    return { eventId, opensAtMs, body: { opensAt: "2026-03-19T10:01:00", perMinute: 60, ...body } };
  }

  /** Joins with a name, which is both the customer and the id. */
  join(name: string): number {
    const { eventId, caller } = this;
    return this.must("joinDoor", caller, { eventId, entry: entryOf(name) }).visitor;
  }

  /** The order in which the server would draw. */
  order(): Uint32Array {
    const { door } = this;
    const entryAt = (visitor: number) => door.entryOf(visitor);
    const draw = new Draw(this.keys.seedOf(door.id), entryAt, this.beacon);
    return drain(draw.order(door.drawable));
  }

  /** Waits for the opening, and opens the door. */
  open(): void {
    this.clock.timeMs = Math.max(this.clock.timeMs, this.opensAtMs);
    const order = this.door.row.draw ? this.order() : new Uint32Array(0);
    const { eventId, beacon } = this;
    this.must("openDoor", this.caller, { eventId, order, beacon });
  }

  wait(ms: number): void {
    this.clock.timeMs += ms;
    this.engine.serveDoors();
  }

  facts(name: string): VisitorFacts {
    const visitor = this.door.find(entryOf(name));
    return visitorFacts(this.engine.state, this.event, visitor, this.clock.timeMs);
  }

  enter(name: string) {
    const { eventId, caller } = this;
    return this.submit("enterDoor", caller, { eventId, entry: entryOf(name) });
  }

  leave(name: string): void {
    const { eventId, caller } = this;
    this.must("leaveDoor", caller, { eventId, entry: entryOf(name) });
  }

  /** The token of a visitor who is inside. */
  token(name: string, claims: object = {}): string {
    const { place, untilMs, seconds } = this.facts(name);
    const iat = Math.floor((untilMs! - seconds * 1_000) / 1_000);
    const exp = Math.floor(untilMs! / 1_000);
    const own = { aud: this.eventId, sub: name, place: place!, iat, exp };
    return this.keys.sign(this.door.id, { ...own, ...claims });
  }
}
