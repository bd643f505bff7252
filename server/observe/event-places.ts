/**
 * How full the events are: seats and places of areas by state. The largest events on sale have
 * series of their own; all others are added up, so that the number of series is bounded.
 */
import type { EventRow } from "../../engine/catalog.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import { BOOKING_STATES, type BookingState, STATE_NAMES } from "../../engine/inventory/states.ts";
import type { State } from "../../engine/state.ts";
import { localDateTime } from "../wire/moments.ts";
import { family, type Sample } from "./exposition.ts";

/** Events with series of their own. */
const EVENTS_MAX = 100;
const NAME_LENGTH_MAX = 64;
/** The label of all other events together. */
const OTHERS = "other";

const STATES = BOOKING_STATES.map((state) => ({ state, name: STATE_NAMES[state].toLowerCase() }));

interface Found {
  readonly event: EventRow;
  readonly partition: Partition;
  readonly size: number;
}

/** Prometheus text format. Cost: O(events and areas), no seat is looked at: 10 ms for 30,000. */
export function eventPlaces(state: State, nowMs: number): string[] {
  const now = localDateTime(nowMs);
  const largest: Found[] = [];
  const others = STATES.map(() => 0);
  for (const event of state.catalog.events.values()) {
    const partition = state.partitions.peek(event.partition)!;
    const sizeBefore = sum(others);
    for (let i = 0; i < STATES.length; i++) others[i]! += placesIn(partition, STATES[i]!.state);
    if (event.status !== "PUBLISHED" || event.endDate <= now) continue;
    keepLargest(largest, { event, partition, size: sum(others) - sizeBefore });
  }
  for (const { partition } of largest) {
    for (const [i, { state: each }] of STATES.entries()) others[i]! -= placesIn(partition, each);
  }
  return [
    ...family(
      "frontrow_event_info",
      "gauge",
      "The name and the organization of an event that has its own series; always 1.",
      largest.map(({ event }) => [
        {
          event: event.id,
          name: event.name.slice(0, NAME_LENGTH_MAX),
          organization: String(event.organizationId),
        },
        1,
      ]),
    ),
    ...family(
      "frontrow_event_places",
      "gauge",
      "Seats and places of areas by state: of the largest events on sale, and of all others.",
      [
        ...largest.flatMap(({ event, partition }) =>
          samples(
            event.id,
            STATES.map((each) => placesIn(partition, each.state)),
          ),
        ),
        ...samples(OTHERS, others),
      ],
    ),
  ];
}

function samples(event: string, places: readonly number[]): Sample[] {
  return STATES.map(({ name }, i) => [{ event, state: name }, places[i]!]);
}

function placesIn({ seatsIn, areas }: Partition, state: BookingState): number {
  let count = seatsIn[state]!;
  for (let area = 0; area < areas.count; area++) count += areas.places(area, state);
  return count;
}

function sum(counts: readonly number[]): number {
  return counts[0]! + counts[1]! + counts[2]! + counts[3]!;
}

/** Adds an event to the largest ones, which are in order of their size, if it is one of them. */
function keepLargest(largest: Found[], found: Found): void {
  const isFull = largest.length === EVENTS_MAX;
  if (isFull && found.size <= largest.at(-1)!.size) return;
  const at = largest.findIndex(({ size }) => size < found.size);
  largest.splice(at === -1 ? largest.length : at, 0, found);
  if (isFull) largest.pop();
}
