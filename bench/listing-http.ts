/**
 * `npm run bench:listing`: a page of the seats listing over HTTP, a seat changed before each, for
 * events of several sizes. The time must depend on the page, not on the size of the event.
 */
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { startServer, TENANT_TOKEN } from "./contenders/frontrow.ts";
import { buildHouse, call, openShow } from "./contenders/house.ts";
import type { Hall } from "./load/plan.ts";

const SIZES = process.argv.slice(2).map(Number);
const ROUNDS = process.env["BENCH_TRIAL"] === "1" ? 1 : 60;
const PAGE = 100;
const SORTS = ["", "&sort=seatName,desc", "&sort=state,desc&sort=rowName", "&sort=updatedAt,desc"];

const folder = await mkdtemp(path.join(os.tmpdir(), "frontrow-bench-"));
const server = await startServer(folder);
try {
  for (const size of SIZES.length > 0 ? SIZES : [1_000, 10_000, 80_000]) {
    const hall = await openShow(await buildHouse(server.url, TENANT_TOKEN, size));
    for (const sort of SORTS) {
      const first = await medianMs(hall, `page=0${sort}`);
      const last = await medianMs(hall, `page=${Math.ceil(size / PAGE) - 1}${sort}`);
      const name = sort === "" ? "by id" : sort.slice(1);
      const times = `first page ${first.toFixed(2)} ms, last page ${last.toFixed(2)} ms`;
      process.stdout.write(`${size} seats, ${name}: ${times}\n`);
    }
  }
} finally {
  await server.stop();
  await rm(folder, { recursive: true });
}

/** Median of a page's time, each time after a seat was locked or unlocked. */
async function medianMs(hall: Hall, query: string): Promise<number> {
  const { eventId, key, seatIds } = hall;
  const to = { url: server.url, key };
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const seats = [{ id: seatIds[(round * 37) % seatIds.length] }];
    await call(to, `POST v2.0/booking/lock?eventId=${eventId}`, { seats });
    const startedMs = performance.now();
    await call(to, `GET v2.0/events/${eventId}/seats/?size=${PAGE}&${query}`);
    times.push(performance.now() - startedMs);
    await call(to, `POST v2.0/booking/unlock?eventId=${eventId}`, { seats });
  }
  return times.sort((a, b) => a - b)[times.length >> 1]!;
}
