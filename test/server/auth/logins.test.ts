/** Logins: their tokens, their passwords, and the rows under /api/auth. */
import { beforeAll, expect, test } from "vitest";
import { Engine } from "../../../engine/engine.ts";
import { Admission } from "../../../engine/ports.ts";
import { Keys, sha256 } from "../../../server/auth/keys.ts";
import { Throttle } from "../../../server/auth/limits.ts";
import {
  Lane,
  LoginRefusal,
  Logins,
  type Opened,
  Passwords,
  Standing,
  WRONG_PASSWORDS_OF_ALL_MAX,
} from "../../../server/auth/logins.ts";
import { ADDRESS, type Reply } from "../../support/answers/exchange.ts";
import { Bench, MemoryJournal, replayed } from "../../support/engine.ts";
import {
  BAD_LOGINS_MAX,
  type House,
  MANAGEMENT,
  type ServerOptions,
  TEST_SECRET,
  TestServer,
  V2,
} from "../../support/server.ts";
import { Listening, until } from "../wire/connection.ts";
import { NO_ID } from "../wire/wire.ts";

const EMAIL = "admin@tenant.example";
const HOUR_MS = 3_600_000;
const DAYS_30_MS = 30 * 24 * HOUR_MS;

/** Compares the password with the stored hash itself, which takes no time. */
class PlainPasswords extends Passwords {
  override isRight(hashOf: () => string | null | undefined, password: string): Promise<boolean> {
    return Promise.resolve(hashOf() === password);
  }
}

/** An engine with one account, whose password is `hash`. */
class LoginBench extends Bench {
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

  /** The logins of the next process: its engine has replayed all records. */
  restarted(): Logins {
    const state = replayed(this.journal);
    const journal = new MemoryJournal();
    const ports = { clock: this.clock, journal, observer: journal.begin(state) };
    const engine = new Engine(state, { sequence: 0, timeMs: 0 }, ports);
    const keys = new Keys(TEST_SECRET, state.catalog);
    return new Logins(engine, new PlainPasswords(), keys, new Throttle(BAD_LOGINS_MAX));
  }

  get stored() {
    return [...this.engine.state.catalog.logins.values()];
  }
}

test("a stored login has only the hashes of its tokens, and their ends", async () => {
  const office = new LoginBench();
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
  const office = new LoginBench();
  const tokens = new Set<string>();
  for (let i = 0; i < 20; i++) {
    const { token, refreshToken } = await office.open();
    tokens.add(token).add(refreshToken);
  }
  expect(tokens.size).toBe(40);
});

test("an access token is valid for exactly an hour, and only for access", async () => {
  const office = new LoginBench();
  const { token, refreshToken, account } = await office.open();
  const { logins, clock } = office;
  expect(logins.accountOf(token)).toEqual(account);
  for (const other of [refreshToken, "", sha256(token), `${token} `]) {
    expect(logins.accountOf(other)).toBeNull();
  }
  expect(logins.refresh(token, ADDRESS)).toBe(LoginRefusal.WRONG);
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
  const office = new LoginBench();
  const [first, second] = [await office.open(), await office.open()];
  office.clock.timeMs += DAYS_30_MS - 1;
  expect(office.logins.refresh(first.refreshToken, ADDRESS)).toMatchObject({
    account: { email: EMAIL },
  });
  office.clock.timeMs += 1;
  expect(office.logins.refresh(second.refreshToken, ADDRESS)).toBe(LoginRefusal.WRONG);
});

test("a refresh renews both tokens of the login and ends the old ones", async () => {
  const office = new LoginBench();
  const old = await office.open();
  office.clock.timeMs += 240 * HOUR_MS;
  const renewed = office.logins.refresh(old.refreshToken, ADDRESS) as Opened;
  expect(office.stored.length).toBe(1);
  expect(office.logins.accountOf(renewed.token)?.email).toBe(EMAIL);
  expect(office.logins.refresh(old.refreshToken, ADDRESS)).toBe(LoginRefusal.WRONG);
  office.clock.timeMs += DAYS_30_MS;
  expect(office.logins.refresh(renewed.refreshToken, ADDRESS)).toBe(LoginRefusal.WRONG);
});

