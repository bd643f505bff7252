/** The sorted seats of a large event that never stops changing. */
import { setImmediate as turn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { largeLayout } from "../../../bench/stalls/stage.ts";
import { SEAT_SORTS } from "../../../engine/queries/seats.ts";
import { type PageBody, type SeatBody, TestServer, V2 } from "../../support/server.ts";

/** Steps that were done without a pause, at most. */
const longest = vi.hoisted(() => ({ steps: 0 }));
vi.mock(import("../../../engine/inventory/steps.ts"), async (importOriginal) => ({
  ...(await importOriginal()),
  drain: (steps) => {
    for (let count = 0; ; count++) {
      const step = steps.next();
      longest.steps = Math.max(longest.steps, count);
      if (step.done === true) return step.value;
    }
  },
}));

/** So many that a sort takes much longer than a slice. */
const SEATS = 50_000;
const EVENT_ID = "00000000-0000-4000-8000-0000000000aa";

/** An event of that many seats. @returns What gives all of them another price. */
function createLargeEvent({ a, world }: TestServer): () => void {
  const plan = { name: "Arena", venueId: a.venueId };
  const { id: schemaId } = world.must("createSchema", a.caller, { body: plan });
  const layout = JSON.parse(largeLayout(SEATS).text) as never;
  const put = { schemaId, body: layout, forceDelete: false };
  const { sectors } = world.must("putLayout", a.caller, put);
  const { start, endDate } = world.event;
  const event = { name: "Arena", schemaId, start, endDate } as never;
  world.must("createEvent", a.caller, { eventId: EVENT_ID, body: event });
  const prices = ["Full", "Half"].map((name) => world.createPrice(name, EVENT_ID, a.caller));
  const groups = sectors.filter(({ ga }) => !ga).map(({ id }) => ({ objectId: id }));
  let round = 0;
  return () => {
    const assignmentId = prices[(round += 1) % 2]!;
    const groupOfSeats = groups.map((group) => ({ ...group, assignmentId }));
    world.must("assignPrices", a.caller, { eventId: EVENT_ID, body: { groupOfSeats } });
  };
}

test("a large event that never stops changing is sorted in slices, as it was once", async () => {
  const server = new TestServer();
  const changeAll = createLargeEvent(server);
  changeAll();
  // Prices are ranked by their names, which is done at once: they are few.
  const sort = SEAT_SORTS.filter((property) => !["seatId", "priceName"].includes(property));
  const query = sort.map((property) => `sort=${property},desc`).join("&");
  const asked = server.get<PageBody<SeatBody>>(`${V2}/events/${EVENT_ID}/seats/?${query}`);
  const end = { isDone: false };
  void asked.finally(() => (end.isDone = true));
  let turns = 0;
  for (; !end.isDone; turns++) {
    changeAll();
    longest.steps = 0;
    await turn();
    expect(longest.steps).toBe(0);
  }
  expect(turns).toBeGreaterThan(2);
  const { status, body } = await asked;
  expect(status).toBe(200);
  expect(body.totalElements).toBe(SEATS);
  expect(new Set(body.content.map(({ priceName }) => priceName)).size).toBe(1);
});
