/** Accounts and their logins. */
import { expect, test } from "vitest";
import { accountsByEmail, emailKey } from "../../../engine/queries/access.ts";
import { LOGINS_PER_ACCOUNT_MAX } from "../../../engine/constants.ts";
import { Result } from "../../../engine/results.ts";
import { checkState } from "../../../engine/verify.ts";
import { Bench, START_MS } from "../../support/engine.ts";

const tokens = (name: string, endsMs: number) => ({
  tokenSha256: `token ${name}`,
  tokenExpiresAtMs: START_MS,
  refreshSha256: `refresh ${name}`,
  refreshExpiresAtMs: endsMs,
});

test("emails that differ only in letter case or Unicode composition are equal", () => {
  expect(emailKey("Ada@House.Example")).toBe(emailKey("ada@house.example"));
  expect(emailKey("ame\u0301lie@x.example")).toBe(emailKey("am\u00E9lie@x.example"));
  expect(emailKey("\u00C9@x.example")).toBe(emailKey("\u00E9@x.example"));
  expect(emailKey("e@x.example")).not.toBe(emailKey("\u00E9@x.example"));
});

test("an account is found by its email", () => {
  const bench = new Bench();
  bench.createTenant("One");
  bench.createTenant("Two");
  const found = accountsByEmail(bench.engine.state, "ADMIN@two.example");
  expect(found.map(({ email }) => email)).toEqual(["admin@two.example"]);
  expect(accountsByEmail(bench.engine.state, "nobody@two.example")).toEqual([]);
});

test("a login is opened, renewed in place, and closed only once", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  const { logins } = bench.engine.state.catalog;
  const login = bench.must("openLogin", tenant, {
    accountId: 2,
    tokens: tokens("first", START_MS + 10),
  });
  expect(logins.get(login.id)).toMatchObject({ accountId: 2, tokenSha256: "token first" });
  const renewed = bench.must("renewLogin", tenant, {
    loginId: login.id,
    tokens: tokens("second", START_MS + 20),
  });
  expect(renewed).toMatchObject({ id: login.id, accountId: 2, refreshSha256: "refresh second" });
  expect(logins.size).toBe(1);
  bench.must("closeLogin", tenant, { loginId: login.id });
  expect(logins.size).toBe(0);
  for (const outcome of [
    bench.submit("closeLogin", tenant, { loginId: login.id }),
    bench.submit("renewLogin", tenant, { loginId: login.id, tokens: tokens("third", START_MS) }),
  ]) {
    expect(outcome.refused).toBe(Result.ENTITY_NOT_FOUND);
  }
});

test("logins that a caller opens with the same hashes can be closed", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  const open = () =>
    bench.must("openLogin", tenant, { accountId: 2, tokens: tokens("same", START_MS + 10) }).id;
  for (const loginId of [open(), open()]) {
    expect(() => checkState(bench.engine.state)).not.toThrow();
    bench.must("closeLogin", tenant, { loginId });
  }
  expect(bench.engine.state.catalog.logins.size).toBe(0);
});

test("opening a login removes the expired logins of the same account, and no others", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  bench.createTenant("Other");
  const [first, second] = [...bench.engine.state.catalog.accounts.keys()];
  const open = (accountId: number, name: string, endsMs: number) =>
    bench.must("openLogin", tenant, { accountId, tokens: tokens(name, endsMs) });
  const nobody = { accountId: 99, tokens: tokens("nobody", START_MS + 10) };
  expect(bench.submit("openLogin", tenant, nobody).refused).toBe(Result.ENTITY_NOT_FOUND);
  open(first!, "over", START_MS + 10);
  open(first!, "alive", START_MS + 11);
  open(second!, "other", START_MS + 10);
  bench.clock.timeMs += 10;
  open(first!, "new", START_MS + 50);
  const names = [...bench.engine.state.catalog.logins.values()].map((login) => login.tokenSha256);
  expect(names).toEqual(["token alive", "token other", "token new"]);
});

test("an account has a thousand logins at most: the oldest is closed for the next one", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  bench.createTenant("Other");
  const { accounts, logins } = bench.engine.state.catalog;
  const [first, second] = [...accounts.keys()];
  const open = (accountId: number, name: string) =>
    bench.must("openLogin", tenant, { accountId, tokens: tokens(name, START_MS + 10) }).id;
  const other = open(second!, "other");
  const ids = Array.from({ length: LOGINS_PER_ACCOUNT_MAX }, (_, i) => open(first!, `login ${i}`));
  expect(logins.size).toBe(LOGINS_PER_ACCOUNT_MAX + 1);
  const newest = open(first!, "newest");
  expect([...logins.keys()]).toEqual([other, ...ids.slice(1), newest]);
});
