/**
 * `npm run bench:listing`: how long a page of the seats listing takes over HTTP after a seat has
 * changed. The time must depend on the page, not on the number of seats of the event.
 */
import { startServer } from "./contenders/frontrow.ts";
import { call, createVenue, openEvent } from "./contenders/venue.ts";
import { folder, inTemporaryFolder, numbers, parseOptions } from "./harness/command.ts";
import { measureSteps, newSteps } from "./harness/steps.ts";

const RUNS = 60;
const PAGE_SIZE = 100;
const SORTS = ["", "&sort=seatName,desc", "&sort=state,desc&sort=rowName", "&sort=updatedAt,desc"];

const options = parseOptions(
  "bench:listing",
  "Measures pages of the seats listing over HTTP, each after a change of one seat.",
  { seats: numbers([1_000, 10_000, 80_000], "seats of the events"), folder },
);

await inTemporaryFolder(options.folder, async (data) => {
  const server = await startServer(data);
  for (const seatCount of options.seats) {
    const venue = await createVenue(server.url, seatCount);
    const { eventId, seatIds } = await openEvent(venue);
    const seats = [{ id: seatIds[seatIds.length >> 1] }];
    const book = async (kind: string) => {
      await call(venue, `POST v2.0/booking/${kind}?eventId=${eventId}`, { seats });
    };
    const lastPage = Math.ceil(seatCount / PAGE_SIZE) - 1;
    const pages = newSteps(RUNS);
    const change = { beforeEach: () => book("lock"), afterEach: () => book("unlock") };
    for (const sort of SORTS) {
      const order = sort === "" ? "by id" : sort.slice(1);
      for (const [name, page] of Object.entries({ first: 0, last: lastPage })) {
        const query = `size=${PAGE_SIZE}&page=${page}${sort}`;
        const read = () => call(venue, `GET v2.0/events/${eventId}/seats/?${query}`);
        pages.add(`${name} page, ${order}`, async () => void (await read()), change);
      }
    }
    await measureSteps(`${seatCount} seats`, pages, { unit: "ms" });
  }
  await server.stop();
});
