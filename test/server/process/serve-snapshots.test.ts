/** `frontrow serve` and its snapshots: its log lines, and no lost answer. */
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { type ServerProcess, startServer, V2 } from "../../support/server-process.ts";

/** Every one of these starts processes; a busy machine takes its time. */
const SLOW = { timeout: 120_000 };
/** More than the log of the demo, so that the first snapshot comes with the bookings. */
const OFTEN = ["--demo", "--snapshot-every", "0.05"];
const STOP_MS_MAX = 15_000;

interface Seat {
  readonly seatId: number;
  readonly state: string;
}

async function seatsOf(server: ServerProcess): Promise<readonly Seat[]> {
  const target = `${V2}/events/${server.eventId}/seats/?size=100`;
  return ((await (await server.request("GET", target)).json()) as { content: Seat[] }).content;
}

/** Locks a seat and gives it back, so many times. */
async function book(server: ServerProcess, seat: Seat, times: number): Promise<void> {
  const body = { seats: [{ id: seat.seatId }], sessionId: "ann" };
  for (let i = 0; i < times; i++) {
    for (const call of ["lock", "unlock"]) {
      const target = `${V2}/booking/${call}?eventId=${server.eventId}`;
      expect(await (await server.request("POST", target, body)).text()).toBe("true");
    }
  }
}

const freeOf = (seats: readonly Seat[]) => seats.find(({ state }) => state === "ACTIVE")!;
const saidOf = (server: ServerProcess, message: string) =>
  server.logLines.filter(({ msg }) => msg === message);

async function metricOf(server: ServerProcess, name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const line = text.split("\n").find((series) => series.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1));
}

test(
  "snapshots are made as the log grows, said, counted, and used by the next start",
  SLOW,
  async () => {
    const server = await startServer({ args: OFTEN });
    const seat = freeOf(await seatsOf(server));
    while (saidOf(server, "snapshot made").length < 3) await book(server, seat, 10);
    const [first, ...later] = saidOf(server, "snapshot made");
    expect(first).toMatchObject({ level: 30, partitions: 1, copied: 1 });
    expect(first!["name"]).toMatch(/^[0-9a-f]{16}\.sqlite$/);
    for (const member of ["seconds", "pauseMsMax", "bytes"]) {
      expect(first![member], member).toBeGreaterThan(0);
    }
    expect(await metricOf(server, 'frontrow_snapshots_total{result="made"}')).toBe(
      later.length + 1,
    );
    expect(await metricOf(server, 'frontrow_snapshots_total{result="failed"}')).toBe(0);
    const pauseMsMax = Math.max(...[first!, ...later].map((line) => Number(line["pauseMsMax"])));
    const pauseSeconds = await metricOf(server, "frontrow_snapshot_pause_max_seconds");
    expect(pauseSeconds * 1_000).toBeCloseTo(pauseMsMax, 6);
    const madeAt = await metricOf(server, "frontrow_snapshot_last_success_timestamp_seconds");
    expect(Math.abs(madeAt - Date.now() / 1_000)).toBeLessThan(60);
    await server.kill("SIGKILL");

    const next = await startServer({ folder: server.folder, args: OFTEN });
    const [recovered] = saidOf(next, "recovered");
    const made = [first!, ...later].map(({ name }) => name);
    expect(made).toContain(recovered!["snapshot"]);
    expect(recovered).toMatchObject({ passedOver: [], cleanShutdown: false });
    expect(await metricOf(next, "frontrow_recovery_records")).toBe(recovered!["records"]);
    expect(await metricOf(next, "frontrow_recovery_duration_seconds")).toBe(recovered!["seconds"]);
  },
);

test("a damaged snapshot is passed over with a warning that says why", SLOW, async () => {
  const server = await startServer({ args: ["--demo"] });
  const seats = await seatsOf(server);
  await server.kill("SIGTERM");
  expect(saidOf(server, "snapshot made")).toHaveLength(1);
  const folder = path.join(server.folder, "snapshots");
  const [name] = fs.readdirSync(folder);
  fs.truncateSync(path.join(folder, name!), 5_000);
  const next = await startServer({ folder: server.folder, args: ["--demo"] });
  expect(next.logLines.find(({ level }) => level === 40)).toMatchObject({
    msg: expect.stringContaining("skipped a damaged snapshot"),
    reason: expect.stringContaining(name!),
  });
  expect(saidOf(next, "recovered")).toMatchObject([{ snapshot: null }]);
  expect(await seatsOf(next)).toEqual(seats);
});

test("when no snapshot can be made it says why, and goes on booking", SLOW, async () => {
  const server = await startServer({ args: OFTEN });
  const seat = freeOf(await seatsOf(server));
  fs.writeFileSync(path.join(server.folder, "snapshots"), "in the way");
  const failed = "snapshot failed; the log keeps everything";
  while (saidOf(server, failed).length === 0) await book(server, seat, 10);
  expect(saidOf(server, failed)[0]).toMatchObject({
    level: 50,
    reason: expect.stringContaining("snapshots"),
  });
  expect(await metricOf(server, 'frontrow_snapshots_total{result="failed"}')).toBe(1);
  await book(server, seat, 1);
});

test(
  "SIGTERM while snapshots are made ends in order: 0, in time, with nothing lost",
  SLOW,
  async () => {
    let { folder } = await startServer({ args: OFTEN }).then(async (server) => {
      await server.kill("SIGTERM");
      return server;
    });
    for (const times of [20, 24, 28]) {
      const server = await startServer({ folder, args: OFTEN });
      const before = await seatsOf(server);
      await book(server, freeOf(before), times);
      const startMs = Date.now();
      expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
      expect(Date.now() - startMs).toBeLessThan(STOP_MS_MAX);
      const next = await startServer({ folder, args: OFTEN });
      expect(saidOf(next, "recovered")).toMatchObject([{ cleanShutdown: true, records: 0 }]);
      const states = (seats: readonly Seat[]) =>
        new Map(seats.map((one) => [one.seatId, one.state]));
      expect(states(await seatsOf(next))).toEqual(states(before));
      await next.kill("SIGKILL");
      ({ folder } = next);
    }
  },
);
