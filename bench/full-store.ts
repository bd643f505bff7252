/** A data folder with events on sale and any number of bookings, to measure what a disk keeps. */
import type { CommandKind, CommandOf } from "../engine/commands.ts";
import type { Caller } from "../engine/shapes/caller.ts";
import type { AnswerOf } from "../engine/decide.ts";
import { Result } from "../engine/results.ts";
import { type Store, valueOf } from "../persistence/store/open-engine.ts";
import { layoutOf } from "./in-process/hall.ts";

/** Bookings that wait for the disk together. */
const WINDOW = 500;

export interface OnSale {
  readonly caller: Caller;
  readonly eventIds: readonly string[];
  /** Pairs of neighbours; every event has the same layout. */
  readonly pairs: readonly (readonly [number, number])[];
}

/** Events of one schema, all seats priced. */
export async function putOnSale(store: Store, events: number, seats: number): Promise<OnSale> {
  const caller = await store.callerFor("Bench");
  const must = async <K extends CommandKind>(command: CommandOf<K>): Promise<AnswerOf<K>> =>
    valueOf(await store.execute<K>(command));
  const { id: venueId } = await must({ kind: "createVenue", caller, body: { name: "Venue" } });
  const plan = { name: "Plan", venueId };
  const { id: schemaId } = await must({ kind: "createSchema", caller, body: plan });
  const body = layoutOf(seats);
  const layout = await must({ kind: "putLayout", caller, schemaId, body, forceDelete: false });
  const eventIds: string[] = [];
  for (let i = 0; i < events; i++) {
    const eventId = `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`;
    const times = { start: "2030-01-01T20:00:00", endDate: "2030-01-01T22:00:00" };
    const show = { name: `Show ${i}`, schemaId, ...times };
    await must({ kind: "createEvent", caller, eventId, body: show });
    const names = [{ name: "Seat", eventId }];
    const [price] = await must({ kind: "createPrices", caller, eventId, body: names });
    const groupOfSeats = layout.sectors.map(({ id }) => ({
      objectId: id,
      assignmentId: price!.id,
    }));
    await must({ kind: "assignPrices", caller, eventId, body: { groupOfSeats } });
    eventIds.push(eventId);
  }
  const ids = layout.seats.map(({ id }) => id);
  const pairs = ids.flatMap((id, i) =>
    i % 2 === 0 && i + 1 < ids.length ? [[id, ids[i + 1]!] as const] : [],
  );
  return { caller, eventIds, pairs };
}

/** Locks and unlocks pairs until the log has so many records more; all are on disk then. */
export async function book(store: Store, onSale: OnSale, records: number): Promise<void> {
  const { caller, eventIds, pairs } = onSale;
  for (let done = 0; done < records; done += 2) {
    const turn = done / 2;
    const eventId = eventIds[turn % eventIds.length]!;
    const [first, second] = pairs[Math.floor(turn / eventIds.length) % pairs.length]!;
    const body = { sessionId: `buyer-${turn % 10_000}`, seats: [{ id: first }, { id: second }] };
    for (const kind of ["lock", "unlock"] as const) {
      const { refused } = store.engine.submit({ kind, caller, eventId, body });
      if (refused !== Result.OK) throw new Error(`${kind}: ${refused}: no result`);
    }
    if (turn % WINDOW === 0) await durable(store);
  }
  await durable(store);
}

function durable(store: Store): Promise<void> {
  return new Promise((resolve) => {
    store.engine.afterDurable(resolve);
  });
}
