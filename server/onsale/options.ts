/** The options of `frontrow onsale`: flags, environment variables, help texts, and their values. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { randomInt } from "node:crypto";

const SEATS_PER_BUYER_MAX = 6;
const COUNT_MAX = 1_000_000;
const CONNECTIONS_MAX = 10_000;
const SEED_LIMIT = 2 ** 32;

/** How the crowd behaves; the help texts explain each member. Shares are from 0 to 1. */
export interface CrowdOptions {
  readonly buyers: number;
  readonly seatsPerBuyer: Range;
  readonly gaShare: number;
  readonly giveUp: number;
  readonly thinkMs: number;
  readonly seconds: number;
  /** In seconds. */
  readonly holdWait: number;
  readonly seed: number;
  /** The server chooses the places. */
  readonly best?: boolean;
}

/** Of a new door; undefined for the defaults, or for the event's own door. */
interface DoorOptions {
  readonly door?: boolean;
  readonly perMinute?: number;
  readonly maxInside?: number;
  readonly seatsPerVisitor?: number;
  /** In seconds. */
  readonly opensIn?: number;
}

/** The flags as commander parses them. */
export interface Flags extends CrowdOptions, DoorOptions {
  /** One server, or a leader and its standbys. */
  readonly url: readonly URL[];
  readonly key?: string;
  readonly event?: string;
  readonly layout?: string;
  readonly connections: number;
  readonly socket?: boolean;
  readonly ledger?: string;
  readonly json?: boolean;
}

export interface OnsaleOptions extends Omit<Flags, "event" | "layout" | "json"> {
  readonly key: string;
  /** An existing event, or the layout (JSON text) of a new one. */
  readonly target: { readonly eventId: string } | { readonly layout: string };
}

/** Both ends included. */
interface Range {
  readonly min: number;
  readonly max: number;
}

export function addOnsaleOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--url <urls>",
        "base URL of the server; of several, separated by commas, the one that is ready",
      )
        .env("FRONTROW_URL")
        .argParser(parseUrls)
        .default([new URL("http://127.0.0.1:8080")], "http://127.0.0.1:8080"),
    )
    .addOption(
      new Option(
        "--key <key>",
        "secret API key of the organization; in the variable, it is not in the list of processes",
      ).env("FRONTROW_KEY"),
    )
    .addOption(new Option("--event <uuid>", "existing event to sell").argParser(parseEventId))
    .addOption(
      new Option(
        "--layout <file>",
        "create an event with this layout (JSON, plain or gzip) and a price for each section",
      ).conflicts("event"),
    )
    .option("--buyers <n>", "buyers at the same time", integer(1, COUNT_MAX), 1_000)
    .addOption(
      new Option("--seats-per-buyer <n or n-m>", "seats or places that a buyer wants, 1 to 6")
        .argParser(parseSeatsPerBuyer)
        .default({ min: 1, max: SEATS_PER_BUYER_MAX }, `1-${SEATS_PER_BUYER_MAX}`),
    )
    .option("--ga-share <0..1>", "share of buyers who prefer general admission", parseShare, 0.2)
    .option("--give-up <0..1>", "share of buyers who give up after a lock", parseShare, 0.1)
    .option(
      "--think-ms <ms>",
      "mean hesitation between lock and purchase (uniform from 0 to twice this)",
      integer(0, COUNT_MAX),
      50,
    )
    .option(
      "--connections <n>",
      "HTTP connections, each with one request at a time",
      integer(1, CONNECTIONS_MAX),
      64,
    )
    .option("--best", "lock the best places that are free, in place of seats picked from the map")
    .option("--door", "let the buyers in by the event's door; one with a draw is set up if need be")
    .option(
      "--per-minute <n>",
      "of a new door: visitors invited (default: 6000)",
      integer(1, 600_000),
    )
    .option(
      "--max-inside <n>",
      "of a new door: visitors inside (default: no cap)",
      integer(1, COUNT_MAX),
    )
    .option(
      "--seats-per-visitor <n>",
      "of a new door: seats and places that a visitor may take (default: no limit)",
      integer(1, COUNT_MAX),
    )
    .option(
      "--opens-in <s>",
      "of a new door: until the opening; who joins before it is drawn (default: 10)",
      integer(1, COUNT_MAX),
    )
    .option("--socket", "book over one WebSocket instead of these connections")
    .option("--seconds <s>", "time limit of the sale", integer(1, COUNT_MAX), 300)
    .option(
      "--hold-wait <s>",
      "end the sale when other sessions hold the rest and nothing has changed for this long",
      integer(0, COUNT_MAX),
      10,
    )
    .addOption(
      new Option("--seed <n>", "repeat a run with the same buyers and wishes")
        .argParser(integer(0, SEED_LIMIT - 1))
        .default(randomInt(SEED_LIMIT), "random; the report shows it"),
    )
    .option(
      "--ledger <file>",
      "write every lock, unlock and sale and its answer to this file, as JSON lines (see below)",
    )
    .option("--json", "print the report as one JSON object");
}

function parseUrls(text: string): readonly URL[] {
  return text.split(",").map((url) => parseUrl(url.trim()));
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new InvalidArgumentError("It must be a URL such as http://127.0.0.1:8080.");
  }
  return url;
}

function parseEventId(text: string): string {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) {
    throw new InvalidArgumentError("It must be a UUID.");
  }
  return text.toLowerCase();
}

/** @returns A parser of integers from `min` to `max`. */
function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be an integer from ${min} to ${max}.`);
    }
    return value;
  };
}

function parseShare(text: string): number {
  const value = Number(text);
  if (!/^\d*\.?\d+$/.test(text) || value > 1) {
    throw new InvalidArgumentError("It must be a number from 0 to 1, such as 0.1.");
  }
  return value;
}

/** `4` means exactly four; `1-6` means one to six, each equally likely. */
function parseSeatsPerBuyer(text: string): Range {
  const match = /^([1-6])(?:-([1-6]))?$/.exec(text);
  const min = Number(match?.[1]);
  const max = Number(match?.[2] ?? min);
  if (match === null || max < min) {
    throw new InvalidArgumentError("It must be 1 to 6, such as 4 or 1-6.");
  }
  return { min, max };
}
