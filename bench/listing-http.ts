/**
 * `npm run bench:listing`: how long a page of the seats listing takes over HTTP after a seat has
 * changed. The time must depend on the page, not on the number of seats of the event.
 */
import { startServer, TENANT_TOKEN } from "./contenders/frontrow.ts";
import { call, createVenue, openEvent } from "./contenders/venue.ts";
import { medianOf } from "./harness/measure.ts";
import { folder, isTrial, numbers, parseOptions } from "./harness/options.ts";
import { print, table } from "./harness/table.ts";
import { inTemporaryFolder } from "./harness/temporary-folder.ts";
import type { EventOnSale } from "./load/plan.ts";

const ROUNDS = isTrial ? 1 : 60;
const PAGE_SIZE = 100;
const SORTS = ["", "&sort=seatName,desc", "&sort=state,desc&sort=rowName", "&sort=updatedAt,desc"];

const options = parseOptions(
  "bench:listing",
  "Measures pages of the seats listing over HTTP, each after a change of one seat.",
  { seats: numbers([1_000, 10_000, 80_000], "seats of the events"), folder },
);

await inTemporaryFolder(options.folder, async (data) => {
  const server = await startServer(data);
  const rows: string[][] = [];
  for (const seats of options.seats) {
    const event = await openEvent(await createVenue(server.url, TENANT_TOKEN, seats));
    for (const sort of SORTS) {
      const first = await medianMs(server.url, event, `page=0${sort}`);
      const last = await medianMs(
        server.url,
        event,
        `page=${Math.ceil(seats / PAGE_SIZE) - 1}${sort}`,
      );
      const order = sort === "" ? "by id" : sort.slice(1);
      rows.push([`${seats} seats, ${order}`, first.toFixed(2), last.toFixed(2)]);
    }
  }
  await server.stop();
  print(table(["median ms", "first page", "last page"], rows));
});

async function medianMs(url: URL, event: EventOnSale, query: string): Promise<number> {
  const { eventId, key, seatIds } = event;
  const to = { url, key };
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const seats = [{ id: seatIds[(round * 37) % seatIds.length] }];
    await call(to, `POST v2.0/booking/lock?eventId=${eventId}`, { seats });
    const startedMs = performance.now();
    await call(to, `GET v2.0/events/${eventId}/seats/?size=${PAGE_SIZE}&${query}`);
    times.push(performance.now() - startedMs);
    await call(to, `POST v2.0/booking/unlock?eventId=${eventId}`, { seats });
  }
  return medianOf(times);
}
