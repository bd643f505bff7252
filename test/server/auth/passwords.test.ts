/** Hashing and checking of passwords. */
import { hash as argon2 } from "@node-rs/argon2";
import { expect, test } from "vitest";
import { Passwords } from "../../../server/auth/logins.ts";

test("a hash is argon2id with its own salt, and matches its password only", async () => {
  const passwords = new Passwords();
  const [first, second] = await Promise.all([
    passwords.hash("geheim 🎭"),
    passwords.hash("geheim 🎭"),
  ]);
  expect(first).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(second).not.toBe(first);
  expect(await passwords.isRight(() => first, "geheim 🎭")).toBe(true);
  for (const wrong of ["", "Geheim 🎭", "geheim", "geheim 🎭 "]) {
    expect([wrong, await passwords.isRight(() => first, wrong)]).toEqual([wrong, false]);
  }
});

test("no password is right for an unknown account", async () => {
  const passwords = new Passwords();
  for (const password of ["", "x", "a password that nobody has"]) {
    expect(await passwords.isRight(() => null, password)).toBe(false);
  }
});

test("a check for an unknown account costs as much CPU time as for a known one", async () => {
  const passwords = new Passwords();
  const known = await passwords.hash("right");
  await passwords.isRight(() => null, "warm");
  // CPU time, not elapsed time: the machine may be busy with something else.
  const cost = async (hash: string | null) => {
    const before = process.cpuUsage();
    await passwords.isRight(() => hash, "wrong");
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  const [ofKnown, ofUnknown]: [number[], number[]] = [[], []];
  for (let i = 0; i < 9; i++) {
    ofKnown.push(await cost(known));
    ofUnknown.push(await cost(null));
  }
  const ratio = Math.min(...ofUnknown) / Math.min(...ofKnown);
  expect(ratio).toBeGreaterThan(0.5);
  expect(ratio).toBeLessThan(2);
});

test("passwords are checked one at a time", async () => {
  const passwords = new Passwords();
  const slow = await argon2("x", { memoryCost: 65_536, timeCost: 4 });
  const fast = await argon2("x", { memoryCost: 64, timeCost: 1 });
  const order: string[] = [];
  const check = async (name: string, passwordHash: string) => {
    await passwords.isRight(() => passwordHash, "x");
    order.push(name);
  };
  await Promise.all([check("slow", slow), check("fast", fast)]);
  expect(order).toEqual(["slow", "fast"]);
});

test("a task that fails does not stop the next one", async () => {
  const passwords = new Passwords();
  const broken = passwords.isRight(() => "no hash at all", "x");
  const next = passwords.hash("y");
  await expect(broken).rejects.toThrow(/\w/);
  expect(await next).toMatch(/^\$argon2id/);
});
