/** The messages of a stream. */

/** The state of a seat; null when it has no price, or is not listed any more. */
export type SeatState = "ACTIVE" | "LOCKED" | "SOLD" | "BLOCKED" | null;

/** The places of an area. */
export interface AreaState {
  readonly groupOfSeatsId: number;
  readonly capacity: number;
  readonly active: number;
  readonly locked: number;
  readonly sold: number;
  readonly blocked: number;
}

/** All seats and areas of an event, as in the answer of `map/`. */
export interface EventMap {
  /** The event's last record in the map. */
  readonly sequence: number;
  /** Such as `PUBLISHED`. */
  readonly status: string;
  readonly bookable: boolean;
  /** Ids of prices. */
  readonly prices: readonly number[];
  /** The seats: the same position in each column is the same seat. */
  readonly columns: {
    readonly ids: readonly number[];
    /** A letter for each seat: `A`, `L`, `S`, `B`, or `-` for a seat without a price. */
    readonly states: string;
    /** Positions in `prices`; -1 for none. */
    readonly priceIndexes: readonly number[];
    /** The key of each seat's channel, null for none; left out while no seat is in one. */
    readonly channels?: readonly (string | null)[];
  };
  /** By seat id: when its hold ends, as a local date-time. */
  readonly expiresAt: Readonly<Record<string, string>>;
  readonly areas: readonly AreaState[];
}

/** A seat after a change. */
export interface ChangedSeat {
  readonly id: number;
  readonly state: SeatState;
  readonly priceId: number | null;
  /** When its hold ends, as a local date-time; only while it is locked with an end. */
  readonly expiresAt?: string;
  /** The key of its channel after a change with the call `channels`; null for none. */
  readonly channel?: string | null;
}

/** The changes of one record, with the values after it. */
export interface Change {
  readonly sequence: number;
  /** The change of the event before it. */
  readonly previous: number;
  /** A local date-time. */
  readonly time: string;
  /** Such as `lock`, `expire` or `prices`. */
  readonly call: string;
  /** Not for the holder of a ticket. */
  readonly sessionId?: string;
  readonly holdType?: string;
  readonly seats: readonly ChangedSeat[];
  readonly areas: readonly AreaState[];
  /** After a change of the status. */
  readonly status?: string;
  /** After a change of it. */
  readonly bookable?: boolean;
}
