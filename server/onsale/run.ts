/** One run from the first question to the report: set up, read, play, read again, check. */

import { Book } from "./books/book.ts";
import { checkSale } from "./books/check.ts";
import { BookingDesk, type Line } from "./books/desk.ts";
import { Ledger } from "./books/ledger.ts";
import { Listing } from "./books/listing.ts";
import { Doors } from "./crowd/doors.ts";
import { playSale } from "./crowd/sale.ts";
import { View } from "./crowd/view.ts";
import { Client } from "./http/client.ts";
import { nowMs } from "./http/clock.ts";
import { Patience } from "./http/patience.ts";
import { Wire } from "./http/wire.ts";
import type { OnsaleOptions } from "./options.ts";
import { Random } from "./random.ts";
import { buildReport, type Report } from "./report.ts";
import { createEvent } from "./setup.ts";
import { Tally } from "./tally.ts";

const MS_PER_SECOND = 1_000;
/** A server that is not there at the start is more likely a wrong address than a restart. */
const START_PATIENCE_MS = 10_000;
/** After the time limit: to finish what is held, and to read everything for the check. */
const END_PATIENCE_MS = 60_000;

/** Whoever shows the run while it goes on. */
export interface Audience {
  onEvent(eventId: string): void;
  /** @param soldCount - seats and places bought in this run, asked at any time. */
  onStart(openCount: number, soldCount: () => number): void;
  onEnd(): void;
}

/** @throws HaltError when the run cannot go on. */
export async function runOnsale(options: OnsaleOptions, audience: Audience): Promise<Report> {
  const ledger = options.ledger === undefined ? undefined : new Ledger(options.ledger);
  const tally = new Tally();
  const wire = new Wire(options, tally);
  const patience = new Patience(wire, new Random(options.seed));
  try {
    return await play(options, audience, { wire, patience, tally, ledger });
  } finally {
    patience.lastFor(0);
    await wire.destroy();
    ledger?.close();
  }
}

interface Means extends Line {
  readonly ledger: Ledger | undefined;
}

async function play(options: OnsaleOptions, audience: Audience, means: Means): Promise<Report> {
  const { wire, patience, tally, ledger } = means;
  const client = new Client(wire, patience);
  patience.lastFor(START_PATIENCE_MS);
  await patience.untilReady();
  const { stage } = options;
  const eventId = "eventId" in stage ? stage.eventId : await createEvent(client, stage.layout);
  audience.onEvent(eventId);

  const listing = new Listing(client, eventId);
  const before = await listing.readAll();
  const view = new View(before.seats, before.areas);
  const book = new Book();
  const requestsBefore = tally.requests;
  audience.onStart(view.openCount, () => book.seatCount + book.placeCount);
  patience.lastFor(options.seconds * MS_PER_SECOND + END_PATIENCE_MS);
  const startMs = nowMs();
  try {
    const desk = new BookingDesk(means, eventId);
    const market = { desk, view, doors: new Doors(), book, tally, ledger };
    await playSale(market, listing, options);
  } finally {
    audience.onEnd();
  }
  const durationMs = nowMs() - startMs;
  const requests = tally.requests - requestsBefore;

  patience.lastFor(END_PATIENCE_MS);
  const after = await listing.readAll();
  const verdicts = checkSale({ book, before, after, tally });
  const { seed } = options;
  const outages = patience.outages;
  return buildReport({
    eventId,
    seed,
    durationMs,
    requests,
    outages,
    book,
    after,
    tally,
    verdicts,
  });
}
