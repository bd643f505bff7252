/** The buyers of `--demo-traffic`. */
import { existsSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { SeatState } from "../../../engine/inventory/states.ts";
import { createDemo, DemoTraffic, findDemo, STEP_MS } from "../../../server/demo.ts";
import { Bench } from "../../support/engine.ts";
import { runCli } from "../../support/server-process.ts";

/** The arena is created and sold for as long as a test wants. */
class Sale extends Bench {
  readonly traffic: DemoTraffic;

  constructor(seed?: number) {
    super();
    createDemo(this.engine, this.createTenant().tenantId);
    this.traffic = this.restart(seed);
  }

  restart(seed?: number): DemoTraffic {
    return new DemoTraffic(this.engine, findDemo(this.engine)!, seed);
  }

  play(seconds: number): void {
    for (let ms = 0; ms < seconds * 1_000; ms += STEP_MS) {
      this.clock.timeMs += STEP_MS;
      this.traffic.step();
    }
  }

  get seats() {
    return this.engine.state.partitionOf(this.traffic.event);
  }

  count(state: number): number {
    return this.seats.seatsIn[state]!;
  }
}

test("the arena opens with a presale, blocked seats, and seats that are not on sale", () => {
  const sale = new Sale();
  expect(sale.traffic.event).toMatchObject({ name: "Aurora Tour · Night 1", status: "PUBLISHED" });
  expect(sale.seats.layout.seatCount).toBe(7_488);
  expect(sale.count(SeatState.BLOCKED)).toBe(512);
  expect(sale.count(SeatState.UNPRICED)).toBe(168);
  expect(sale.count(SeatState.SOLD)).toBeGreaterThan(1_000);
  expect(sale.count(SeatState.ACTIVE)).toBeGreaterThan(4_000);
});

test("buyers hold seats, buy them, give them back, or let the hold run out", () => {
  const sale = new Sale();
  const before = sale.count(SeatState.SOLD);
  const calls = new Set<string>();
  sale.play(300);
  for (const { record } of sale.journal.kept) if ("move" in record) calls.add(String(record.move));
  expect(sale.count(SeatState.SOLD)).toBeGreaterThan(before + 500);
  expect(sale.count(SeatState.LOCKED)).toBeGreaterThan(100);
  expect([...calls].sort()).toEqual(["1", "2", "3", "4", "5", "6", "8"]);
});

test("the same seed plays the same sale, and another seed another one", () => {
  const states = [1, 1, 2].map((seed) => {
    const sale = new Sale(seed);
    sale.play(60);
    return Buffer.from(sale.seats.state).toString("base64");
  });
  expect(states[0]).toBe(states[1]);
  expect(states[2]).not.toBe(states[0]);
});

test("the buyers are gentle: fewer than ten commands per second", () => {
  const sale = new Sale();
  const before = sale.engine.sequence;
  sale.play(120);
  expect((sale.engine.sequence - before) / 120).toBeLessThan(10);
});

test("a restart goes on with the same night, and with the next one when it is sold out", () => {
  const sale = new Sale();
  expect(sale.restart().event.id).toBe(sale.traffic.event.id);
  const { layout, state } = sale.seats;
  const free = [...layout.seatIds].filter((_, seat) => state[seat] === SeatState.ACTIVE);
  const { organization } = findDemo(sale.engine)!;
  const caller = { ...sale.createTenant("Other"), organizationId: organization.id };
  for (let from = 0; from < free.length; from += 1_000) {
    const body = { seats: free.slice(from, from + 1_000).map((id) => ({ id })) };
    sale.must("directsale", caller, { eventId: sale.traffic.event.id, body });
  }
  sale.play(1);
  expect(sale.restart().event.name).toBe("Aurora Tour · Night 2");
});

test("traffic without a demo is refused, and nothing is created", async () => {
  const folder = path.join(os.tmpdir(), `frontrow-no-demo-${process.pid}`);
  const { code, stderr } = await runCli({ args: ["serve", "--demo-traffic", "--data", folder] });
  expect([code, existsSync(folder)]).toEqual([2, false]);
  expect(stderr).toContain("--demo-traffic needs --demo");
});
