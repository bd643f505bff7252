/**
 * The versions of formats: the next version of the program opens the folder of this one and
 * upgrades it. This one then refuses it, as it does folders from before the first release.
 */
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { FORMATS } from "../../../persistence/disk/formats.ts";
import { buildNext, raised } from "../../support/next-build.ts";
import {
  runCli,
  type ServerProcess,
  startServer,
  temporaryFolder,
  V2,
} from "../../support/server-process.ts";
import { sameFiles } from "../log/log-fixture.ts";
import { flip, segmentsIn, usedBytes } from "../rescue/folder-fixture.ts";
import { contentOf } from "./store-fixture.ts";

const SLOW = { timeout: 120_000 };
const { version, oldest } = FORMATS.store;

const fileOf = (folder: string) => path.join(folder, "store.json");
const storeIn = (folder: string) =>
  JSON.parse(fs.readFileSync(fileOf(folder), "utf8")) as { version: number };

interface Seat {
  readonly seatId: number;
  readonly state: string;
}

/** A store with a locked seat, ended by a kill. */
async function newStore() {
  const server = await startServer({ args: ["--demo"] });
  const { folder, key, eventId } = server;
  const [seat] = await seatsOf(server, { key, eventId });
  expect(await statusOfLock(server, { key, eventId }, seat!)).toBe(200);
  const seats = await seatsOf(server, { key, eventId });
  await server.kill("SIGKILL");
  return { folder, key, eventId, seats };
}

interface House {
  readonly key: string;
  readonly eventId: string;
}

async function seatsOf(server: ServerProcess, { key, eventId }: House): Promise<Seat[]> {
  const list = `${V2}/events/${eventId}/seats/?size=100`;
  const reply = await server.request("GET", list, undefined, key);
  return ((await reply.json()) as { content: Seat[] }).content;
}

async function statusOfLock(server: ServerProcess, { key, eventId }: House, { seatId }: Seat) {
  const body = { seats: [{ id: seatId }], sessionId: "eve" };
  const lock = `${V2}/booking/lock?eventId=${eventId}`;
  return (await server.request("POST", lock, body, key)).status;
}

/** Expects every command to refuse the folder in one sentence, and to change nothing. */
async function expectRefused(folder: string, reason: string): Promise<void> {
  const before = contentOf(folder);
  const elsewhere = path.join(temporaryFolder(), "copy");
  const commands = [
    ["serve", "--port", "0", "--data", folder],
    ["verify", folder],
    ["inspect", folder],
    ["repair", folder, "--yes"],
    ["backup", folder, elsewhere],
    ["restore", folder, elsewhere],
  ];
  for (const args of commands) {
    const { code, stdout, stderr } = await runCli({ args });
    expect([args[0], code, stdout]).toEqual([args[0], 78, ""]);
    expect(stderr.trimEnd().split("\n"), args[0]).toHaveLength(1);
    expect(stderr).toContain(reason);
  }
  expect(sameFiles(contentOf(folder), before)).toBe(true);
  expect(fs.existsSync(elsewhere)).toBe(false);
}

test(
  "the next version opens a store with all it has and upgrades it; this one refuses it then",
  SLOW,
  async () => {
    const { folder, seats, ...house } = await newStore();
    const cli = buildNext(raised);
    const server = await startServer({ cli, folder });
    expect(storeIn(folder).version).toBe(version + 1);
    expect(await seatsOf(server, house)).toEqual(seats);
    expect(await statusOfLock(server, house, seats[0]!)).toBe(400);
    expect(await statusOfLock(server, house, seats[1]!)).toBe(200);
    await server.kill("SIGTERM");
    const verified = await runCli({ cli, args: ["verify", folder] });
    expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining("all is well")]);
    const versions = `is version ${version + 1}, and this Frontrow reads versions ${oldest} to ${version}`;
    await expectRefused(folder, versions);
  },
);

test("a repair by the next version upgrades a store before it cuts the log", SLOW, async () => {
  const { folder } = await newStore();
  const cli = buildNext(raised);
  const [newest] = segmentsIn(folder).toReversed();
  flip(newest!, usedBytes(newest!) - 512);
  const preview = await runCli({ cli, args: ["repair", folder] });
  expect([preview.code, storeIn(folder).version]).toEqual([78, version]);
  const repaired = await runCli({ cli, args: ["repair", folder, "--yes"] });
  expect([repaired.code, storeIn(folder).version]).toEqual([0, version + 1]);
  const verified = await runCli({ cli, args: ["verify", folder] });
  expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining("all is well")]);
});

test(
  "a store of a build from before the first release is refused, and not as damaged",
  SLOW,
  async () => {
    const { folder } = await newStore();
    const { version: _, ...store } = storeIn(folder);
    fs.writeFileSync(fileOf(folder), JSON.stringify({ format: 4, ...store }));
    await expectRefused(folder, "a build from before the first release wrote it");
  },
);
