/** The address of a client, also when its request comes through a trusted proxy. */
import { BlockList, isIP, isIPv6 } from "node:net";

export class TrustedProxies {
  readonly names: readonly string[];
  readonly #proxies = new BlockList();

  /** @param names - Addresses, or networks such as 10.0.0.0/8. @throws Error for other text. */
  constructor(names: readonly string[]) {
    this.names = names;
    for (const proxy of names) {
      const [address = "", bits, ...rest] = proxy.split("/");
      const family = isIPv6(address) ? "ipv6" : "ipv4";
      if (isIP(address) === 0 || rest.length > 0) throw new Error(`not an address: ${proxy}`);
      if (bits === undefined) this.#proxies.addAddress(address, family);
      else this.#proxies.addSubnet(address, /^\d{1,3}$/.test(bits) ? Number(bits) : -1, family);
    }
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
