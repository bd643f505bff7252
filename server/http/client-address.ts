/** The address of a client, also when its request comes through a trusted proxy. */
import { BlockList, isIP, isIPv6 } from "node:net";

export class TrustedProxies {
  readonly names: readonly string[];
  readonly #proxies = new BlockList();
  #onUntrusted: ((address: string) => void) | null;

  /**
   * @param names - Addresses, or networks such as 10.0.0.0/8.
   * @param onUntrusted - Called once, with the first address that sends the header untrusted: a
   *   proxy that was not named makes one client of all behind it.
   * @throws Error for other text.
   */
  constructor(names: readonly string[], onUntrusted: ((address: string) => void) | null = null) {
    this.names = names;
    this.#onUntrusted = onUntrusted;
    for (const proxy of names) {
      const [address = "", bits, ...rest] = proxy.split("/");
      const family = isIPv6(address) ? "ipv6" : "ipv4";
      if (isIP(address) === 0 || rest.length > 0) throw new Error(`not an address: ${proxy}`);
      if (bits === undefined) this.#proxies.addAddress(address, family);
      else this.#proxies.addSubnet(address, /^\d{1,3}$/.test(bits) ? Number(bits) : -1, family);
    }
  }

  /**
   * Any address that sends the header is untrusted, and none has been reported. With a list of
   * proxies, the first request whose address matters tells: looking at all would be slow.
   */
  get isWatching(): boolean {
    return this.#onUntrusted !== null && this.names.length === 0;
  }

  /** Addresses of proxies stand for many clients. */
  trusts(address: string): boolean {
    return this.names.length > 0 && this.#includes(address);
  }

  /**
   * The last address that is not that of a trusted proxy. What stands before it in the header is
   * what the client itself claims.
   *
   * @param address - That of the connection.
   * @param forwardedFor - The header `X-Forwarded-For`; empty without one.
   */
  clientOf(address: string, forwardedFor: string): string {
    let client = address;
    for (const hop of forwardedFor.split(",").toReversed()) {
      const next = addressOf(hop);
      // In this order: a request seldom has the header, and the list of proxies is slow.
      if (isIP(next) === 0 || !this.#includes(client)) break;
      client = next;
    }
    if (this.#onUntrusted !== null && forwardedFor !== "" && !this.trusts(address)) {
      this.#onUntrusted(address);
      this.#onUntrusted = null;
    }
    return client;
  }

  #includes(address: string): boolean {
    return this.#proxies.check(address, isIPv6(address) ? "ipv6" : "ipv4");
  }
}

/** With a port, as Azure Application Gateway sends it: `192.0.2.7:50001`, `[2001:db8::1]:4711`. */
const HOP = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/;

/** @param hop - A part of the header, perhaps in quotes as RFC 7239, section 6, writes it. */
function addressOf(hop: string): string {
  const text = hop.trim().replace(/^"(.*)"$/, "$1");
  const [, inBrackets, plain] = HOP.exec(text) ?? [];
  return inBrackets ?? plain ?? text;
}

// Units of limits in the address space.

/** The address; of IPv6 its /64, which any client has whole. */
export function sourceOf(address: string): string {
  return partOf(address, 4);
}

/** The /24 of an IPv4 address, and the /64 of an IPv6 one: the neighbours of a client. */
export function networkOf(address: string): string {
  return partOf(address, 3);
}

const DOTTED = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/;
/** Groups of an IPv6 address. */
const GROUPS = 8;
/** Those of an IPv4 address in IPv6: `::ffff:192.0.2.7`. */
const MAPPED = "0:0:0:0:0:ffff";

/** @param bytes - Bytes of an IPv4 address that count. @returns Other text as it is. */
function partOf(address: string, bytes: number): string {
  if (!isIPv6(address)) return address.split(".").slice(0, bytes).join(".");
  const groups = groupsOf(address);
  if (groups.slice(0, 6).join(":") !== MAPPED) return `${groups.slice(0, 4).join(":")}::/64`;
  const dotted = groups.slice(6).flatMap((group) => {
    const number = Number.parseInt(group, 16);
    return [number >> 8, number & 255];
  });
  return dotted.slice(0, bytes).join(".");
}

/** The eight groups without leading zeros. @param address - A valid one, perhaps with a zone. */
function groupsOf(address: string): string[] {
  const [plain = ""] = address.split("%");
  const hex = plain.replace(DOTTED, (_, ...bytes: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
  const [left = [], right = []] = hex.split("::").map((half) => half.split(":").filter(Boolean));
  const zeros = Array.from({ length: GROUPS - left.length - right.length }, () => "0");
  return [...left, ...zeros, ...right].map((group) => Number.parseInt(group, 16).toString(16));
}