test("a correct password resets the count of wrong ones", async () => {
  const office = new LoginBench();
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
  const office = new LoginBench();
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
  const office = new LoginBench();
  const { refreshToken, token } = await office.open();
  office.journal.admits = Admission.UNAVAILABLE;
  expect(await office.logins.open({ username: EMAIL, password: "hash" }, ADDRESS)).toBe(
    LoginRefusal.UNAVAILABLE,
  );
  expect(office.logins.refresh(refreshToken, ADDRESS)).toBe(LoginRefusal.UNAVAILABLE);
  expect(office.logins.close(refreshToken)).toBe(LoginRefusal.UNAVAILABLE);
  expect(office.logins.accountOf(token)?.email).toBe(EMAIL);
});

test("a refresh token that is used twice ends its login, and no other", async () => {
  const office = new LoginBench();
  const first = await office.open();
  const other = await office.open();
  const second = office.logins.refresh(first.refreshToken, ADDRESS) as Opened;
  const third = office.logins.refresh(second.refreshToken, ADDRESS) as Opened;
  expect(office.logins.accountOf(third.token)?.email).toBe(EMAIL);
  expect(office.logins.refresh(first.refreshToken, ADDRESS)).toBe(LoginRefusal.WRONG);
  expect(office.logins.accountOf(third.token)).toBeNull();
  expect(office.logins.refresh(third.refreshToken, ADDRESS)).toBe(LoginRefusal.WRONG);
  expect(office.logins.accountOf(other.token)?.email).toBe(EMAIL);
  expect([office.stored.length, office.logins.revoked]).toEqual([1, 1]);
});

test("a logout with a refresh token that was replaced ends the login too", async () => {
  const office = new LoginBench();
  const first = await office.open();
  const second = office.logins.refresh(first.refreshToken, ADDRESS) as Opened;
  expect(office.logins.close(first.refreshToken)).toBe(LoginRefusal.WRONG);
  expect(office.logins.accountOf(second.token)).toBeNull();
});

test("a forged, an earlier-version or an expired refresh token ends no login", async () => {
  const office = new LoginBench();
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
  for (const text of forged) expect(office.logins.refresh(text, ADDRESS)).toBe(LoginRefusal.WRONG);
  expect(office.logins.accountOf(token)?.email).toBe(EMAIL);
  office.clock.timeMs += DAYS_30_MS;
  expect(office.logins.refresh(refreshToken, ADDRESS)).toBe(LoginRefusal.WRONG);
  expect([office.stored.length, office.logins.revoked]).toEqual([1, 0]);
});

test("a replaced token is recognized in another process, and while the log is full", async () => {
  const office = new LoginBench();
  const first = await office.open();
  const second = office.logins.refresh(first.refreshToken, ADDRESS) as Opened;
  const keys = new Keys(TEST_SECRET, office.engine.state.catalog);
  const badLogins = new Throttle(BAD_LOGINS_MAX);
  const next = new Logins(office.engine, new PlainPasswords(), keys, badLogins);
  office.journal.admits = Admission.UNAVAILABLE;
  expect(next.refresh(first.refreshToken, ADDRESS)).toBe(LoginRefusal.UNAVAILABLE);
  office.journal.admits = Admission.OPEN;
  expect(next.refresh(first.refreshToken, ADDRESS)).toBe(LoginRefusal.WRONG);
  expect(next.accountOf(second.token)).toBeNull();
});

test("a restart under guesses → networks of logins are known, those of closed ones too", async () => {
  const office = new LoginBench();
  const [home, cafe] = ["198.51.100.7", "203.0.113.9"];
  const right = { username: EMAIL, password: "hash" };
  const { refreshToken } = (await office.logins.open(right, home)) as Opened;
  const renewed = office.logins.refresh(refreshToken, cafe) as Opened;
  expect(office.logins.close(renewed.refreshToken)).toBeNull();
  expect(JSON.stringify(office.journal.kept)).not.toMatch(/198\.51\.100|203\.0\.113/);
  const next = office.restarted();
  expect(next.knownNetworks).toBe(2);
  for (let i = 0; i < WRONG_PASSWORDS_OF_ALL_MAX; i++) {
    const guess = { username: EMAIL, password: "wrong" };
    expect(await next.open(guess, stranger(i))).toBe(LoginRefusal.WRONG);
  }
  expect(await next.open(right, stranger(200))).toBe(LoginRefusal.THROTTLED);
  expect(await next.open(right, "198.51.100.250")).toMatchObject({ account: { email: EMAIL } });
  expect(await next.open(right, cafe)).toMatchObject({ account: { email: EMAIL } });
  office.clock.timeMs += DAYS_30_MS;
  const later = office.restarted();
  for (let i = 0; i < WRONG_PASSWORDS_OF_ALL_MAX; i++) {
    await later.open({ username: EMAIL, password: "wrong" }, stranger(i));
  }
  expect(await later.open(right, cafe)).toBe(LoginRefusal.THROTTLED);
});

