/** One run from the first request to the report: set up, read, sell, read again, check. */
import { checkSale } from "./books/check.ts";
import { Ledger } from "./books/ledger.ts";
import { SalesRecord } from "./books/sales-record.ts";
import { BookingClient, type Services } from "./crowd/booking-client.ts";
import { InventoryView } from "./crowd/inventory-view.ts";
import { Sale } from "./crowd/sale.ts";
import { WaitingRoom } from "./crowd/waiting-room.ts";
import { ApiClient } from "./http/api-client.ts";
import { InventoryReader } from "./http/inventory-reader.ts";
import { RetryPolicy } from "./http/retry-policy.ts";
import { SocketTransport } from "./http/socket-transport.ts";
import { Transport } from "./http/transport.ts";
import type { OnsaleOptions } from "./options.ts";
import { ProgressLine } from "./progress.ts";
import { Random } from "./random.ts";
import { buildReport, type Report } from "./report.ts";
import { createEvent } from "./setup.ts";
import { Statistics } from "./statistics.ts";

const MS_PER_SECOND = 1_000;
/** A server that does not answer at the start is more likely a wrong address than a restart. */
const START_MS_MAX = 10_000;
/** After the time limit: to settle what is held, and to read everything for the check. */
const END_MS_MAX = 60_000;

/**
 * @param stream - Gets the event, and on a terminal the progress.
 * @throws FatalError if the run cannot continue.
 */
export async function runOnsale(
  options: OnsaleOptions,
  stream: NodeJS.WriteStream,
): Promise<Report> {
  const ledger = options.ledger === undefined ? undefined : new Ledger(options.ledger);
  const statistics = new Statistics();
  const transport = new Transport(options, statistics);
  const socket = options.socket === true ? new SocketTransport(options, statistics) : null;
  const retryPolicy = new RetryPolicy(transport, new Random(options.seed));
  const services = { transport: socket ?? transport, retryPolicy, statistics, ledger };
  try {
    return await play(options, stream, { services, transport });
  } finally {
    retryPolicy.allow(0);
    socket?.destroy();
    await transport.destroy();
    ledger?.close();
  }
}

async function play(
  options: OnsaleOptions,
  stream: NodeJS.WriteStream,
  { services, transport }: { readonly services: Services; readonly transport: Transport },
): Promise<Report> {
  const { retryPolicy, statistics } = services;
  const { target, seed } = options;
  const client = new ApiClient(transport, retryPolicy);
  retryPolicy.allow(START_MS_MAX);
  await retryPolicy.waitUntilReady();
  const eventId = "eventId" in target ? target.eventId : await createEvent(client, target.layout);
  stream.write(`event ${eventId}\n`);

  const reader = new InventoryReader(client, eventId);
  const before = await reader.readAll();
  const view = new InventoryView(before);
  const record = new SalesRecord();
  const bookings = new BookingClient(services, eventId);
  const context = { ...services, bookings, view, room: new WaitingRoom(), record };
  const sale = new Sale(context, reader, options);

  const limitMs = options.seconds * MS_PER_SECOND;
  const requestsBefore = statistics.requests;
  const totalCount = view.openCount;
  retryPolicy.allow(limitMs + END_MS_MAX);
  const startMs = performance.now();
  const progressLine = new ProgressLine(stream, () => ({
    soldCount: record.seatCount + record.placeCount,
    totalCount,
    msLeft: startMs + limitMs - performance.now(),
    p99Ms: statistics.takeRecentP99Ms(),
    holdWait: sale.holdWait,
  }));
  const endedBy = await sale.run().finally(() => progressLine.stop());
  const seconds = (performance.now() - startMs) / MS_PER_SECOND;
  const requests = statistics.requests - requestsBefore;

  retryPolicy.allow(END_MS_MAX);
  const after = await reader.readAll();
  const { holdsLost, serverErrors } = statistics;
  const checks = checkSale({ record, before, after, holdsLost, serverErrors });
  const { outages } = retryPolicy;
  const run = { eventId, seed, endedBy, seconds, requests, outages };
  return buildReport({ ...run, record, after, statistics, checks });
}
