/** What `frontrow onsale` can be told, and how the text of each flag becomes a value. */

import { InvalidArgumentError } from "commander";

const SEATS_PER_BUYER_MAX = 6;

/** How the crowd behaves. */
export interface CrowdOptions {
  /** Buyers at once; each who leaves is replaced by a new one while something is left. */
  readonly buyers: number;
  readonly seatsPerBuyer: Range;
  /** Share of the buyers (0 to 1) who want general-admission places rather than seats. */
  readonly gaShare: number;
  /** Share of the buyers (0 to 1) who give back what they hold instead of paying. */
  readonly giveUp: number;
  /** Mean hesitation between lock and purchase; drawn evenly from 0 to twice this. */
  readonly thinkMs: number;
  /** Time limit of the sale. */
  readonly seconds: number;
  readonly seed: number;
}

export interface OnsaleOptions extends CrowdOptions {
  readonly url: URL;
  readonly key: string;
  readonly connections: number;
  readonly ledger?: string | undefined;
  /** The event to play on, or the layout (JSON text) to make one from. */
  readonly stage: { readonly eventId: string } | { readonly layout: string };
}

/** Both ends included. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

export function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new InvalidArgumentError("It must be an address such as http://127.0.0.1:8080.");
  }
  return url;
}

export function parseEventId(text: string): string {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) {
    throw new InvalidArgumentError("It must be a UUID.");
  }
  return text.toLowerCase();
}

/** @returns a parser of whole numbers from `min` to `max`. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}

export function parseShare(text: string): number {
  const value = Number(text);
  if (!/^\d*\.?\d+$/.test(text) || value > 1) {
    throw new InvalidArgumentError("It must be a share from 0 to 1, such as 0.1.");
  }
  return value;
}

/** `4` for exactly four, `1-6` for an even draw. */
export function parseSeatsPerBuyer(text: string): Range {
  const match = /^(\d)(?:-(\d))?$/.exec(text);
  const min = Number(match?.[1]);
  const max = Number(match?.[2] ?? match?.[1]);
  if (match === null || min < 1 || max < min || max > SEATS_PER_BUYER_MAX) {
    const example = `such as 4 or 1-${SEATS_PER_BUYER_MAX}`;
    throw new InvalidArgumentError(`It must be 1 to ${SEATS_PER_BUYER_MAX}, ${example}.`);
  }
  return { min, max };
}
