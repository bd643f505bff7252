/** Password hashes. */
import { expect, test } from "vitest";
import { Passwords } from "../../server/passwords.ts";

test("a hash is argon2id with its own salt, and only the password fits it", async () => {
  const passwords = new Passwords();
  const [first, second] = await Promise.all([
    passwords.hash("geheim 🎭"),
    passwords.hash("geheim 🎭"),
  ]);
  expect(first).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(second).not.toBe(first);
  expect(await passwords.isRight(first, "geheim 🎭")).toBe(true);
  for (const wrong of ["", "Geheim 🎭", "geheim", "geheim 🎭 "]) {
    expect([wrong, await passwords.isRight(first, wrong)]).toEqual([wrong, false]);
  }
});

test("no password is right for an account that nobody has, not even the decoy's", async () => {
  const passwords = new Passwords();
  for (const password of ["", "x", "a password that nobody has"]) {
    expect(await passwords.isRight(null, password)).toBe(false);
  }
});

test("an unknown account takes about as long as a known one", async () => {
  const passwords = new Passwords();
  const known = await passwords.hash("right");
  await passwords.isRight(null, "warm");
  // The processor's time: that of the clock depends on what else the machine does.
  const time = async (hash: string | null) => {
    const start = process.cpuUsage();
    await passwords.isRight(hash, "wrong");
    const { user, system } = process.cpuUsage(start);
    return user + system;
  };
  const [ofKnown, ofUnknown]: [number[], number[]] = [[], []];
  for (let i = 0; i < 9; i++) {
    ofKnown.push(await time(known));
    ofUnknown.push(await time(null));
  }
  const fastest = (times: readonly number[]) => Math.min(...times);
  expect(fastest(ofUnknown) / fastest(ofKnown)).toBeGreaterThan(0.5);
  expect(fastest(ofUnknown) / fastest(ofKnown)).toBeLessThan(2);
});

test("a failed task does not stop those behind it", async () => {
  const passwords = new Passwords();
  const broken = passwords.isRight("no hash at all", "x");
  const next = passwords.hash("y");
  await expect(broken).rejects.toThrow(/\w/);
  expect(await next).toMatch(/^\$argon2id/);
});
