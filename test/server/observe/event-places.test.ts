/** Fullness of events: bounded in number, and cheap with many events. */
import { expect, test } from "vitest";
import { Metrics } from "../../../server/observe/metrics.ts";
import { World } from "../../support/engine.ts";
import { area, layoutOf, section } from "../../support/layout.ts";
import { NO_STORE } from "../../support/server.ts";

const PLACES = /^frontrow_event_places\{event="(.*)",state="(\w+)"\} (\d+)$/gm;
const INFO = /^frontrow_event_info\{event="(.*)",name="(.*)",organization="(\d+)"\} 1$/gm;

/** The places of each event in the order of the text: active, locked, sold, blocked. */
async function placesIn({ engine }: World): Promise<ReadonlyMap<string, readonly number[]>> {
  const text = await new Metrics({ engine, ...NO_STORE }).text();
  const places = new Map<string, number[]>();
  for (const [, event, , count] of text.matchAll(PLACES)) {
    places.set(event!, [...(places.get(event!) ?? []), Number(count)]);
  }
  const named = [...text.matchAll(INFO)].map(([, event]) => event!);
  expect([...named, "other"]).toEqual([...places.keys()]);
  return places;
}

test("an event on sale has its places by state, and others are added up", async () => {
  const world = new World([section("Stalls", { A: "1 2 3 4" }), area("Pit", 100)]);
  const { caller, eventId, labels } = world;
  const groupOfSeats = [{ id: labels.idOf("Pit"), capacity: 30 }];
  const seats = [{ id: labels.idOf("A1") }];
  world.must("lock", caller, { eventId, body: { sessionId: "s", seats, groupOfSeats } });
  world.must("directsale", caller, { eventId, body: { seats: [{ id: labels.idOf("A2") }] } });
  const places = await placesIn(world);
  expect(places.get(eventId)).toEqual([72, 31, 1, 0]);
  expect(places.get("other")).toEqual([0, 0, 0, 0]);
  world.must("changeEventStatus", caller, { eventId, body: { status: "ARCHIVED" } });
  const later = await placesIn(world);
  expect([later.has(eventId), later.get("other")]).toEqual([false, [72, 31, 1, 0]]);
});

test("of 30,000 events the 100 largest have series, and the metrics take under 50 ms", async () => {
  const world = new World([section("Stalls", { A: "1 2 3 4" }), area("Pit", 100)]);
  const { engine, caller, venueId } = world;
  const body = { name: "Small plan", venueId };
  const { id: schemaId } = world.must("createSchema", caller, { body });
  const layout = layoutOf(section("Stalls", { A: "1 2" }));
  world.must("putLayout", caller, { schemaId, body: layout, forceDelete: false });
  for (let i = 0; i < 29_999; i++) world.createEvent(caller, schemaId);
  const places = await placesIn(world);
  expect([places.size, places.get(world.eventId)]).toEqual([101, [104, 0, 0, 0]]);
  let nowMs = 0;
  const metrics = new Metrics({ engine, ...NO_STORE }, () => (nowMs += 1_000));
  // Time of the processor, because the machine may be busy.
  const times: number[] = [];
  for (let i = 0; i < 7; i++) {
    const before = process.cpuUsage();
    await metrics.text();
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1_000);
  }
  expect(Math.min(...times)).toBeLessThan(50);
});
