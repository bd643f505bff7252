/** The address of a client, directly and behind proxies. */
import { expect, test } from "vitest";
import { networkOf, sourceOf, TrustedProxies } from "../../../server/http/client-address.ts";
import { BAD_KEYS_MAX } from "../../support/server.ts";
import { Listening } from "./connection.ts";

const PROXY = "10.0.0.1";

/** Situation, trusted proxies, `X-Forwarded-For`, client. */
const CASES: readonly (readonly [string, string, string, string])[] = [
  ["an address that is not trusted", "10.0.0.2", "198.51.100.7", PROXY],
  ["a trusted proxy", PROXY, "198.51.100.7", "198.51.100.7"],
  ["a trusted proxy without the header", PROXY, "", PROXY],
  ["a trusted proxy, after a claim of the client", PROXY, "1.1.1.1, 2.2.2.2", "2.2.2.2"],
  ["two trusted proxies", "10.0.0.0/8", "3.3.3.3,10.9.9.9", "3.3.3.3"],
  ["two trusted proxies, without a client", "10.0.0.0/8", "10.9.9.9", "10.9.9.9"],
  ["a trusted proxy that adds the port", PROXY, "203.0.113.66:50001", "203.0.113.66"],
  ["a trusted proxy that adds the port of IPv6", PROXY, "[2001:db8::1]:4711", "2001:db8::1"],
  ["a trusted proxy with brackets", PROXY, "[2001:db8::1]", "2001:db8::1"],
  ["a trusted proxy with quotes", PROXY, '"[2001:db8::1]:4711"', "2001:db8::1"],
  ["a trusted proxy with quotes and no port", PROXY, ' "2001:db8::1" ', "2001:db8::1"],
  ["two trusted proxies with ports", "10.0.0.0/8", "3.3.3.3:1,10.9.9.9:65535", "3.3.3.3"],
  ["a trusted proxy that sends a port of six digits", PROXY, "203.0.113.66:500010", PROXY],
  ["a trusted proxy that hides the client", PROXY, "unknown", PROXY],
];

test.each(CASES)("the client of a request through %s", (...given) => {
  const [, trusted, forwardedFor, client] = given;
  expect(new TrustedProxies([trusted]).clientOf(PROXY, forwardedFor)).toBe(client);
});

test("without trusted proxies the client is the address of the connection", () => {
  expect(new TrustedProxies([]).clientOf(PROXY, "198.51.100.7")).toBe(PROXY);
});

test("addresses are compared whatever their notation", () => {
  const long = "0000:0000:0000:0000:0000:0000:0000:0001";
  expect(new TrustedProxies(["::1"]).clientOf(long, "2001:db8::7")).toBe("2001:db8::7");
  const mapped = "0000:0000:0000:0000:0000:ffff:7f00:0001";
  expect(new TrustedProxies(["127.0.0.1"]).clientOf(mapped, "1.1.1.1")).toBe("1.1.1.1");
});

test("limits count an IPv4 address, the /64 of an IPv6 one, and networks of neighbours", () => {
  const parts = (address: string) => [sourceOf(address), networkOf(address)];
  expect(parts("192.0.2.7")).toEqual(["192.0.2.7", "192.0.2"]);
  for (const mapped of ["::ffff:192.0.2.7", "0000:0000:0000:0000:0000:ffff:c000:0207"]) {
    expect(parts(mapped)).toEqual(["192.0.2.7", "192.0.2"]);
  }
  for (const same of [
    "2001:db8::7",
    "2001:0db8:0000:0000:ffff:0000:0000:0001",
    "2001:DB8::%eth0",
  ]) {
    expect(parts(same)).toEqual(["2001:db8:0:0::/64", "2001:db8:0:0::/64"]);
  }
  expect(parts("::1")[0]).toBe("0:0:0:0::/64");
  expect(parts("")).toEqual(["", ""]);
});

/** Sends a request without a valid key. @returns Its status. */
async function guess({ base }: Listening, ...forwarded: readonly string[]): Promise<number> {
  const url = `${base}/api/private/v2.0/venues/`;
  const headers = forwarded.map((hop): [string, string] => ["X-Forwarded-For", hop]);
  return (await fetch(url, { headers: [["X-API-Key", "wrong"], ...headers] })).status;
}

/** Uses up the bad keys of an address. */
function exhaust({ server }: Listening, address: string): void {
  const { badKeys, engine } = server.services;
  for (let i = 0; i < BAD_KEYS_MAX; i++) badKeys.failed(address, engine.nowMs());
}

test("bad keys behind a trusted proxy are counted for each client", async () => {
  const listening = await Listening.start({ trustedProxies: ["127.0.0.1"] });
  exhaust(listening, "1.1.1.1");
  expect(await guess(listening, "1.1.1.1")).toBe(429);
  expect(await guess(listening, "2.2.2.2, 1.1.1.1")).toBe(429);
  expect(await guess(listening, "2.2.2.2", "1.1.1.1")).toBe(429);
  expect(await guess(listening, "2.2.2.2")).toBe(403);
  expect(await guess(listening)).toBe(403);
});

test("without a trusted proxy a client cannot choose its address", async () => {
  const listening = await Listening.start();
  exhaust(listening, "127.0.0.1");
  expect(await guess(listening, "2.2.2.2")).toBe(429);
});

test("the first X-Forwarded-For of an address that is not trusted is reported, no other", async () => {
  const reported: string[] = [];
  const onUntrustedProxy = (address: string) => void reported.push(address);
  const { base } = await Listening.start({ onUntrustedProxy });
  const health = (headers = {}) => fetch(`${base}/healthz`, { headers });
  await health();
  expect(reported).toEqual([]);
  for (const hop of ["2.2.2.2", "3.3.3.3"]) await health({ "X-Forwarded-For": hop });
  expect(reported).toEqual(["127.0.0.1"]);
  // Beside named proxies, where the address of a client matters.
  const others = await Listening.start({ onUntrustedProxy, trustedProxies: ["10.0.0.1"] });
  for (const hop of ["2.2.2.2", "3.3.3.3"]) await guess(others, hop);
  const trusted = await Listening.start({ onUntrustedProxy, trustedProxies: ["127.0.0.1"] });
  await guess(trusted, "2.2.2.2");
  expect(reported).toEqual(["127.0.0.1", "127.0.0.1"]);
});
