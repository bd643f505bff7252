/** Logins: the lifetime of their tokens, and what is stored of them. */
import { expect, test } from "vitest";
import { Admission } from "../../../engine/ports.ts";
import { Keys, sha256 } from "../../../server/auth/keys.ts";
import { LoginRefusal, Logins, type Opened, Passwords } from "../../../server/auth/logins.ts";
import { Throttle } from "../../../server/auth/limits.ts";
import { Bench } from "../../support/engine.ts";
import { ADDRESS } from "../../support/answers/exchange.ts";
import { BAD_LOGINS_MAX, TEST_SECRET } from "../../support/server.ts";

const EMAIL = "admin@tenant.example";
const HOUR_MS = 3_600_000;
const DAYS_30_MS = 30 * 24 * HOUR_MS;

/** Compares the password with the stored hash itself, which takes no time. */
class PlainPasswords extends Passwords {
  override isRight(passwordHash: string | null, password: string): Promise<boolean> {
    return Promise.resolve(passwordHash === password);
  }
}

/** An engine with one account, whose password is `hash`. */
class Office extends Bench {
  readonly logins = new Logins(
    this.engine,
    new PlainPasswords(),
    new Keys(TEST_SECRET, this.engine.state.catalog),
    new Throttle(BAD_LOGINS_MAX),
  );

  constructor() {
    super();
    this.createTenant();
  }

  async open(): Promise<Opened> {
    const opened = await this.logins.open({ username: EMAIL, password: "hash" }, ADDRESS);
    if (typeof opened === "string") throw new Error(opened);
    return opened;
  }

  get stored() {
    return [...this.engine.state.catalog.logins.values()];
  }
}

test("a stored login has only the hashes of its tokens, and their ends", async () => {
  const office = new Office();
  const { account, token, refreshToken } = await office.open();
  expect(account.email).toBe(EMAIL);
  const { timeMs } = office.clock;
  expect(office.stored).toEqual([
    {
      id: expect.any(Number) as number,
      accountId: account.id,
      tokenSha256: sha256(token),
      tokenExpiresAtMs: timeMs + HOUR_MS,
      refreshSha256: sha256(refreshToken),
      refreshExpiresAtMs: timeMs + DAYS_30_MS,
    },
  ]);
});

test("no two tokens are equal", async () => {
  const office = new Office();
  const tokens = new Set<string>();
  for (let i = 0; i < 20; i++) {
    const { token, refreshToken } = await office.open();
    tokens.add(token).add(refreshToken);
  }
  expect(tokens.size).toBe(40);
});

test("an access token is valid for exactly an hour, and only for access", async () => {
  const office = new Office();
  const { token, refreshToken, account } = await office.open();
  const { logins, clock } = office;
  expect(logins.accountOf(token)).toEqual(account);
  for (const other of [refreshToken, "", sha256(token), `${token} `]) {
    expect(logins.accountOf(other)).toBeNull();
  }
  expect(logins.refresh(token)).toBe(LoginRefusal.WRONG);
  expect(logins.close(token)).toBe(LoginRefusal.WRONG);
  clock.timeMs += HOUR_MS - 1;
  expect(logins.accountOf(token)).toEqual(account);
  clock.timeMs += 1;
  expect(logins.accountOf(token)).toBeNull();
  // The engine's time does not step back with the clock.
  clock.timeMs -= HOUR_MS;
  expect(logins.accountOf(token)).toBeNull();
});

test("a refresh token is valid for exactly thirty days", async () => {
  const office = new Office();
  const [first, second] = [await office.open(), await office.open()];
  office.clock.timeMs += DAYS_30_MS - 1;
  expect(office.logins.refresh(first.refreshToken)).toMatchObject({ account: { email: EMAIL } });
  office.clock.timeMs += 1;
  expect(office.logins.refresh(second.refreshToken)).toBe(LoginRefusal.WRONG);
});

test("a refresh renews both tokens of the login and ends the old ones", async () => {
  const office = new Office();
  const old = await office.open();
  office.clock.timeMs += 240 * HOUR_MS;
  const renewed = office.logins.refresh(old.refreshToken) as Opened;
  expect(office.stored.length).toBe(1);
  expect(office.logins.accountOf(renewed.token)?.email).toBe(EMAIL);
  expect(office.logins.refresh(old.refreshToken)).toBe(LoginRefusal.WRONG);
  office.clock.timeMs += DAYS_30_MS;
  expect(office.logins.refresh(renewed.refreshToken)).toBe(LoginRefusal.WRONG);
});

