/**
 * Which addresses deliveries may go to. A caller chooses the address, so without this rule the
 * server would send requests into the operator's own network.
 */
import { BlockList, isIP } from "node:net";
import type { FieldError } from "../../engine/results.ts";
import {
  BOOLEAN,
  integer,
  list,
  LOCAL_DATE_TIME,
  LONG,
  object,
  oneOf,
  orNull,
  TEXT,
  UUID,
  WEBHOOK_TYPE,
  whenSet,
} from "../../engine/schema.ts";

/** The IPv4 networks IANA lists as not global, and multicast. */
const PRIVATE_IPV4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
];
/**
 * Everything outside of 2000::/3, so loopback, mapped addresses, NAT64, local addresses and
 * multicast; and in it protocol assignments with Teredo, documentation, and 6to4.
 */
const PRIVATE_IPV6 = [
  "::/3",
  "4000::/2",
  "8000::/1",
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20",
];

// Not one list for both: networks of IPv6 match addresses of IPv4 as if these were mapped.
const LOCAL_IPV4 = listOf(PRIVATE_IPV4, "ipv4");
const LOCAL_IPV6 = listOf(PRIVATE_IPV6, "ipv6");

function listOf(networks: readonly string[], family: "ipv4" | "ipv6"): BlockList {
  const blocks = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    blocks.addSubnet(address, Number(bits), family);
  }
  return blocks;
}

/** @param address - A literal address, without brackets or zone. */
export function isGlobal(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !LOCAL_IPV4.check(address, "ipv4");
  return family === 6 && !LOCAL_IPV6.check(address, "ipv6");
}

/** The literal address in a URL, without brackets; null for a name. */
export function literalOf({ hostname }: URL): string | null {
  const bare = hostname.replace(/^\[(.*)\]$/, "$1");
  return isIP(bare) === 0 ? null : bare;
}

/** @returns Why nothing can be sent to the URL; null when it can, as far as its text says. */
export function refuseUrl(text: string, allowsPrivate: boolean): FieldError | null {
  const refused = (message: string) => ({
    field: "url",
    code: "URL",
    message,
    rejectedValue: text,
  });
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.hostname === "") return refused("must be an absolute URL");
  const isPlain = url.protocol === "http:";
  if (url.protocol !== "https:" && !(isPlain && allowsPrivate)) {
    return refused(
      allowsPrivate
        ? "must begin with https: or http:"
        : "must begin with https:; http: needs a server with --webhook-private-addresses",
    );
  }
  if (url.username !== "" || url.password !== "") return refused("must not name a user");
  const address = literalOf(url);
  if (address === null || allowsPrivate || isGlobal(address)) return null;
  return refused("must not be an address of a private or special network");
}

// The shapes of the answers about webhooks.

const COUNT = integer({ minimum: 0 });

const WEBHOOK_MEMBERS = {
  id: LONG,
  url: TEXT,
  events: list(WEBHOOK_TYPE),
  eventIds: list(UUID),
  active: BOOLEAN,
  disabledReason: whenSet(TEXT),
};
export const WEBHOOK = object(WEBHOOK_MEMBERS);
/** Stored answers to retries lack the secret. */
export const NEW_WEBHOOK = object({ ...WEBHOOK_MEMBERS, secret: whenSet(TEXT) });
export const WEBHOOK_SECRET = object({ secret: whenSet(TEXT) });
export const RETRY = object({ due: COUNT });
export const TEST_OUTCOME = object({
  status: orNull(COUNT),
  milliseconds: COUNT,
  error: orNull(TEXT),
});
export const DELIVERY = object({
  webhookId: TEXT,
  type: WEBHOOK_TYPE,
  sequence: LONG,
  status: oneOf(["PENDING", "DELIVERED", "FAILED", "DISCARDED"]),
  attempts: COUNT,
  lastStatus: orNull(COUNT),
  nextAt: orNull(LOCAL_DATE_TIME),
});
