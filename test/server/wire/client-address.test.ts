/** The address of a client, directly and behind proxies. */
import { expect, test } from "vitest";
import { TrustedProxies } from "../../../server/wire/client-address.ts";
import { BAD_KEYS_MAX } from "../../support/server.ts";
import { Listening } from "./connection.ts";

const CASES: readonly (readonly [string, readonly string[], string, string, string])[] = [
  ["without a trusted proxy", [], "10.0.0.1", "198.51.100.7", "10.0.0.1"],
  ["from an address that is not trusted", ["10.0.0.2"], "10.0.0.1", "198.51.100.7", "10.0.0.1"],
  ["from a trusted proxy", ["10.0.0.1"], "10.0.0.1", "198.51.100.7", "198.51.100.7"],
  ["without the header", ["10.0.0.1"], "10.0.0.1", "", "10.0.0.1"],
  ["after a claim of the client", ["10.0.0.1"], "10.0.0.1", "1.1.1.1, 2.2.2.2", "2.2.2.2"],
  ["through two proxies", ["10.0.0.0/8"], "10.0.0.1", "3.3.3.3,10.9.9.9", "3.3.3.3"],
  ["of a trusted network alone", ["10.0.0.0/8"], "10.0.0.1", "10.9.9.9", "10.9.9.9"],
  ["with text in place of an address", ["10.0.0.1"], "10.0.0.1", "unknown", "10.0.0.1"],
  ["of IPv6", ["::1"], "0000:0000:0000:0000:0000:0000:0000:0001", "2001:db8::7", "2001:db8::7"],
  ["of IPv4 in IPv6", ["127.0.0.1"], "::ffff:127.0.0.1", "198.51.100.7", "198.51.100.7"],
];

test.each(CASES)("the client of a request %s", (_, proxies, address, forwardedFor, client) => {
  expect(new TrustedProxies(proxies).clientOf(address, forwardedFor)).toBe(client);
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