test("an account deleted while its password is checked → the credentials are wrong", async () => {
  const office = new LoginBench();
  const { accounts } = office.engine.state.catalog;
  const opened = office.logins.open({ username: EMAIL, password: "hash" }, ADDRESS);
  const [id] = accounts.keys();
  office.engine.state.catalog.remove({ table: "accounts", key: id! });
  expect(await opened).toBe(LoginRefusal.WRONG);
});

const PASSWORD = "correct horse";
const ADMIN = "root@office.example";
const CLERK = "clerk@house.example";

interface Login {
  readonly success: boolean;
  readonly token: string;
  readonly refreshToken: string;
  readonly user: { readonly id: number; readonly email: string; readonly name: string };
  readonly organizations: readonly { readonly id: number; readonly secretKey: string }[];
  readonly tenantToken?: string;
}

interface Failure {
  readonly success: boolean;
  readonly error: string;
}

let passwordHash = "";
beforeAll(async () => {
  passwordHash = (await new Passwords().hash(PASSWORD))!;
});

/** A server with a third tenant. Its super admin and the clerk of an organization can log in. */
class Office extends TestServer {
  readonly #tenantId: number;
  readonly house: House;
  readonly second: House;

  constructor(options: ServerOptions = {}) {
    super(options);
    const { world } = this;
    const person = { firstName: "Ada", lastName: "Byron", passwordHash };
    const { id } = world.must(
      "createTenant",
      { ...world.tenant, tenantId: 0 },
      {
        name: "Office",
        tokenSha256: null,
        administrator: { ...person, email: ADMIN },
      },
    );
    this.#tenantId = id;
    const caller = { actor: { ...world.tenant.actor, id }, tenantId: id, organizationId: 0 };
    world.must("createOrganization", caller, {
      body: { name: "Opera" },
      administrator: { ...person, email: CLERK },
      publicKey: "00000000-0000-4000-8000-000000000003",
    });
    this.house = this.createHouse(caller, "Delta");
    this.second = this.createHouse(caller, "Echo");
  }

