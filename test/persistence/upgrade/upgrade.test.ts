/**
 * Stores that earlier versions wrote, each ended by a kill after its last booking. `stores/` has
 * one for every difference in format, with what its own server answered about it; `packStore` made
 * them. A new version of a format adds the store of the version before.
 */
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { FORMATS } from "../../../persistence/disk/formats.ts";
import { verifyFolder } from "../../../persistence/rescue/verify.ts";
import {
  runCli,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from "../../support/server-process.ts";
import { flip, segmentsIn, usedBytes } from "../rescue/folder-fixture.ts";
import { packStore, unpackStore } from "./packed-store.ts";

const SLOW = { timeout: 120_000 };
const V2 = "/api/private/v2.0";
const STORES = path.join(import.meta.dirname, "stores");
const NAMES = fs.readdirSync(STORES).flatMap((name) => /^(.*)\.br$/.exec(name)?.[1] ?? []);

/** What the server that wrote a store answered about it. */
interface Facts {
  readonly key: string;
  readonly eventId: string;
  /** How many seats the event has. */
  readonly seats: number;
  /** By id, those that are not free. */
  readonly taken: Readonly<Record<string, string>>;
  readonly schemas: readonly string[];
}

const factsOf = (name: string) =>
  JSON.parse(fs.readFileSync(path.join(STORES, `${name}.json`), "utf8")) as Facts;

function storeOf(name: string): string {
  const folder = path.join(temporaryFolder(), "data");
  unpackStore(fs.readFileSync(path.join(STORES, `${name}.br`)), folder);
  return folder;
}

const formatIn = (folder: string) =>
  (JSON.parse(fs.readFileSync(path.join(folder, "store.json"), "utf8")) as { format: number })
    .format;

async function listOf<Row>(server: ServerProcess, target: string, key: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (let page = 0; ; page++) {
    const reply = await server.request("GET", `${target}?size=100&page=${page}`, undefined, key);
    const { content, last } = (await reply.json()) as { content: Row[]; last: boolean };
    rows.push(...content);
    if (last) return rows;
  }
}

interface Seat {
  readonly seatId: number;
  readonly state: string;
}

test("there are stores of every earlier format", () => {
  const formats = new Set(NAMES.map((name) => formatIn(storeOf(name))));
  for (let format = FORMATS.store.oldest; format < FORMATS.store.version; format++) {
    expect(formats).toContain(format);
  }
  expect(NAMES.length).toBeGreaterThanOrEqual(3);
});

test.each(NAMES)(
  "the store %s is sound, opens with all it had, and is upgraded",
  SLOW,
  async (name) => {
    const folder = storeOf(name);
    const facts = factsOf(name);
    const before = verifyFolder({ disk: realDisk, folder });
    expect(before.findings).toEqual([]);
    expect(before.digest).not.toBeNull();
    expect(formatIn(folder)).toBeLessThan(FORMATS.store.version);

    const server = await startServer({ folder });
    const recovered = server.logLines.find(({ msg }) => msg === "recovered");
    expect(recovered).toMatchObject({ sequence: before.sequence, passedOver: [] });
    expect(recovered!["snapshot"]).not.toBeNull();
    expect(recovered!["records"]).toBeGreaterThan(0);
    const { key, eventId } = facts;
    const seats = await listOf<Seat>(server, `${V2}/events/${eventId}/seats/`, key);
    expect(seats).toHaveLength(facts.seats);
    const taken = seats.filter(({ state }) => state !== "ACTIVE");
    expect(Object.fromEntries(taken.map(({ seatId, state }) => [seatId, state]))).toEqual(
      facts.taken,
    );
    const schemas = await listOf<{ name: string }>(server, `${V2}/schemas/`, key);
    expect(schemas.map((schema) => schema.name)).toEqual(facts.schemas);
    const [sold] = Object.keys(facts.taken);
    const history = await listOf<{ toState: string }>(
      server,
      `${V2}/events/${eventId}/audit/`,
      key,
    );
    expect(history.length).toBeGreaterThan(facts.seats);
    const free = seats.find(({ state }) => state === "ACTIVE")!;
    const lock = `${V2}/booking/lock?eventId=${eventId}`;
    const body = (seatId: number) => ({ seats: [{ id: seatId }], sessionId: "eve" });
    expect((await server.request("POST", lock, body(free.seatId), key)).status).toBe(200);
    expect((await server.request("POST", lock, body(Number(sold)), key)).status).toBe(400);
    await server.kill("SIGTERM");

    expect(formatIn(folder)).toBe(FORMATS.store.version);
    const after = await runCli({ args: ["verify", folder] });
    expect([after.code, after.stdout]).toEqual([0, expect.stringContaining("all is well")]);
  },
);

test("a repair of an earlier store upgrades it before it cuts the log", SLOW, async () => {
  const folder = storeOf(NAMES[0]!);
  const [newest] = segmentsIn(folder).toReversed();
  flip(newest!, usedBytes(newest!) - 512);
  const preview = await runCli({ args: ["repair", folder] });
  expect([preview.code, formatIn(folder)]).toEqual([78, 1]);
  const repaired = await runCli({ args: ["repair", folder, "--yes"] });
  expect([repaired.code, formatIn(folder)]).toEqual([0, FORMATS.store.version]);
  const verified = await runCli({ args: ["verify", folder] });
  expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining("all is well")]);
});

test("a store of a later version is refused in one sentence by every command", SLOW, async () => {
  const folder = storeOf(NAMES[0]!);
  const file = path.join(folder, "store.json");
  const later = FORMATS.store.version + 1;
  const store = JSON.parse(fs.readFileSync(file, "utf8")) as object;
  fs.writeFileSync(file, JSON.stringify({ ...store, format: later }));
  const before = packStore(folder);
  const commands = [
    ["serve", "--port", "0", "--data", folder],
    ["verify", folder],
    ["inspect", folder],
    ["repair", folder, "--yes"],
    ["backup", folder, `${folder}-backup`],
    ["restore", folder, `${folder}-restored`],
  ];
  for (const args of commands) {
    const refused = await runCli({ args });
    expect([args[0], refused.code, refused.stdout]).toEqual([args[0], 78, ""]);
    expect(refused.stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(refused.stderr).toContain(
      `is version ${later}, and this Frontrow reads versions 1 to 4`,
    );
    expect(refused.stderr).toContain("it is not damaged, and nothing was changed");
  }
  expect(packStore(folder).equals(before)).toBe(true);
});