test("a correct password resets the count of wrong ones", async () => {
  const office = new Office();
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 4; i++) {
      expect(await office.logins.open({ username: EMAIL, password: "wrong" }, ADDRESS)).toBe(
        LoginRefusal.WRONG,
      );
    }
    await office.open();
  }
});

test("wrong passwords for an unknown email are limited, too", async () => {
  const office = new Office();
  for (let i = 0; i < 5; i++) {
    expect(await office.logins.open({ username: "x@y", password: "hash" }, ADDRESS)).toBe(
      LoginRefusal.WRONG,
    );
  }
  expect(await office.logins.open({ username: "X@Y", password: "hash" }, ADDRESS)).toBe(
    LoginRefusal.THROTTLED,
  );
  await office.open();
});

test("while the log takes no records, logins can be used but not changed", async () => {
  const office = new Office();
  const { refreshToken, token } = await office.open();
  office.journal.admits = Admission.UNAVAILABLE;
  expect(await office.logins.open({ username: EMAIL, password: "hash" }, ADDRESS)).toBe(
    LoginRefusal.UNAVAILABLE,
  );
  expect(office.logins.refresh(refreshToken)).toBe(LoginRefusal.UNAVAILABLE);
  expect(office.logins.close(refreshToken)).toBe(LoginRefusal.UNAVAILABLE);
  expect(office.logins.accountOf(token)?.email).toBe(EMAIL);
});

test("a refresh token that is used twice ends its login, and no other", async () => {
  const office = new Office();
  const first = await office.open();
  const other = await office.open();
  const second = office.logins.refresh(first.refreshToken) as Opened;
  const third = office.logins.refresh(second.refreshToken) as Opened;
  expect(office.logins.accountOf(third.token)?.email).toBe(EMAIL);
  expect(office.logins.refresh(first.refreshToken)).toBe(LoginRefusal.WRONG);
  expect(office.logins.accountOf(third.token)).toBeNull();
  expect(office.logins.refresh(third.refreshToken)).toBe(LoginRefusal.WRONG);
  expect(office.logins.accountOf(other.token)?.email).toBe(EMAIL);
  expect([office.stored.length, office.logins.revoked]).toEqual([1, 1]);
});

test("a logout with a refresh token that was replaced ends the login too", async () => {
  const office = new Office();
  const first = await office.open();
  const second = office.logins.refresh(first.refreshToken) as Opened;
  expect(office.logins.close(first.refreshToken)).toBe(LoginRefusal.WRONG);
  expect(office.logins.accountOf(second.token)).toBeNull();
});

test("a forged, an earlier-version or an expired refresh token ends no login", async () => {
  const office = new Office();
  const { refreshToken, token } = await office.open();
  const [id = "", random = "", signature = ""] = refreshToken.split(".");
  const other = random.replace(/./, (first) => (first === "a" ? "b" : "a"));
  const foreign = new Keys("00".repeat(32), office.engine.state.catalog);
  const forged = [
    `${id}.${other}.${signature}`,
    `${id}.${other}.${foreign.sign(`${id}.${other}`)}`,
    `${id}.${random}`,
    random,
    "",
  ];
  for (const text of forged) expect(office.logins.refresh(text)).toBe(LoginRefusal.WRONG);
  expect(office.logins.accountOf(token)?.email).toBe(EMAIL);
  office.clock.timeMs += DAYS_30_MS;
  expect(office.logins.refresh(refreshToken)).toBe(LoginRefusal.WRONG);
  expect([office.stored.length, office.logins.revoked]).toEqual([1, 0]);
});

test("a replaced token is recognized in another process, and while the log is full", async () => {
  const office = new Office();
  const first = await office.open();
  const second = office.logins.refresh(first.refreshToken) as Opened;
  const keys = new Keys(TEST_SECRET, office.engine.state.catalog);
  const badLogins = new Throttle(BAD_LOGINS_MAX);
  const next = new Logins(office.engine, new PlainPasswords(), keys, badLogins);
  office.journal.admits = Admission.UNAVAILABLE;
  expect(next.refresh(first.refreshToken)).toBe(LoginRefusal.UNAVAILABLE);
  office.journal.admits = Admission.OPEN;
  expect(next.refresh(first.refreshToken)).toBe(LoginRefusal.WRONG);
  expect(next.accountOf(second.token)).toBeNull();
});
