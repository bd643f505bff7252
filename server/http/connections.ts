/**
 * Connections: an upper bound, and a share of it for each source address. The library tells the
 * address of an opening connection, but not of a closing one: the numbers come from the system, and
 * only while more than half are open.
 */
import { read } from "node:fs";
import { open } from "node:fs/promises";
import { promisify } from "node:util";
import { sourceOf, type TrustedProxies } from "./client-address.ts";

/** Below so many of one address none is refused for its share. */
export const SHARE_MIN = 64;
/** An address may have a quarter of all, once half are open. */
const SHARES = 4;
/** Between two looks at the system, at least: milliseconds. */
const LOOK_MS = 100;
/** And so many times as long as the thread worked for the last look: they take 5 % of its time. */
const REST_TIMES = 20;
/** Connections of TCP by version; Linux only. Elsewhere no address has a share. */
const TABLES = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
/** Local port, address of the other end, state. */
const ROW = /^ *\d+: [\dA-F]+:([\dA-F]{4}) ([\dA-F]+):[\dA-F]{4} ([\dA-F]{2})/;
const ESTABLISHED = "01";
const PIECE_BYTES = 64 * 1_024;
const readPiece = promisify(read);

/** The side of the library. */
interface OpenedConnection {
  getRemoteAddressAsText(): ArrayBuffer;
  close(): unknown;
}

/** Called for each connection that opens (1) or closes (-1); the library does not declare it. */
interface Filters {
  filter(changed: (connection: OpenedConnection, change: 1 | -1) => void): unknown;
}

export class Connections {
  /** Open now. */
  connections = 0;
  readonly connectionsMax: number;
  /** Closed at once: too many are open, or too many of their address. */
  connectionsRefused = 0;
  /** Closed after an answer, for others, while all were open. */
  connectionsShed = 0;
  /** Port of the server; 0 before it listens. */
  port = 0;
  readonly #proxies: TrustedProxies;
  readonly #tables: readonly string[];
  readonly #share: number;
  /** By source address, without trusted proxies: as of the last look, and opened since. */
  #bySource = new Map<string, number>();
  /** Connections of any address that have closed since the last look began. */
  #closed = 0;
  /** The address with most of them; null before the first look. */
  #greediest: string | null = null;
  #isLooking = false;
  #nextLookMs = -Infinity;

  /** @param tables - Files of connections, as Linux writes them. */
  constructor(connectionsMax: number, proxies: TrustedProxies, tables = TABLES) {
    this.connectionsMax = connectionsMax;
    this.#proxies = proxies;
    this.#tables = tables;
    this.#share = Math.max(SHARE_MIN, Math.floor(connectionsMax / SHARES));
  }

  /** Refuses connections above the limit: each takes a file descriptor, and the log needs some. */
  watch(app: unknown): void {
    (app as Filters).filter((connection, change) => {
      if (change < 0) this.closed();
      else if (!this.#admits(connection)) {
        this.connectionsRefused += 1;
        // Its own close makes no room for others.
        this.#closed -= 1;
        connection.close();
      }
    });
  }

  /** A connection has closed. */
  closed(): void {
    this.connections -= 1;
    this.#closed += 1;
  }

  #admits(connection: OpenedConnection): boolean {
    this.connections += 1;
    if (this.connections > this.connectionsMax) return false;
    if (this.connections <= this.connectionsMax / 2) return true;
    void this.look();
    const address = textOf(connection);
    if (this.#proxies.trusts(address)) return true;
    const source = sourceOf(address);
    const count = (this.#bySource.get(source) ?? 0) + 1;
    // Any of those that closed may have been of this address. In doubt it gets the place, up to
    // twice its share until the next look.
    if (count - Math.min(this.#closed, this.#share) > this.#share) return false;
    this.#bySource.set(source, count);
    return true;
  }

  /**
   * All connections are open, and this one is of the address with most: closed after its answer, it
   * makes room. Those without a request are closed by the library within ten seconds.
   */
  sheds(connection: OpenedConnection): boolean {
    if (this.connections < this.connectionsMax || this.connectionsMax <= SHARE_MIN) return false;
    void this.look();
    const address = textOf(connection);
    const isShed = sourceOf(address) === this.#greediest && !this.#proxies.trusts(address);
    if (isShed) this.connectionsShed += 1;
    return isShed;
  }

  /** Asks the system, unless it was asked lately or is being asked. */
  async look(): Promise<void> {
    if (this.#isLooking || performance.now() < this.#nextLookMs) return;
    this.#isLooking = true;
    const before = this.#closed;
    const { bySource, workedMs } = await this.#countBySource();
    const [first] = [...bySource].toSorted(([, a], [, b]) => b - a);
    this.#bySource = bySource;
    this.#greediest = first?.[0] ?? null;
    // Those that closed during the look may be in it.
    this.#closed -= before;
    this.#isLooking = false;
    this.#nextLookMs = performance.now() + Math.max(LOOK_MS, workedMs * REST_TIMES);
  }

  async #countBySource() {
    const local = this.port.toString(16).toUpperCase().padStart(4, "0");
    const byHex = new Map<string, number>();
    const counts = this.#tables.map((table) => countRows(table, local, byHex));
    const workedMs = (await Promise.all(counts)).reduce((sum, ms) => sum + ms, 0);
    const bySource = new Map<string, number>();
    for (const [hex, count] of byHex) {
      const address = addressOfHex(hex);
      // One by one: a proxy may be in the /64 of clients.
      if (this.#proxies.trusts(address)) continue;
      const source = sourceOf(address);
      bySource.set(source, (bySource.get(source) ?? 0) + count);
    }
    return { bySource, workedMs };
  }
}

function textOf(connection: OpenedConnection): string {
  return Buffer.from(connection.getRemoteAddressAsText()).toString();
}

/**
 * Counts the connections of a port by the address of the other end. Linux gives 4 KiB at a time; a
 * stream over it would take the thread several times as long.
 *
 * @returns Time of this thread: milliseconds, about one for 1,000 connections of the machine.
 */
async function countRows(
  table: string,
  local: string,
  byHex: Map<string, number>,
): Promise<number> {
  let [workedMs, rest] = [0, ""];
  try {
    const file = await open(table);
    try {
      const buffer = Buffer.alloc(PIECE_BYTES);
      for (;;) {
        // oxlint-disable-next-line no-await-in-loop -- one piece after the other
        const { bytesRead } = await readPiece(file.fd, buffer, 0, PIECE_BYTES, null);
        if (bytesRead === 0) return workedMs;
        const startMs = performance.now();
        const lines = `${rest}${buffer.toString("latin1", 0, bytesRead)}`.split("\n");
        rest = lines.pop()!;
        for (const line of lines) {
          const [, port, hex = "", state] = ROW.exec(line) ?? [];
          if (port !== local || state !== ESTABLISHED) continue;
          byHex.set(hex, (byHex.get(hex) ?? 0) + 1);
        }
        workedMs += performance.now() - startMs;
      }
    } finally {
      await file.close();
    }
  } catch {
    // A system without the table, or without IPv6.
    return workedMs;
  }
}

/** @param hex - Words of four bytes, each in the order of the machine, which is little-endian. */
function addressOfHex(hex: string): string {
  const bytes = Buffer.from(hex, "hex").swap32();
  if (bytes.length === 4) return bytes.join(".");
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16));
  return groups.join(":");
}
