/** Creations and output of `--demo`. */
import { expect, test } from "vitest";
import { createDemo, demoLayout, describeDemo, findDemo } from "../../../server/demo.ts";
import { Bench } from "../../support/engine.ts";

const BASE = "http://127.0.0.1:8080";
const KEY = "fro_1_key";
const KEY_FILE = "/it's here/demo-key";

class Demo extends Bench {
  constructor() {
    super();
    createDemo(this.engine, this.createTenant().tenantId);
  }

  describe(): string {
    const access = { baseUrl: BASE, key: KEY, keyFile: KEY_FILE };
    return describeDemo(this.engine, findDemo(this.engine)!, access);
  }

  /** The seats that the first printed command locks. */
  get seats(): readonly { readonly id: number }[] {
    const body = / -d '([^']+)'/.exec(this.describe())?.[1];
    return (JSON.parse(body ?? "{}") as { seats?: { id: number }[] }).seats ?? [];
  }

  get event() {
    return [...this.engine.state.catalog.events.values()][0]!;
  }
}

test("the theatre has stalls, a balcony, tables and a standing pit", () => {
  const { sectors, rows, seats } = demoLayout();
  expect(sectors!.map(({ name }) => name)).toEqual([
    "Stalls",
    "Balcony",
    "Table 1",
    "Table 2",
    "Pit",
  ]);
  expect([rows!.length, seats!.length]).toEqual([13, 8 * 16 + 3 * 20 + 2 * 4]);
});

test("the event is tomorrow, is published, and everything is on sale", () => {
  const demo = new Demo();
  expect(demo.event).toMatchObject({
    status: "PUBLISHED",
    start: "2026-03-20T10:00:00",
    endDate: "2026-03-20T13:00:00",
  });
  const { state, areas } = demo.engine.state.partitionOf(demo.event);
  expect(new Set(state)).toEqual(new Set([2]));
  expect(areas.places(0, 2)).toBe(150);
});

test("the demo prints its address, key and event, and three commands to paste", () => {
  const demo = new Demo();
  const text = demo.describe();
  const words = [BASE, KEY, demo.event.id, `${BASE}/docs`, `${BASE}/console`];
  for (const word of words) expect(text).toContain(word);
  const lines = text.split("\n").filter((line) => line.startsWith("curl "));
  expect(lines.map((line) => /booking\/(\w+)|\/seats\//.exec(line)?.[1])).toEqual([
    "lock",
    "sale",
    undefined,
  ]);
  for (const line of lines) expect(line).toContain(` -H '@/it'\\''s here/demo-key'`);
});

test("the commands name two free neighbours, whatever was sold before", () => {
  const demo = new Demo();
  const caller = { ...demo.createTenant("Other"), organizationId: demo.event.organizationId };
  const sold: number[] = [];
  for (let i = 0; i < 5; i++) {
    const [first, second] = demo.seats;
    expect(sold).not.toContain(first!.id);
    expect(sold).not.toContain(second!.id);
    demo.must("directsale", caller, { eventId: demo.event.id, body: { seats: [second!] } });
    sold.push(second!.id);
  }
});

test("a store without an organization or an event of the demo has no demo", () => {
  const bench = new Bench();
  expect(findDemo(bench.engine)).toBeNull();
  bench.createOrganization(bench.createTenant(), "Frontrow demo");
  expect(findDemo(bench.engine)).toBeNull();
});

test("a demo that is sold out prints no command that would be refused", () => {
  const demo = new Demo();
  const caller = { ...demo.createTenant("Other"), organizationId: demo.event.organizationId };
  const { seatIds } = demo.engine.state.partitionOf(demo.event).layout;
  const body = { seats: [...seatIds].map((id) => ({ id })) };
  demo.must("directsale", caller, { eventId: demo.event.id, body });
  expect(demo.describe()).not.toContain('"seats":[]');
});
