/** Shares of connections, by tables in the form in which Linux writes them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { TrustedProxies } from "../../../server/http/client-address.ts";
import { Connections, SHARE_MIN } from "../../../server/http/connections.ts";

const PORT = 0x1f90;
const MAX = 400;
const SHARE = MAX / 4;
/** Bytes of a piece that is read at a time, and of a row. */
const PIECE_BYTES = 64 * 1_024;
const ROW_BYTES = 150;

/** An address of IPv4 as the table has it: a word of four bytes, the last one first. */
const hexOf = (address: string) =>
  Buffer.from(address.split(".").map(Number)).swap32().toString("hex").toUpperCase();

/** An address of IPv6: four words, each with its last byte first. */
const hexOf6 = (...groups: readonly number[]) => {
  const bytes = Buffer.alloc(16);
  for (const [i, group] of groups.entries()) bytes.writeUInt16BE(group, 2 * i);
  return bytes.swap32().toString("hex").toUpperCase();
};

const rows = (hex: string, count: number) =>
  Array.from({ length: count }, (_, i) =>
    `${String(i).padStart(6)}: ${"0".repeat(hex.length)}:1F90 ${hex}:ABCD 01 0:0`.padEnd(
      ROW_BYTES - 1,
    ),
  );

/** Connections with a table of its own, and the callback that the library would call. */
function tableOf(table: readonly string[], trusted: readonly string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), "connections-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "tcp");
  const write = (lines: readonly string[]) => writeFileSync(file, `${lines.join("\n")}\n`);
  write(table);
  const connections = new Connections(MAX, new TrustedProxies(trusted), [file]);
  connections.port = PORT;
  let changed: (connection: object, change: 1 | -1) => void = () => {};
  connections.watch({ filter: (called: typeof changed) => (changed = called) });
  const from = (address: string) => ({
    getRemoteAddressAsText: () => new TextEncoder().encode(address).buffer,
    // As the library does: in the same call.
    close: () => changed(from(address), -1),
  });
  const open = (address: string, count = 1) => {
    for (let i = 0; i < count; i++) changed(from(address), 1);
  };
  const close = () => connections.closed();
  const sheds = (address: string) => connections.sheds(from(address));
  return { connections, open, close, sheds, write };
}

/** A share of all for each of these, and no more. */
const OTHERS = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];

test("an address opens and closes more often than its share → none of its connections is refused", () => {
  const { connections, open, close } = tableOf([]);
  for (const address of OTHERS) open(address, SHARE);
  for (let i = 0; i < 2 * SHARE; i++) {
    open("192.0.2.7");
    close();
  }
  expect(connections).toMatchObject({ connections: 3 * SHARE, connectionsRefused: 0 });
});

test("an address keeps its connections open → it has its share, and refusals make no room", () => {
  const { connections, open } = tableOf([]);
  for (const address of OTHERS) open(address, SHARE / 2);
  open(OTHERS[0]!, SHARE / 2);
  open("192.0.2.7", MAX);
  expect(connections).toMatchObject({ connections: 3 * SHARE, connectionsRefused: MAX - SHARE });
});

test("others close connections → an address has as many more than its share, until the next look", async () => {
  const clock = vi.spyOn(performance, "now").mockReturnValue(0);
  onTestFinished(() => clock.mockRestore());
  const { connections, open, close, write } = tableOf([]);
  await connections.look();
  const closed = 0.6 * SHARE;
  for (let i = 0; i < MAX / 2 + closed; i++) open(`198.51.100.${i}`);
  for (let i = 0; i < closed; i++) close();
  open("192.0.2.7", 3 * SHARE);
  const mine = SHARE + closed;
  const refused = 3 * SHARE - mine;
  expect(connections).toMatchObject({
    connections: MAX / 2 + mine,
    connectionsRefused: refused,
  });
  write(rows(hexOf("192.0.2.7"), mine));
  clock.mockReturnValue(1_000);
  await connections.look();
  open("192.0.2.7");
  open("198.51.100.1");
  expect(connections.connectionsRefused).toBe(refused + 1);
});

test("others close more connections than a share → an address has twice its share, and no more", async () => {
  const clock = vi.spyOn(performance, "now").mockReturnValue(0);
  onTestFinished(() => clock.mockRestore());
  const { connections, open, close } = tableOf(rows(hexOf("192.0.2.7"), 2 * SHARE));
  await connections.look();
  for (let i = 0; i < MAX / 2 + 2 * SHARE; i++) open(`198.51.100.${i % 250}`);
  for (let i = 0; i < 1.5 * SHARE; i++) close();
  open("192.0.2.7");
  expect(connections.connectionsRefused).toBe(1);
});

test("a proxy in the /64 of clients → they are not closed for its connections", async () => {
  const proxy = hexOf6(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9);
  const neighbour = hexOf6(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
  const table = [...rows(proxy, 300), ...rows(neighbour, 10), ...rows(hexOf("192.0.2.7"), 20)];
  const { connections, sheds } = tableOf(table, ["2001:db8::9"]);
  connections.connections = MAX;
  await connections.look();
  const addresses = ["2001:db8::9", "2001:db8::1", "192.0.2.7"];
  expect(addresses.map(sheds)).toEqual([false, false, true]);
});

test("a look while another is under way → none", async () => {
  const { connections } = tableOf(rows(hexOf("192.0.2.7"), 20_000));
  let isDone = false;
  const first = connections.look().then(() => (isDone = true));
  await connections.look();
  expect(isDone).toBe(false);
  await first;
});

test("a look that took long → the next one waits for twenty times as long", async () => {
  let nowMs = 0;
  // Each piece takes a millisecond.
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (nowMs += 1));
  onTestFinished(() => clock.mockRestore());
  const pieces = 10;
  const table = rows(hexOf("192.0.2.7"), (pieces * PIECE_BYTES) / ROW_BYTES);
  const { connections, sheds, write } = tableOf(table);
  connections.connections = MAX;
  await connections.look();
  const endMs = nowMs;
  write(rows(hexOf("192.0.2.8"), SHARE_MIN));
  nowMs = endMs + pieces * 20 - 10;
  await connections.look();
  expect(sheds("192.0.2.7")).toBe(true);
  nowMs = endMs + pieces * 20 + 10;
  await connections.look();
  expect([sheds("192.0.2.7"), sheds("192.0.2.8")]).toEqual([false, true]);
});
