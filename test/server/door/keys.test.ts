/** Tokens of visitors, and what is derived for a door. */
import { expect, test } from "vitest";
import { DoorSecrets, entryOf, TOKENS_MAX } from "../../../server/door/keys.ts";

const SECRET = "5a".repeat(32);
const CLAIMS = { aud: "event", sub: "visitor", place: 7, iat: 1, exp: 2 };

test("a token → its claims; the same claims → the same token", () => {
  const keys = new DoorSecrets(SECRET);
  const token = keys.sign(1, CLAIMS);
  expect(keys.sign(1, CLAIMS)).toBe(token);
  const read = { aud: "event", entry: entryOf("visitor"), place: 7, exp: 2, isSigned: true };
  for (let i = 0; i < 2; i++) expect(keys.read(token, 1)).toEqual(read);
  expect(keys.read(token, 2)).toMatchObject({ isSigned: false });
  expect(new DoorSecrets("00".repeat(32)).read(token, 1)).toMatchObject({ isSigned: false });
});

test("each character of a token altered → not signed, or no token", () => {
  const keys = new DoorSecrets(SECRET);
  const token = keys.sign(1, CLAIMS);
  for (let at = 0; at < token.length; at++) {
    const other = token[at] === "A" ? "B" : "A";
    const altered = token.slice(0, at) + other + token.slice(at + 1);
    expect([at, keys.read(altered, 1)?.isSigned ?? false]).toEqual([at, false]);
  }
});

test.each(["", ".", "..", "...", "a.b.c", "e30.e30.", "bnVsbA.bnVsbA.", "W10.W10.x", "7.7.7"])(
  "%j → no token",
  (text) => {
    expect(new DoorSecrets(SECRET).read(text, 1)).toBeNull();
  },
);

test("ten thousand tokens are remembered, and then all are forgotten", () => {
  const keys = new DoorSecrets(SECRET);
  for (let place = 1; place <= TOKENS_MAX; place++)
    keys.read(keys.sign(1, { ...CLAIMS, place }), 1);
  expect(keys.remembered).toBe(TOKENS_MAX);
  keys.read(keys.sign(1, { ...CLAIMS, place: 0 }), 1);
  expect(keys.remembered).toBe(1);
  for (let i = 0; i < 100; i++) keys.read(`${keys.sign(1, CLAIMS)}${i}`, 1);
  expect(keys.remembered).toBe(1);
});

test("doors, seeds, keys and customers → different values, the same after a restart", () => {
  const [one, two] = [new DoorSecrets(SECRET), new DoorSecrets(SECRET)];
  const values = (keys: DoorSecrets) => [
    keys.seedOf(1).toString("base64url"),
    keys.seedOf(2).toString("base64url"),
    keys.tokenKeyOf(1),
    keys.tokenKeyOf(2),
    keys.visitorOf(1, "ada"),
    keys.visitorOf(1, "bob"),
    keys.visitorOf(2, "ada"),
  ];
  expect(values(two)).toEqual(values(one));
  expect(new Set(values(one)).size).toBe(7);
  expect(one.visitorOf(1, null)).not.toBe(one.visitorOf(1, null));
});