  get token(): string {
    const { keys, engine } = this.services;
    return keys.tenantToken(engine.state.catalog.tenants.get(this.#tenantId)!)!;
  }

  auth<Body = Failure>(call: string, body: unknown): Promise<Reply<Body>> {
    return this.post<Body>(`/api/auth/${call}`, body, {});
  }

  attempt(password: string, username = CLERK, address = ADDRESS) {
    const headers = { "x-forwarded-for": address };
    return this.post<Failure>("/api/auth/login", { username, password }, { headers });
  }

  async logIn(username: string): Promise<Login> {
    const reply = await this.auth<Login>("login", { username, password: PASSWORD });
    expect(reply.status).toBe(200);
    return reply.body;
  }

  user(authorization: string) {
    return this.get<Login["user"]>("/api/auth/user/", { headers: { authorization } });
  }
}

function expectFailure(reply: Reply<unknown>, status: number): void {
  expect(reply.status).toBe(status);
  expect(reply.type).toBe("application/json; charset=utf-8");
  expect(reply.body).toEqual({ success: false, error: expect.stringMatching(/\w/) as string });
}

test("the login of a clerk has the keys of its organizations, but no tenant token", async () => {
  const office = new Office();
  const login = await office.logIn(CLERK);
  const [organization] = login.organizations;
  const token = expect.stringMatching(/^[\w-]{43}$/) as string;
  const id = expect.any(Number) as number;
  expect(login).toEqual({
    success: true,
    token,
    refreshToken: expect.stringMatching(/^\d+(\.[\w-]{43}){2}$/) as string,
    user: { id, email: CLERK, name: "Ada Byron", organizationId: organization!.id },
    organizations: [{ id, name: "Opera", secretKey: expect.stringMatching(/^fro_/) as string }],
  });
  expect(login.token).not.toBe(login.refreshToken);
  const events = await office.get(`${V2}/events/`, { key: organization!.secretKey });
  expect(events.status).toBe(200);
});

test("the login of a super admin has all organizations and the token of the tenant", async () => {
  const office = new Office();
  const login = await office.logIn(ADMIN);
  expect(login.organizations.length).toBe(3);
  expect(login.tenantToken).toBe(office.token);
  const { secretKey } = login.organizations.find(({ id }) => id === office.house.id)!;
  expect(secretKey).toBe(office.house.key);
  const list = await office.get(`${MANAGEMENT}/organizations/`, { key: office.token });
  expect(list.status).toBe(200);
});

test("the user of a login has the id of its first organization", async () => {
  const office = new Office();
  office.world.must("createOrganization", office.house.caller, {
    body: { name: "Ballet" },
    administrator: { email: CLERK, firstName: "", lastName: "", passwordHash },
    publicKey: "00000000-0000-4000-8000-000000000005",
  });
  const { user, organizations } = await office.logIn(CLERK);
  expect(organizations).toMatchObject([{ name: "Opera" }, { name: "Ballet" }]);
  expect(user).toMatchObject({ organizationId: organizations[0]!.id });
});

test("letter case does not matter in the email, but in the password", async () => {
  const office = new Office();
  expect((await office.logIn("CLERK@House.Example")).user.email).toBe(CLERK);
  expectFailure(await office.attempt(PASSWORD.toUpperCase()), 401);
});

test("a wrong password and an unknown account get the same answer", async () => {
  const office = new Office();
  const wrong = await office.attempt("wrong");
  const unknown = await office.attempt(PASSWORD, "x@y.example");
  expectFailure(wrong, 401);
  expectFailure(unknown, 401);
  expect(unknown.text).toBe(wrong.text);
});

test("tokens, keys and passwords are neither in the log nor in the records", async () => {
  const office = new Office();
  const { token, refreshToken } = await office.logIn(CLERK);
  await office.auth("refresh", { refreshToken });
  const everything = JSON.stringify(office.journal.kept) + office.logged.join("");
  for (const secret of [token, refreshToken, PASSWORD, office.token, office.house.key]) {
    expect(everything).not.toContain(secret);
  }
});

test("a refresh has the form of a login and ends both old tokens", async () => {
  const office = new Office();
  const old = await office.logIn(ADMIN);
  const reply = await office.auth<Login>("refresh", { refreshToken: old.refreshToken });
  expect(reply.status).toBe(200);
  expect(Object.keys(reply.body)).toEqual(Object.keys(old));
  const { token, refreshToken, ...rest } = reply.body;
  expect(old).toMatchObject(rest);
  expect((await office.user(`Bearer ${token}`)).status).toBe(200);
  expectFailure(await office.user(`Bearer ${old.token}`), 401);
  expect((await office.auth("refresh", { refreshToken })).status).toBe(200);
});

test("a refresh token that is used twice ends the login", async () => {
  const office = new Office({ hasMetrics: true });
  const old = await office.logIn(ADMIN);
  const { body } = await office.auth<Login>("refresh", { refreshToken: old.refreshToken });
  expectFailure(await office.auth("refresh", { refreshToken: old.refreshToken }), 401);
  expectFailure(await office.auth("refresh", { refreshToken: body.refreshToken }), 401);
  expectFailure(await office.user(`Bearer ${body.token}`), 401);
  const metrics = await office.services.metrics.text();
  expect(metrics).toContain("frontrow_logins_revoked_total 1\n");
});

test("a logout ends both tokens of its login, and of no other", async () => {
  const office = new Office();
  const { token, refreshToken } = await office.logIn(CLERK);
  const second = await office.logIn(CLERK);
  const reply = await office.auth<string>("logout", { refreshToken });
  expect([reply.status, reply.text]).toEqual([204, ""]);
  expectFailure(await office.user(`Bearer ${token}`), 401);
  expectFailure(await office.auth("refresh", { refreshToken }), 401);
  expectFailure(await office.auth("logout", { refreshToken }), 401);
  expect((await office.user(`Bearer ${second.token}`)).status).toBe(200);
  expect(office.engine.state.catalog.logins.size).toBe(1);
});

test("the user is shown for the bearer token of a login only", async () => {
  const office = new Office();
  const { token, user } = await office.logIn(CLERK);
  for (const authorization of ["", token, `Basic ${token}`, "Bearer ", `Bearer ${office.token}`]) {
    expectFailure(await office.user(authorization), 401);
  }
  const shown = await office.user(`bearer  ${token}`);
  expect([shown.status, shown.body]).toMatchObject([200, { id: user.id, email: CLERK }]);
});

test("five wrong passwords within a minute close the account for a minute", async () => {
  const office = new Office();
  for (let i = 0; i < 5; i++) expectFailure(await office.attempt("wrong"), 401);
  const closed = await office.attempt("wrong");
  expectFailure(closed, 429);
  expect(closed.headers["Retry-After"]).toBe("60");
  expectFailure(await office.attempt(PASSWORD), 429);
  expectFailure(await office.attempt(PASSWORD, "CLERK@HOUSE.EXAMPLE"), 429);
  expect((await office.attempt(PASSWORD, ADMIN)).status).toBe(200);
  office.world.clock.timeMs += 59_999;
  expectFailure(await office.attempt(PASSWORD), 429);
  office.world.clock.timeMs += 1;
  expect((await office.attempt(PASSWORD)).status).toBe(200);
});

test("of twelve wrong passwords at the same time, only five are checked", async () => {
  const office = new Office();
  const attempts = Array.from({ length: 12 }, () => office.attempt("wrong"));
  const statuses = (await Promise.all(attempts)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 401).length).toBe(5);
  expect(statuses.filter((status) => status === 429).length).toBe(7);
});

test("fifty right logins at once from one network → all succeed, and none is counted", async () => {
  const office = new Office();
  const attempts = Array.from({ length: 50 }, () => office.attempt(PASSWORD));
  const statuses = (await Promise.all(attempts)).map(({ status }) => status);
  expect(statuses).toEqual(Array.from({ length: 50 }, () => 200));
  for (let i = 0; i < 5; i++) expectFailure(await office.attempt("wrong"), 401);
  expectFailure(await office.attempt("wrong"), 429);
});

test("wrong passwords from one address are counted, whatever the account", async () => {
  const office = new Office();
  for (let i = 0; i < BAD_LOGINS_MAX; i++) {
    // A good login among them neither counts nor helps.
    if (i === 7) expect((await office.attempt(PASSWORD)).status).toBe(200);
    expectFailure(await office.attempt("wrong", `guess-${i}@house.example`), 401);
  }
  const limited = await office.attempt(PASSWORD, ADMIN);
  expectFailure(limited, 429);
  expect(limited.headers["Retry-After"]).toBe("60");
  office.world.clock.timeMs += 60_000;
  expect((await office.attempt(PASSWORD, ADMIN)).status).toBe(200);
});

const HOME = "198.51.100.7";
/** An address in a network of its own. */
const stranger = (i: number) => `10.${i >> 8}.${i & 255}.1`;

test("guesses from everywhere lock an account, but not for a network that it logged in from", async () => {
  const office = new Office();
  expect((await office.attempt(PASSWORD, CLERK, HOME)).status).toBe(200);
  for (let i = 0; i < 5; i++) expectFailure(await office.attempt("wrong", CLERK, stranger(0)), 401);
  expectFailure(await office.attempt(PASSWORD, CLERK, stranger(0)), 429);
  expectFailure(await office.attempt(PASSWORD, CLERK, "10.0.0.254"), 429);
  expect((await office.attempt(PASSWORD, CLERK, "203.0.113.1")).status).toBe(200);
  for (let i = 1; i < 96; i++) {
    expectFailure(await office.attempt("wrong", CLERK, stranger(i)), 401);
  }
  expectFailure(await office.attempt(PASSWORD, CLERK, stranger(96)), 429);
  expect((await office.attempt(PASSWORD, ADMIN, stranger(96))).status).toBe(200);
  // The neighbour of an address is at home, too, and has a count of its own.
  const neighbour = "198.51.100.250";
  for (let i = 0; i < 4; i++) expectFailure(await office.attempt("wrong", CLERK, neighbour), 401);
  expect((await office.attempt(PASSWORD, CLERK, HOME)).status).toBe(200);
  for (let i = 0; i < 5; i++) expectFailure(await office.attempt("wrong", CLERK, HOME), 401);
  expectFailure(await office.attempt(PASSWORD, CLERK, neighbour), 429);
});

test("guesses from an office do not keep out who logged in there before, for thirty days", async () => {
  const office = new Office();
  const { clock } = office.world;
  const { body } = await office.post<Login>(
    "/api/auth/login",
    { username: CLERK, password: PASSWORD },
    { headers: { "x-forwarded-for": HOME } },
  );
  const guessAll = async () => {
    for (let i = 0; i < BAD_LOGINS_MAX; i++) {
      await office.attempt("wrong", `guess-${i}@house.example`, HOME);
    }
  };
  clock.timeMs += DAYS_30_MS - 1;
  await guessAll();
  expectFailure(await office.attempt(PASSWORD, ADMIN, HOME), 429);
  expect((await office.attempt(PASSWORD, CLERK, HOME)).status).toBe(200);
  clock.timeMs += DAYS_30_MS;
  await guessAll();
  expectFailure(await office.attempt(PASSWORD, CLERK, HOME), 429);
  clock.timeMs += 60_000;
  // A refresh shows as much as a login; this one's token has expired.
  expectFailure(await office.auth("refresh", { refreshToken: body.refreshToken }), 401);
  const next = await office.logIn(CLERK);
  await office.post(
    "/api/auth/refresh",
    { refreshToken: next.refreshToken },
    { headers: { "x-forwarded-for": "203.0.113.9" } },
  );
  for (let i = 0; i < 100; i++) await office.attempt("wrong", CLERK, stranger(i));
  expectFailure(await office.attempt(PASSWORD, CLERK, HOME), 429);
  expect((await office.attempt(PASSWORD, CLERK, "203.0.113.1")).status).toBe(200);
});

test("an IPv6 client is its /64: other addresses of it do not help to guess", async () => {
  const office = new Office();
  for (let i = 0; i < 5; i++) {
    expectFailure(await office.attempt("wrong", CLERK, `2001:db8::${i}`), 401);
  }
  expectFailure(await office.attempt(PASSWORD, CLERK, "2001:db8:0:0:ffff::1"), 429);
  expect((await office.attempt(PASSWORD, CLERK, "2001:db8:0:1::1")).status).toBe(200);
  for (let i = 0; i < BAD_LOGINS_MAX; i++) {
    await office.attempt("wrong", `guess-${i}@house.example`, `2001:db8::${i}`);
  }
  expectFailure(await office.attempt(PASSWORD, ADMIN, "2001:db8::abcd"), 429);
});

test("a login beyond those that may wait is refused before its password is hashed", async () => {
  const office = new Office();
  expect((await office.attempt(PASSWORD, ADMIN, HOME)).status).toBe(200);
  const { checks } = office.services.passwords;
  let end = () => {};
  const busy = new Promise<void>((resolve) => (end = resolve));
  for (let i = 0; i < 100; i++) {
    void checks.run(() => busy, { standing: Standing.NEW, network: stranger(i) });
  }
  const refused = await office.attempt(PASSWORD);
  expectFailure(refused, 429);
  expect(refused.headers["Retry-After"]).toBe("2");
  // Nobody learns whether an account exists.
  const unknown = await office.attempt(PASSWORD, "x@y.example");
  expect([unknown.status, unknown.text]).toEqual([429, refused.text]);
  expect(checks).toMatchObject({ count: 100, refused: 2 });
  // A network that the account has logged in from has places of its own.
  const known = office.attempt(PASSWORD, ADMIN, HOME);
  end();
  expect((await known).status).toBe(200);
  await checks.run(() => Promise.resolve());
  await checks.run(() => Promise.resolve(), { standing: Standing.NEW, network: stranger(200) });
  // The refused one was not counted as a wrong password.
  for (let i = 0; i < 4; i++) expectFailure(await office.attempt("wrong"), 401);
  expect((await office.attempt(PASSWORD)).status).toBe(200);
});

test("a network that fills the places loses the latest of them to others, uncounted", async () => {
  const office = new Office();
  const attempts = Array.from({ length: 103 }, (_, i) =>
    office.attempt("wrong", `guess-${i % 26}@house.example`, "10.0.0.1"),
  );
  const right = office.attempt(PASSWORD, CLERK, "10.0.1.1");
  const replies = await Promise.all(attempts);
  const statuses = replies.map(({ status }) => status);
  // BAD_LOGINS_MAX bounds those of one address.
  expect(statuses.filter((status) => status === 401).length).toBe(BAD_LOGINS_MAX);
  expect((await right).status).toBe(200);
});

/** Names of tasks in the order in which they ran; those without a place first. */
async function order(lane: Lane, tasks: readonly (readonly [string, Standing, string])[]) {
  const [ran, refused]: [string[], string[]] = [[], []];
  const all = tasks.map(async ([name, standing, network]) => {
    const done = await lane.run(() => Promise.resolve(ran.push(name)), { standing, network });
    if (done === null) refused.push(name);
  });
  await Promise.all(all);
  return { ran: ran.join(" "), refused: refused.join(" ") };
}

test("networks take turns; known ones and those without a wrong password come more often", async () => {
  const { KNOWN, NEW, SUSPECT } = Standing;
  const many = (name: string, standing: Standing) =>
    [1, 2, 3, 4].map((i) => [name + i, standing, name] as const);
  const all = [
    ...many("s", SUSPECT),
    ...many("t", SUSPECT),
    ...many("n", NEW),
    ...many("k", KNOWN),
  ];
  expect((await order(new Lane(100), all)).ran).toBe(
    // The first one finds nobody.
    "s1 k1 n1 k2 n2 k3 s2 k4 n3 n4 t1 s3 t2 s4 t3 t4",
  );
});

test("a full queue gives a place of the network with most to one with fewer", async () => {
  const { NEW, KNOWN } = Standing;
  const filled = [1, 2, 3, 4].map((i) => [`a${i}`, NEW, "a"] as const);
  const { ran, refused } = await order(new Lane(4), [
    ...filled,
    ["b1", NEW, "b"],
    ["b2", NEW, "b"],
    ["k1", KNOWN, "a"],
    ["c1", NEW, "c"],
  ]);
  expect([ran, refused]).toEqual(["a1 k1 a2 b1 c1", "a4 b2 a3"]);
});

test("the token of a login in one of two Authorization headers shows no user", async () => {
  const office = new Office();
  const listening = await Listening.start({}, office);
  const { token } = await office.logIn(CLERK);
  const connection = await listening.connection();
  const statusWith = (...values: readonly string[]) => {
    const headers = values.map((value) => `Authorization: ${value}`);
    const head = ["GET /api/auth/user/ HTTP/1.1", "Host: x", ...headers];
    return connection.statusOf([...head, "", ""].join("\r\n"));
  };
  const bearer = `Bearer ${token}`;
  for (const pair of [
    [bearer, bearer],
    ["", bearer],
    [bearer, ""],
  ]) {
    expect(await statusWith(...pair)).toBe(401);
  }
  expect(await statusWith(bearer)).toBe(200);
});

/** Sends wrong passwords from 300 networks and one /64, until the test ends. */
async function flood(listening: Listening): Promise<void> {
  let sent = 0;
  const send = async () => {
    const connection = await listening.connection();
    const next = () => {
      sent += 1;
      const address = sent % 7 === 0 ? `2001:db8::${(sent % 9_999) + 1}` : stranger(sent % 300);
      const username = sent % 10 === 0 ? CLERK : `guess-${sent}@house.example`;
      connection.text = "";
      connection.socket.write(loginRequest(username, "wrong", address));
    };
    connection.socket.on("data", () => {
      if (connection.text.endsWith("}")) next();
    });
    next();
  };
  await Promise.all(Array.from({ length: 250 }, send));
}

/** @returns Passwords hashed since. */
function countChecks(passwords: Passwords): () => number {
  let count = 0;
  const isRight = passwords.isRight.bind(passwords);
  passwords.isRight = (hashOf, ...rest) => {
    const counted = () => {
      const found = hashOf();
      if (found !== undefined) count += 1;
      return found;
    };
    return isRight(counted, ...rest);
  };
  return () => count;
}

function loginRequest(username: string, password: string, address: string): string {
  const body = JSON.stringify({ username, password });
  const length = `Content-Length: ${body.length}`;
  const head = ["POST /api/auth/login HTTP/1.1", "Host: x", `X-Forwarded-For: ${address}`, length];
  return [...head, "", body].join("\r\n");
}

test("right logins beside a flood of guesses from 300 networks and one /64 all succeed", async () => {
  const office = new Office();
  const listening = await Listening.start({ trustedProxies: ["127.0.0.1"] }, office);
  const { checks } = office.services.passwords;
  const checked = countChecks(office.services.passwords);
  const own = await listening.connection();
  const logIn = () => own.statusOf(loginRequest(CLERK, PASSWORD, HOME));
  expect(await logIn()).toBe(200);
  await flood(listening);
  await until(() => checks.refused > 500);
  const statuses: number[] = [];
  for (let i = 0; i < 10; i++) statuses.push(await logIn());
  expect(statuses).toEqual(Array.from({ length: 10 }, () => 200));
  // An office opens its doors.
  const desks = await Promise.all(Array.from({ length: 50 }, () => listening.connection()));
  // From the first answer on: until the desks arrive, all turns are those of strangers.
  const atAnswers: number[] = [];
  const atOnce = desks.map(async (desk) => {
    const status = await desk.statusOf(loginRequest(CLERK, PASSWORD, HOME));
    atAnswers.push(checked());
    return status;
  });
  expect(await Promise.all(atOnce)).toEqual(Array.from({ length: 50 }, () => 200));
  // Every second turn is theirs, and one may have begun: two seconds, at 20 ms for each check.
  expect(atAnswers.at(-1)! - atAnswers[0]!).toBeLessThanOrEqual(2 * 49 + 1);
});

const BAD_BODIES: readonly (readonly [string, unknown, number])[] = [
  ["login", {}, 400],
  ["login", { username: CLERK }, 400],
  ["login", { username: "", password: PASSWORD }, 400],
  ["login", { username: 7, password: PASSWORD }, 400],
  ["login", { username: CLERK, password: ["x"] }, 400],
  ["login", { username: CLERK, password: "x".repeat(513) }, 400],
  ["login", "{", 400],
  ["login", "[]", 400],
  ["refresh", {}, 400],
  ["refresh", { refreshToken: 7 }, 400],
  ["refresh", { refreshToken: "unknown" }, 401],
  ["logout", {}, 400],
  ["logout", { refreshToken: null }, 400],
  ["logout", { refreshToken: "unknown" }, 401],
];

test("errors under /api/auth have their own form, whatever is wrong", async () => {
  const office = new Office();
  const before = office.digest;
  for (const [call, body, status] of BAD_BODIES) {
    const reply = await office.auth(call, body);
    expect([call, body, reply.status]).toEqual([call, body, status]);
    expectFailure(reply, status);
    expect(reply.text).not.toContain(PASSWORD);
  }
  expectFailure(await office.get("/api/auth/nothing", {}), 404);
  expectFailure(await office.get("/api/auth/login", {}), 405);
  const headers = { "content-type": "text/plain" };
  expectFailure(await office.post("/api/auth/login", "{}", { headers }), 415);
  expect(office.digest).toBe(before);
});

test("the token of a login opens the layouts of the organization that it names", async () => {
  const office = new Office();
  const { house, second } = office;
  const { token } = await office.logIn(ADMIN);
  const statusOf = async (target: string, more: object = {}) =>
    (await office.get(target, { headers: { authorization: `Bearer ${token}`, ...more } })).status;
  const path = `/api/seatmap/${house.schemaId}/`;
  expect(await statusOf(`${path}?orgId=${house.id}`)).toBe(200);
  expect(await statusOf(path, { "x-organization-id": String(house.id) })).toBe(200);
  expect(await statusOf(`${path}?orgId=${second.id}`)).toBe(403);
  expect(await statusOf(`${path}?orgId=${office.a.id}`)).toBe(403);
  expect(await statusOf(`/api/seatmap/${NO_ID}/?orgId=${office.a.id}`)).toBe(403);
  expect(await statusOf(`${V2}/schemas/${house.schemaId}/layout`)).toBe(403);
  expect(await statusOf(`${V2}/events/`)).toBe(403);
  expect(await statusOf(`${MANAGEMENT}/organizations/`)).toBe(403);
});

test("a login is 503 while the log takes no records", async () => {
  const office = new Office();
  office.journal.admits = Admission.UNAVAILABLE;
  expectFailure(await office.attempt(PASSWORD), 503);
});
