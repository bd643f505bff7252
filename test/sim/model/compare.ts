/** Compares the answers and the inventory of the engine with those of the model. */
import type { Partition } from "../../../engine/inventory/partition.ts";
import { SeatState, STATE_NAMES } from "../../../engine/inventory/states.ts";
import { type FieldError, Result } from "../../../engine/results.ts";
import type { State } from "../../../engine/state.ts";
import { type Answer, lockedPlaces, type Hold, type ModelArea, type ModelEvent } from "./facts.ts";

export interface EngineOutcome {
  readonly refused: Result;
  readonly value?: unknown;
  readonly errors?: readonly FieldError[];
}

/** Of a lock of what can be had. */
type PartialValue = { readonly refused?: readonly FieldError[] } | null | undefined;

const NAMES = new Map(Object.entries(Result).map(([name, code]) => [code as number, name]));

/** @returns The difference; null for none. */
export function sameAnswer(outcome: EngineOutcome, expected: Answer): string | null {
  const granted = outcome.value === false ? "false" : "true";
  const answer = outcome.refused === Result.OK ? granted : NAMES.get(outcome.refused)!;
  const errors = outcome.errors ?? (outcome.value as PartialValue)?.refused ?? [];
  if (answer === expected.answer && expected.refused.length === 0 && errors.length === 0) {
    return null;
  }
  // Of several seats that one would leave alone, a lock of what can be had names any.
  const namesAlone = expected.refused.some(({ code }) => code.startsWith("ORPHAN_SEAT "));
  const faults = errors.map((fault) => faultText(answer, fault, namesAlone));
  const refused = expected.refused.map(({ field, code, value }) =>
    answer === "VALIDATION_FAILED" ? field : `${field} ${code} ${String(value)}`,
  );
  if (answer !== "INVENTORY_NOT_AVAILABLE" && answer !== "true") {
    faults.sort();
    refused.sort();
  }
  const engine = [answer, ...faults].join("; ");
  const model = [expected.answer, ...refused].join("; ");
  return engine === model ? null : `engine: ${engine}\nmodel:  ${model}`;
}

function faultText(
  answer: string,
  { field, code, message, rejectedValue }: FieldError,
  namesAlone: boolean,
): string {
  if (answer === "VALIDATION_FAILED") return field;
  const orphan = code === "ORPHAN_SEAT" && namesAlone ? ` ${/\d+/.exec(message)![0]}` : "";
  return `${field} ${code}${orphan} ${String(rejectedValue)}`;
}

/** @returns The differences in the inventory of the event. */
export function differences(state: State, eventId: string, event: ModelEvent): string[] {
  const row = state.catalog.events.get(eventId)!;
  const partition = state.partitionOf(row);
  const prices = state.catalog.pricesOf(eventId);
  const priceId = (slot: number) => prices.get(slot)?.id ?? 0;
  const { layout, areas } = partition;
  const found: string[] = [];
  const tell = (what: string, id: number | string, engine: unknown, model: unknown) => {
    if (engine === model) return;
    found.push(`${what} ${id}: engine ${String(engine)}, model ${String(model)}`);
  };
  tell("status", eventId, row.status, event.status);
  tell("seats", eventId, layout.seatCount, event.seats.size);
  tell("prices", eventId, prices.size, event.prices.size);
  for (const { id, amount, currency } of prices.values()) {
    const money = event.prices.get(id) ?? null;
    tell("amount of", id, amount, money?.amount);
    tell("currency of", id, currency, money?.currency);
  }
  const channels = row.channels ?? [];
  const names = channels.map(({ key, name }) => `${key} ${name}`).join();
  const named = [...event.channels].sort(([a], [b]) => (a < b ? -1 : 1));
  tell("channels", eventId, names, named.map(([key, name]) => `${key} ${name}`).join());
  const keyOf = new Map(channels.map(({ slot, key }) => [slot, key]));
  for (let index = 0; index < layout.seatCount; index++) {
    const id = layout.seatIds[index]!;
    const seat = event.seats.get(id);
    tell("seat", id, seat === undefined, false);
    if (seat === undefined) continue;
    tell("state of", id, STATE_NAMES[partition.state[index] as SeatState], seat.state);
    tell("price of", id, priceId(partition.price[index]!), seat.price);
    tell("time of", id, partition.changedAtMs[index], seat.updatedMs);
    tell("channel of", id, keyOf.get(partition.channelOf(index)) ?? null, seat.channel);
    tell("fence of", id, partition.fenceOf(index), seat.hold?.fence ?? seat.fence);
    if (partition.state[index] !== SeatState.LOCKED || seat.hold === null) continue;
    tell("hold of", id, engineHold(partition, partition.holdOf(index)), modelHold(seat.hold));
  }
  for (const [index, { id }] of layout.areas.entries()) {
    const model = event.areas.get(id)!;
    tell("price of area", id, priceId(areas.price[index]!), model.price);
    tell("time of area", id, areas.changedAtMs[index], model.updatedMs);
    tell("places of area", id, enginePlaces(partition, index), modelPlaces(model));
  }
  return found;
}

function engineHold(partition: Partition, slot: number): string {
  const { fence, session, expiresAtMs } = partition.holds.get(slot);
  return `${fence} ${session} ${expiresAtMs}`;
}

function modelHold({ fence, session, untilMs }: Hold): string {
  return `${fence} ${session ?? ""} ${untilMs ?? 0}`;
}

/** The four counters, and the held places by hold, the oldest first. */
function enginePlaces(partition: Partition, area: number): string {
  const { areas } = partition;
  const { ACTIVE, LOCKED, SOLD, BLOCKED } = SeatState;
  const held = [...areas.holdsIn(area)].map(
    ([slot, places]) => `${places} ${engineHold(partition, slot)}`,
  );
  return [ACTIVE, LOCKED, SOLD, BLOCKED]
    .map((state) => String(areas.places(area, state)))
    .concat(held)
    .join(", ");
}

function modelPlaces(area: ModelArea): string {
  const counters = [area.active, lockedPlaces(area), area.sold, area.blocked];
  const held = area.held.map(({ hold, places }) => `${places} ${modelHold(hold)}`);
  return counters.map(String).concat(held).join(", ");
}
