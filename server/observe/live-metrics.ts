/** Metrics of those who follow events. */

/** Those who follow events, and what is in memory for them. */
export interface LiveStats {
  readonly streams: number;
  readonly eventStreams: number;
  readonly waitingPolls: number;
  readonly tickets: number;
  readonly refused: number;
  readonly slow: number;
  readonly messages: number;
  readonly recentBytes: number;
  readonly recentOldestMs: number;
  readonly maps: number;
}

/** A metric, and how it is read. */
export type Row = readonly [name: string, help: string, read: () => number];

/** @param nowMs - The service clock. */
export function liveRows(
  live: { readonly stats: LiveStats },
  nowMs: () => number,
): { readonly gauges: readonly Row[]; readonly counters: readonly Row[] } {
  const polls = "Requests that wait for a change of an event.";
  const events = "Clients that follow an event by server-sent events.";
  const bytes = "Memory of the recent changes of all events.";
  const age = "How far back the recent changes in memory go.";
  const messages = "Messages with changes that were made, each for many who follow an event.";
  const slow = "Streams that were closed because too much waited to be read.";
  const refused = "Streams, server-sent events and waiting requests beyond their limit.";
  const ageOf = ({ recentOldestMs }: LiveStats) =>
    recentOldestMs === 0 ? 0 : Math.max(0, nowMs() - recentOldestMs) / 1_000;
  return {
    gauges: [
      ["streams", "Clients that follow an event over a WebSocket.", () => live.stats.streams],
      ["event_streams", events, () => live.stats.eventStreams],
      ["waiting_polls", polls, () => live.stats.waitingPolls],
      ["stream_tickets", "Tickets that are not used yet.", () => live.stats.tickets],
      ["recent_changes_bytes", bytes, () => live.stats.recentBytes],
      ["recent_changes_seconds", age, () => ageOf(live.stats)],
      ["cached_maps", "Maps of events in memory.", () => live.stats.maps],
    ],
    counters: [
      ["stream_messages_total", messages, () => live.stats.messages],
      ["streams_slow_total", slow, () => live.stats.slow],
      ["streams_refused_total", refused, () => live.stats.refused],
    ],
  };
}
