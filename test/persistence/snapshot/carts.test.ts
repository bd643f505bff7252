/** A cart after a snapshot whose events were copied before and after it. */
import { expect, test } from "vitest";
import { apply, noteSequence } from "../../../engine/apply.ts";
import { type CartRecord, recordOn, RecordType } from "../../../engine/records.ts";
import { State } from "../../../engine/state.ts";
import { checkState, digest } from "../../../engine/verify.ts";
import { type LoadedSnapshot, replayAfter } from "../../../persistence/snapshot/load.ts";
import { World } from "../../support/engine.ts";
import { section } from "../../support/layout.ts";

test("one event copied after the cart, another before it → the cart is replayed on the latter alone", () => {
  const world = new World([section("Stalls", { A: "1 2 3" })]);
  const { caller, eventId } = world;
  const other = world.createEvent();
  const assignmentId = world.createPrice("Late", other);
  const seats = ["A1", "A2"].map((label) => ({ objectId: world.labels.idOf(label), assignmentId }));
  world.must("assignPrices", caller, { eventId: other, body: { seats, groupOfSeats: [] } });
  const items = [eventId, other].map((id) => {
    return { eventId: id, call: "lock" as const, seats: [{ id: world.labels.idOf("A1") }] };
  });
  world.must("cart", caller, { body: { sessionId: "ann", items } });
  const { kept } = world.journal;
  const [last] = kept.slice(-1);
  expect(last!.record.type).toBe(RecordType.CART);
  const newer = world.engine.state.catalog.events.get(other)!.partition;

  const state = new State();
  for (const { sequence, timeMs, record } of kept.slice(0, -1)) {
    noteSequence(state, sequence, record);
    apply(state, record, timeMs, sequence);
  }
  const { sequence, timeMs } = last!;
  const record = last!.record as CartRecord;
  apply(
    state,
    recordOn(record, (number) => number === newer)!,
    timeMs,
    sequence,
  );
  const sequences = new Map([
    [world.event.partition, sequence - 1],
    [newer, sequence],
  ]);
  const seen: unknown[] = [];
  const loaded = { sequences } as unknown as LoadedSnapshot;
  replayAfter(loaded, state, (missing) => seen.push(missing))(sequence, timeMs, record);
  expect(seen).toMatchObject([{ parts: [{ partition: world.event.partition }] }]);
  checkState(state);
  expect(digest(state)).toBe(digest(world.engine.state));
  expect([...state.sequences.values()]).toEqual([sequence, sequence]);
});
