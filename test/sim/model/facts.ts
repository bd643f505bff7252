/** The terms of the model: organizations, events, seats, areas, requests and answers. */

import type { BestWish } from "./best.ts";

export type Word = "lock" | "unlock" | "sale" | "revertsale" | "directsale" | "block" | "unblock";
export type Status = "DRAFT" | "PUBLISHED" | "ARCHIVED";

/** A seat or an area of a request. */
export interface Choice {
  id: number;
  capacity?: number | null;
}

export interface BookingRequest {
  word: Word;
  organization: number;
  event: string;
  sessionId: string | null;
  holdType: string | null;
  seats: Choice[];
  areas: Choice[];
  /** By seat id. */
  fences: Map<number, number>;
  /** Of every other object. */
  fence: number | null;
  fromBlocked: boolean;
  toBlocked: boolean;
  /** Of an unlock or a sale: everything that the session holds. */
  all: boolean;
  /** By id of a seat or an area. */
  priceIds: Map<number, number>;
  /** Of a lock or a direct sale. */
  channel: string | null;
}

/** A request for the best places. */
export interface BestAsk extends Omit<BestWish, "orphanMode"> {
  organization: number;
  event: string;
  sessionId: string | null;
  holdType: string | null;
}

/** The amount of a price, in minor units. */
export interface Money {
  amount: number;
  currency: string;
}

export interface PriceItem {
  id: number;
  price: number;
  activeCount: number | null;
}

export interface PriceRequest {
  organization: number;
  event: string;
  seats: PriceItem[];
  groups: PriceItem[];
  onlyActive: boolean;
}

export interface ChannelRequest {
  key: string;
  name: string;
  seats: number[];
  groupOfSeatsIds: number[];
}

export interface Refused {
  field: string;
  code: string;
  value: unknown;
}

/** "true", "false" or an errorCode. `refused` of a bad request has fields only: codes are free. */
export interface Answer {
  answer: string;
  refused: Refused[];
}

export type OrphanMode = "off" | "strict" | "lenient";

/** Own rules of an event; null for those of the organization. */
export interface ModelRules {
  orphanMode: OrphanMode | null;
  orphanUntilSold: number | null;
  heldPerSession: number | null;
  heldPerEvent: number | null;
}

export interface ModelOrganization {
  salesControl: boolean;
  bookingEnabled: boolean;
  orphanMode: OrphanMode;
  /** Percent; null for none. */
  orphanUntilSold: number | null;
  /** 0 for no limit. */
  heldPerSession: number;
  heldPerEvent: number;
  holdTypes: Map<string, number | null>;
  /** Seconds that a hold may last with extensions, by own hold type. */
  maxSeconds: Map<string, number>;
}

export interface ExtendRequest {
  organization: number;
  event: string;
  sessionId: string | null;
  seats: Choice[];
  /** True when areas are named, which is an error. */
  hasAreas: boolean;
  fences: Map<number, number>;
  fence: number | null;
  seconds: number;
}

/** An item of a cart, with its session and the event as it is named. */
export interface CartStep {
  request: BookingRequest | (ExtendRequest & { word: "extend" }) | (BestAsk & { word: "best" });
  /** Null for none. */
  ifSequence: number | null;
}

export interface CartRequest {
  organization: number;
  items: CartStep[];
  /** By event: the last record before the cart; NaN where a hold ends before it. */
  sequences: Map<string, number>;
}

export interface Hold {
  /** The number of the record of its lock. */
  fence: number;
  session: string | null;
  holdType: string;
  sinceMs: number;
  /** Null for never. */
  untilMs: number | null;
}

export interface ModelSeat {
  id: number;
  row: number;
  section: number;
  isTable: boolean;
  x: number;
  y: number;
  state: "ACTIVE" | "LOCKED" | "SOLD" | "BLOCKED" | null;
  price: number;
  /** The key of its channel. */
  channel: string | null;
  hold: Hold | null;
  /** The number of the record of its sale or block; 0 for none. */
  fence: number;
  updatedMs: number;
}

export interface ModelArea {
  id: number;
  gaCapacity: number | null;
  price: number;
  active: number;
  sold: number;
  blocked: number;
  /** The oldest first. */
  held: { hold: Hold; places: number }[];
  updatedMs: number;
}

export interface ModelEvent {
  /** Its rules, replaced as a whole. */
  rules: ModelRules;
  organization: number;
  schema: number;
  status: Status;
  schemaGaCapacity: number | null;
  /** By id; null without an amount. */
  prices: Map<number, Money | null>;
  /** Names by key. */
  channels: Map<string, string>;
  seats: Map<number, ModelSeat>;
  areas: Map<number, ModelArea>;
}

/** By call: the required state of seats and places, without `fromBlocked` and `toBlocked`. */
export const FROM = {
  lock: "ACTIVE",
  unlock: "LOCKED",
  sale: "LOCKED",
  revertsale: "SOLD",
  directsale: "ACTIVE",
  block: "ACTIVE",
  unblock: "BLOCKED",
} as const;

/** The calls that compare the fences of holds, and of sales and blocks; the others refuse any. */
export const COMPARES_HOLDS: ReadonlySet<Word> = new Set(["unlock", "sale"]);
export const COMPARES_RECORDS: ReadonlySet<Word> = new Set(["revertsale", "unblock"]);

type State = "ACTIVE" | "LOCKED" | "SOLD" | "BLOCKED";

/** The states of seats that the request may change, and of places, the first ones first. */
export function statesFor({ word, fromBlocked, toBlocked }: BookingRequest): {
  seats: readonly State[];
  places: readonly State[];
} {
  if (fromBlocked && (word === "lock" || word === "directsale")) {
    return { seats: ["BLOCKED", "ACTIVE"], places: ["BLOCKED", "ACTIVE"] };
  }
  if (toBlocked && word === "unlock") return { seats: ["LOCKED", "ACTIVE"], places: ["LOCKED"] };
  return { seats: [FROM[word]], places: [FROM[word]] };
}

/** Places of an area in the state. */
export function placesIn(area: ModelArea, state: State): number {
  return state === "LOCKED" ? lockedPlaces(area) : area[state.toLowerCase() as "active"];
}

export function lockedPlaces(area: ModelArea): number {
  return area.held.reduce((sum, { places }) => sum + places, 0);
}
