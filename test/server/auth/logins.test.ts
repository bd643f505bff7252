/** Logins: their tokens, their time, and what of them is kept. */
import { expect, test } from "vitest";
import { Admission } from "../../../engine/ports.ts";
import { sha256 } from "../../../server/auth/keys.ts";
import { type Opened, LoginRefusal, Logins } from "../../../server/auth/logins.ts";
import { Passwords } from "../../../server/auth/passwords.ts";
import { Bench } from "../../support/engine.ts";

const EMAIL = "admin@tenant.example";
const HOUR_MS = 3_600_000;

/** Quick: the password is right when it is the hash. */
class PlainPasswords extends Passwords {
  override isRight(passwordHash: string | null, password: string): Promise<boolean> {
    return Promise.resolve(passwordHash === password);
  }
}

class Desk extends Bench {
  readonly logins = new Logins(this.engine, new PlainPasswords());

  constructor() {
    super();
    this.createTenant();
  }

  async open(password = "hash"): Promise<Opened> {
    const opened = await this.logins.open(EMAIL, password);
    if (typeof opened === "string") throw new Error(opened);
    return opened;
  }

  get stored() {
    return [...this.engine.state.catalog.logins.values()];
  }
}

test("a login keeps only the hashes of its tokens, and when they end", async () => {
  const desk = new Desk();
  const { account, token, refreshToken } = await desk.open();
  expect(account.email).toBe(EMAIL);
  const { timeMs } = desk.clock;
  expect(desk.stored).toEqual([
    {
      id: expect.any(Number) as number,
      accountId: account.id,
      tokenSha256: sha256(token),
      tokenExpiresAtMs: timeMs + HOUR_MS,
      refreshSha256: sha256(refreshToken),
      refreshExpiresAtMs: timeMs + 720 * HOUR_MS,
    },
  ]);
});

test("tokens are never the same twice", async () => {
  const desk = new Desk();
  const tokens = new Set<string>();
  for (let i = 0; i < 20; i++) {
    const { token, refreshToken } = await desk.open();
    tokens.add(token).add(refreshToken);
  }
  expect(tokens.size).toBe(40);
});

test("a token is its account's until the hour is over, by the engine's clock", async () => {
  const desk = new Desk();
  const { token, refreshToken, account } = await desk.open();
  expect(desk.logins.accountOf(token)).toEqual(account);
  for (const other of [refreshToken, "", sha256(token), `${token} `]) {
    expect(desk.logins.accountOf(other)).toBeNull();
  }
  desk.clock.timeMs += HOUR_MS - 1;
  expect(desk.logins.accountOf(token)).toEqual(account);
  desk.clock.timeMs += 1;
  expect(desk.logins.accountOf(token)).toBeNull();
  desk.clock.timeMs -= HOUR_MS;
  expect(desk.logins.accountOf(token)).toBeNull();
});

test("a refresh renews both tokens of the same login", async () => {
  const desk = new Desk();
  const old = await desk.open();
  desk.clock.timeMs += 10 * HOUR_MS;
  const renewed = desk.logins.refresh(old.refreshToken) as Opened;
  expect(desk.stored.length).toBe(1);
  expect(desk.logins.accountOf(renewed.token)?.email).toBe(EMAIL);
  expect(desk.logins.refresh(old.refreshToken)).toBe(LoginRefusal.WRONG);
  desk.clock.timeMs += 720 * HOUR_MS;
  expect(desk.logins.refresh(renewed.refreshToken)).toBe(LoginRefusal.WRONG);
});

test("a closed login is gone, and closes once", async () => {
  const desk = new Desk();
  const { token, refreshToken } = await desk.open();
  expect(desk.logins.close("unknown")).toBe(LoginRefusal.WRONG);
  expect(desk.logins.close(refreshToken)).toBeNull();
  expect(desk.stored).toEqual([]);
  expect(desk.logins.accountOf(token)).toBeNull();
  expect(desk.logins.close(refreshToken)).toBe(LoginRefusal.WRONG);
});

test("logins that ran out are dropped by the account's next one", async () => {
  const desk = new Desk();
  await desk.open();
  desk.clock.timeMs += 720 * HOUR_MS;
  const { token } = await desk.open();
  expect(desk.stored.map(({ tokenSha256 }) => tokenSha256)).toEqual([sha256(token)]);
});

test("a right password forgives the wrong ones before it", async () => {
  const desk = new Desk();
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 4; i++) {
      expect(await desk.logins.open(EMAIL, "wrong")).toBe(LoginRefusal.WRONG);
    }
    await desk.open();
  }
});

test("an address that nobody has is throttled like any other", async () => {
  const desk = new Desk();
  for (let i = 0; i < 5; i++) {
    expect(await desk.logins.open("x@y", "hash")).toBe(LoginRefusal.WRONG);
  }
  expect(await desk.logins.open("X@Y", "hash")).toBe(LoginRefusal.THROTTLED);
  await desk.open();
});

test("nothing is opened, renewed or closed while the log takes no records", async () => {
  const desk = new Desk();
  const { refreshToken, token } = await desk.open();
  desk.journal.admits = Admission.UNAVAILABLE;
  expect(await desk.logins.open(EMAIL, "hash")).toBe(LoginRefusal.UNAVAILABLE);
  expect(desk.logins.refresh(refreshToken)).toBe(LoginRefusal.UNAVAILABLE);
  expect(desk.logins.close(refreshToken)).toBe(LoginRefusal.UNAVAILABLE);
  expect(desk.logins.accountOf(token)?.email).toBe(EMAIL);
});
