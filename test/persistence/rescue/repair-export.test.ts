/** Losses of a repair of a server's log, announced beforehand and exported. */
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { readStore } from "../../../persistence/disk/data-folder.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { auditedSequence } from "../../../persistence/history/archive.ts";
import { previewRepair } from "../../../persistence/rescue/repair.ts";
import {
  runCli,
  type ServerProcess,
  sleep,
  startServer,
  temporaryFolder,
  V2,
} from "../../support/server-process.ts";
import { flip, segmentsIn, usedBytes } from "./folder-fixture.ts";

const SLOW = { timeout: 120_000 };
/** A second and a half, in place of ten minutes. */
const SNAPSHOT_MINUTES = "0.025";
const SNAPSHOTS = 3;
const ROUNDS_AFTER = 20;

async function book(server: ServerProcess, seatId: number, sessionId: string): Promise<void> {
  for (const call of ["lock", "unlock"]) {
    const target = `${V2}/booking/${call}?eventId=${server.eventId}`;
    const body = { seats: [{ id: seatId }], sessionId };
    expect(await (await server.request("POST", target, body)).text()).toBe("true");
  }
}

/** A server with bookings during its snapshots, and a later one without snapshots, both killed. */
async function busyStore() {
  const first = await startServer({
    args: ["--demo", "--snapshot-minutes", SNAPSHOT_MINUTES],
    folder: path.join(temporaryFolder(), "data"),
  });
  const { folder, eventId } = first;
  const [seatId = 0] = await first.freeSeats();
  const made = () => first.logLines.filter(({ msg }) => msg === "snapshot made");
  // With fewer bookings between the snapshots, the repairs below have less to read.
  for (; made().length < SNAPSHOTS; await sleep(10)) await book(first, seatId, "ann");
  await first.kill("SIGKILL");
  const newest = parseInt(String(made().at(-1)!["name"]), 16);
  // However long these bookings take, no snapshot has them.
  const second = await startServer({ args: ["--demo"], folder });
  for (let i = 0; i < ROUNDS_AFTER; i++) await book(second, seatId, `bob-${i}`);
  // Its archive has every record after the first second without bookings.
  const target = `${V2}/events/${eventId}/audit/?size=1`;
  const { trail } = (await (await second.request("GET", target)).json()) as {
    trail: { lastSequence: number };
  };
  const { storeId } = readStore(realDisk, folder);
  const archived = () => auditedSequence(realDisk, folder, storeId) ?? 0;
  while (archived() < trail.lastSequence) await sleep(20);
  await second.kill("SIGKILL");
  return { folder, eventId, seatId, newest };
}

interface Line {
  readonly source: string;
  readonly sequence: number;
  readonly [member: string]: unknown;
}

test(
  "one flipped byte costs only records after the newest snapshot, listed and exported",
  SLOW,
  async () => {
    const { folder, eventId, seatId, newest } = await busyStore();
    const [newestSegment] = segmentsIn(folder).toReversed();
    const used = usedBytes(newestSegment!);
    const step = Math.ceil((used - 4_096) / 40);
    for (let offset = 4_096; offset < used; offset += step) {
      flip(newestSegment!, offset);
      const { plan } = previewRepair({ disk: realDisk, folder });
      expect(plan.sequence, `byte ${offset}`).toBeGreaterThanOrEqual(newest);
      flip(newestSegment!, offset);
    }

    flip(newestSegment!, used - 30 * 512);
    const before = fs.readdirSync(folder);
    const said = await runCli({ args: ["repair", folder] });
    expect(said.code).toBe(78);
    const time = "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z";
    const lose = new RegExp(`^lose: at least \\d+ records, .*, from ${time} to ${time}$`, "m");
    expect(said.stdout).toMatch(lose);
    const ofEvent = `\\n  \\1 of event ${eventId}$`;
    const counted = `^the audit trail has (\\d+) transitions of them, from ${time} to ${time}`;
    const known = new RegExp(counted + ofEvent, "m");
    expect(said.stdout).toMatch(known);
    const file = `${folder}/lost-1.ndjson`;
    expect(said.stdout).toContain(file);
    expect(fs.readdirSync(folder)).toEqual(before);

    const done = await runCli({ args: ["repair", folder, "--yes"] });
    expect(done.code).toBe(0);
    expect(done.stdout).toContain(`exported: ${file}: `);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    const lines = fs
      .readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);
    const transitions = lines.filter(({ source }) => source === "trail");
    expect(transitions.length).toBe(Number(known.exec(said.stdout)![1]));
    expect(transitions.at(-1)).toMatchObject({ eventId, seatId, from: "LOCKED", to: "ACTIVE" });
    expect(transitions.at(-1)).toMatchObject({
      session: `bob-${ROUNDS_AFTER - 1}`,
      call: "unlock",
    });
    // Every lost record is in it, also that of the damaged frame.
    const [, kept] = /keep: all records up to (\d+)/.exec(said.stdout)!;
    const sequences = new Set(lines.map(({ sequence }) => sequence));
    const last = Math.max(...sequences);
    expect([...sequences].toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: last - Number(kept) }, (_, i) => Number(kept) + 1 + i),
    );
    expect((await runCli({ args: ["verify", folder] })).stdout).toContain("all is well");
    const next = await startServer({ folder, args: ["--demo"] });
    // The cut may come between a lock and its unlock, so another seat is booked.
    await book(next, (await next.freeSeats())[0]!, "ann");
  },
);
