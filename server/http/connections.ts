/**
 * The connections of a server: how many are open, and a share of them for each address. The library
 * tells the address of a connection that opens, but not of one that closes, so the system is asked
 * who has how many: only while more than half are open.
 */
import { createReadStream } from "node:fs";
import { sourceOf, type TrustedProxies } from "./client-address.ts";

/** Below so many of one address none is refused for its share. */
export const SHARE_MIN = 64;
/** An address may have a quarter of all, once half are open. */
const SHARES = 4;
/** Between two looks at the system: milliseconds. */
const LOOK_MS = 1_000;
/** Connections of TCP by version; Linux only. Elsewhere no address has a share. */
const TABLES = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
/** Local port, address of the other end, state. */
const ROW = /^ *\d+: [\dA-F]+:([\dA-F]{4}) ([\dA-F]+):[\dA-F]{4} ([\dA-F]{2})/;
const ESTABLISHED = "01";

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
  readonly #share: number;
  /** By address, as of the last look, and those that have opened since. */
  #bySource = new Map<string, number>();
  /** The address with most of them; null before the first look. */
  #greediest: string | null = null;
  #lookedMs = -Infinity;

  constructor(connectionsMax: number, proxies: TrustedProxies) {
    this.connectionsMax = connectionsMax;
    this.#proxies = proxies;
    this.#share = Math.max(SHARE_MIN, Math.floor(connectionsMax / SHARES));
  }

  /** Refuses connections above the limit: each takes a file descriptor, and the log needs some. */
  watch(app: unknown): void {
    (app as Filters).filter((connection, change) => {
      this.connections += change;
      if (change < 0 || this.#admits(connection)) return;
      this.connectionsRefused += 1;
      connection.close();
    });
  }

  #admits(connection: OpenedConnection): boolean {
    if (this.connections > this.connectionsMax) return false;
    if (this.connections <= this.connectionsMax / 2) return true;
    this.#look();
    const address = textOf(connection);
    if (this.#proxies.trusts(address)) return true;
    const source = sourceOf(address);
    const count = (this.#bySource.get(source) ?? 0) + 1;
    if (count > this.#share) return false;
    this.#bySource.set(source, count);
    return true;
  }

  /**
   * All connections are open, and this one is of the address with most: closed after its answer, it
   * makes room. Those without a request are closed by the library within ten seconds.
   */
  sheds(connection: OpenedConnection): boolean {
    if (this.connections < this.connectionsMax || this.connectionsMax <= SHARE_MIN) return false;
    this.#look();
    const address = textOf(connection);
    const isShed = sourceOf(address) === this.#greediest && !this.#proxies.trusts(address);
    if (isShed) this.connectionsShed += 1;
    return isShed;
  }

  /** Asks the system, unless it was asked lately. */
  #look(): void {
    const nowMs = performance.now();
    if (nowMs - this.#lookedMs < LOOK_MS) return;
    this.#lookedMs = nowMs;
    void connectionsBySource(this.port).then((bySource) => {
      const all = [...bySource].filter(([source]) => !this.#proxies.trusts(source));
      const [first] = all.toSorted(([, a], [, b]) => b - a);
      this.#bySource = bySource;
      this.#greediest = first?.[0] ?? null;
      return bySource;
    });
  }
}

function textOf(connection: OpenedConnection): string {
  return Buffer.from(connection.getRemoteAddressAsText()).toString();
}

/** Cost: about a microsecond for each connection of the machine, in pieces of 64 KiB. */
async function connectionsBySource(port: number): Promise<Map<string, number>> {
  const local = port.toString(16).toUpperCase().padStart(4, "0");
  const byHex = new Map<string, number>();
  await Promise.all(TABLES.map((table) => countRows(table, local, byHex)));
  const bySource = new Map<string, number>();
  for (const [hex, count] of byHex) {
    const source = sourceOf(addressOfHex(hex));
    bySource.set(source, (bySource.get(source) ?? 0) + count);
  }
  return bySource;
}

async function countRows(table: string, local: string, byHex: Map<string, number>): Promise<void> {
  let rest = "";
  try {
    for await (const chunk of createReadStream(table, "latin1")) {
      const lines = `${rest}${chunk as string}`.split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        const [, port, hex = "", state] = ROW.exec(line) ?? [];
        if (port !== local || state !== ESTABLISHED) continue;
        byHex.set(hex, (byHex.get(hex) ?? 0) + 1);
      }
    }
  } catch {
    // A system without the table, or without IPv6.
  }
}

/** @param hex - Words of four bytes, each in the order of the machine, which is little-endian. */
function addressOfHex(hex: string): string {
  const bytes = Buffer.from(hex, "hex").swap32();
  if (bytes.length === 4) return bytes.join(".");
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16));
  return groups.join(":");
}
