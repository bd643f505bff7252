/** Allowed addresses of deliveries. */
import { expect, test } from "vitest";
import { isGlobal, refuseUrl } from "../../../server/webhooks/addresses.ts";

const SPECIAL = [
  "0.0.0.0",
  "10.1.2.3",
  "100.64.0.1",
  "127.0.0.1",
  "169.254.169.254",
  "172.31.255.255",
  "192.0.0.8",
  "192.168.1.1",
  "198.19.0.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::ffff:8.8.8.8",
  "::ffff:127.0.0.1",
  "64:ff9b::7f00:1",
  "64:ff9b:1::1",
  "100::1",
  "2001::1",
  "2001:db8::1",
  "2002:7f00:1::",
  "fc00::1",
  "fe80::1",
  "ff02::1",
];

test.each(SPECIAL)("%s is not global", (address) => {
  expect(isGlobal(address)).toBe(false);
});

const GLOBAL = ["8.8.8.8", "100.63.255.255", "172.32.0.1", "223.255.255.255", "2606:4700::1111"];

test.each(GLOBAL)("%s is global", (address) => {
  expect(isGlobal(address)).toBe(true);
});

test.each([
  "https://odeon.example/hook",
  "https://odeon.example:8443/hook?shop=1",
  "https://8.8.8.8/",
  "https://[2606:4700::1111]/",
])("%s may be named", (url) => {
  expect(refuseUrl(url, false)).toBeNull();
});

test.each([
  ["odeon.example/hook", "absolute"],
  ["https://", "absolute"],
  ["http://odeon.example/", "--webhook-private-addresses"],
  ["ftp://odeon.example/", "https:"],
  ["https://ann@odeon.example/", "user"],
  ["https://:secret@odeon.example/", "user"],
  ["https://127.0.0.1/", "special network"],
  ["https://127.1/", "special network"],
  ["https://0x7f000001/", "special network"],
  ["https://2130706433/", "special network"],
  ["https://[::1]/", "special network"],
  ["https://[::ffff:10.0.0.1]/", "special network"],
])("%s is refused, and why is said", (url, message) => {
  const refused = { field: "url", code: "URL", rejectedValue: url };
  expect(refuseUrl(url, false)).toMatchObject({
    ...refused,
    message: expect.stringContaining(message) as string,
  });
});

test("with the option, private addresses and plain HTTP may be named, but no user", () => {
  expect(refuseUrl("http://127.0.0.1:8080/", true)).toBeNull();
  expect(refuseUrl("https://[::1]/", true)).toBeNull();
  expect(refuseUrl("ftp://127.0.0.1/", true)).not.toBeNull();
  expect(refuseUrl("http://ann@127.0.0.1/", true)).not.toBeNull();
});
