/**
 * Channels of an event: seats kept for the calls that name them. The row of the event has their keys
 * and names, the partition the seats of each.
 */
import { assert } from "../assert.ts";
import { CHANNEL, type ChannelBody } from "../bodies.ts";
import type { CatalogPut, ChannelRow, EventRow } from "../catalog.ts";
import { command, NOT_OWN } from "../command.ts";
import { CHANNELS_PER_EVENT_MAX, INVENTORY_ERRORS_MAX, NONE } from "../constants.ts";
import type { Partition } from "../inventory/partition.ts";
import { collectSeats, GroupType, seatIndexOf } from "../layout/layout.ts";
import { keyOfChannel, ownRow } from "../queries/access.ts";
import {
  type FieldError,
  grant,
  isRefused,
  notFound,
  type Refusal,
  refuse,
  refuseInvalid,
  Result,
} from "../results.ts";
import { CHANNEL_KEY, UUID_KEY } from "../schema.ts";
import { grantChange } from "./owned.ts";

const { ENTITY_NOT_FOUND, INVENTORY_IN_USE, VALIDATION_FAILED } = Result;

export const CHANNEL_COMMANDS = {
  /**
   * Sets up a channel, or replaces its name and its seats, whatever their states.
   *
   * @returns INVENTORY_IN_USE for seats of another channel. True for a new channel.
   * Cost: O(seats of the event).
   */
  putChannel: command({
    members: { eventId: UUID_KEY, key: CHANNEL_KEY, body: CHANNEL },
    refusals: [VALIDATION_FAILED, ...NOT_OWN, INVENTORY_IN_USE],
    decide(state, { caller, eventId, key, body }) {
      const event = ownRow(state.catalog.events.get(eventId), caller, "event");
      if (isRefused(event)) return event;
      const { channels = [] } = event;
      const partition = state.partitionOf(event);
      const named = findSeats(partition, body);
      if (isRefused(named)) return named;
      const own = channels.find((channel) => channel.key === key);
      if (own === undefined && channels.length === CHANNELS_PER_EVENT_MAX) {
        const message = `an event has at most ${CHANNELS_PER_EVENT_MAX} channels: delete another one first`;
        return refuseInvalid([{ field: "", code: "SIZE", message, rejectedValue: key }]);
      }
      const slot = own?.slot ?? freeSlot(channels);
      const kept = keptElsewhere(partition, event, slot, named);
      if (kept !== null) return kept;
      const channel = { slot, runs: runsOf(named.keys(), partition.layout.seatCount) };
      const isSame = own?.name === body.name && partition.allotted(channel).length === 0;
      if (isSame) return grant(null, false);
      const others = channels.filter((other) => other.key !== key);
      const row = withChannels(event, [...others, { key, name: body.name, slot }]);
      const put: CatalogPut = { table: "events", row, channel };
      return grantChange(state, caller, { puts: [put] }, own === undefined);
    },
  }),

  /** Everybody may take its seats again. Cost: O(seats of the event). */
  deleteChannel: command({
    members: { eventId: UUID_KEY, key: CHANNEL_KEY },
    refusals: NOT_OWN,
    decide(state, { caller, eventId, key }) {
      const event = ownRow(state.catalog.events.get(eventId), caller, "event");
      if (isRefused(event)) return event;
      const { channels = [] } = event;
      const own = channels.find((channel) => channel.key === key);
      if (own === undefined) {
        return refuse(ENTITY_NOT_FOUND, "There is no such channel of the event.");
      }
      const row = withChannels(
        event,
        channels.filter((other) => other !== own),
      );
      const put: CatalogPut = { table: "events", row, channel: { slot: own.slot, runs: [] } };
      return grantChange(state, caller, { puts: [put] }, null);
    },
  }),
};

function withChannels(
  { channels: _channels, ...facts }: EventRow,
  channels: readonly ChannelRow[],
): EventRow {
  if (channels.length === 0) return facts;
  return { ...facts, channels: channels.toSorted((a, b) => (a.key < b.key ? -1 : 1)) };
}

/** @returns By seat index: the member of the request that names it first. */
function findSeats(partition: Partition, body: ChannelBody): Map<number, string> | Refusal {
  const { layout } = partition;
  const named = new Map<number, string>();
  const errors: FieldError[] = [];
  const add = (seat: number, field: string) => {
    if (!named.has(seat)) named.set(seat, field);
  };
  for (const [i, id] of (body.seats ?? []).entries()) {
    const seat = seatIndexOf(layout, id);
    if (seat === NONE) errors.push(notFound(`seats[${i}]`, id, "seat in the layout"));
    else add(seat, `seats[${i}]`);
  }
  for (const [i, id] of (body.groupOfSeatsIds ?? []).entries()) {
    const field = `groupOfSeatsIds[${i}]`;
    const group = layout.groups.get(id);
    if (group === undefined || group.type === GroupType.GA) {
      errors.push(notFound(field, id, "section, table or row: a channel keeps seats"));
    } else for (const seat of collectSeats(layout, group)) add(seat, field);
  }
  return errors.length > 0 ? refuseInvalid(errors) : named;
}

/** @returns A refusal that names seats of other channels, with these; null for none. */
function keptElsewhere(
  partition: Partition,
  event: EventRow,
  slot: number,
  named: ReadonlyMap<number, string>,
): Refusal | null {
  if (partition.channels === null) return null;
  const errors: FieldError[] = [];
  for (const [seat, field] of named) {
    const present = partition.channelOf(seat);
    if (present === 0 || present === slot) continue;
    if (errors.length === INVENTORY_ERRORS_MAX) break;
    const message = `is in the channel ${keyOfChannel(event, present)}: take it out there first, or leave it out`;
    const rejectedValue = partition.layout.seatIds[seat]!;
    errors.push({ field, code: "CHANNEL", message, rejectedValue });
  }
  if (errors.length === 0) return null;
  const detail = "A seat is in one channel at most, and some are in another one.";
  return refuse(INVENTORY_IN_USE, detail, errors);
}

/** @returns Pairs of a `ChannelSeats`. */
function runsOf(seats: Iterable<number>, seatCount: number): number[] {
  const runs: number[] = [];
  let next: number = NONE;
  for (const seat of Uint32Array.from(seats).sort()) {
    assert(seat < seatCount, "a channel has seats of the layout");
    if (seat === next) runs[runs.length - 1]! += 1;
    else runs.push(seat, 1);
    next = seat + 1;
  }
  return runs;
}

function freeSlot(channels: readonly ChannelRow[]): number {
  const taken = new Set(channels.map(({ slot }) => slot));
  let slot = 1;
  while (taken.has(slot)) slot++;
  assert(slot <= CHANNELS_PER_EVENT_MAX, "an event has a slot for each of its channels");
  return slot;
}
