/**
 * Logins of accounts: two random tokens each. The store keeps only their hashes. A refresh token
 * also says which login it is of, and is signed. So one that was replaced before is recognized:
 * either the client or a thief has a newer one, and the login ends for both.
 */
import { randomBytes } from "node:crypto";
import { hash, verify } from "@node-rs/argon2";
import { FairQueue } from "../../engine/bounds.ts";
import type { Caller, LoginTokens } from "../../engine/bodies.ts";
import type { AccountRow, LoginRow } from "../../engine/catalog.ts";
import type { Engine, Outcome } from "../../engine/engine.ts";
import { accountsByEmail, emailKey } from "../../engine/queries/access.ts";
import { ActorKind } from "../../engine/records.ts";
import { isGranted, isRefused } from "../../engine/results.ts";
import { networkOf, sourceOf } from "../http/client-address.ts";
import { isSame, type Keys, sha256 } from "./keys.ts";
import { Throttle } from "./limits.ts";

const TOKEN_LIFETIME_MS = 3_600_000;
const REFRESH_LIFETIME_MS = 30 * 24 * 3_600_000;
const TOKEN_BYTES = 32;
/** Id of the login, random characters, signature. */
const REFRESH_TOKEN = /^((\d{1,16})\.[\w-]{43})\.([\w-]{43})$/;
/** For one account from one network, within a minute. */
const WRONG_PASSWORDS_MAX = 5;
/** For one account from all networks that it has not logged in from lately, within a minute. */
export const WRONG_PASSWORDS_OF_ALL_MAX = 100;

/** An account that has just logged in, and its tokens. */
export interface Opened {
  readonly account: AccountRow;
  readonly token: string;
  readonly refreshToken: string;
}

interface FreshTokens {
  readonly token: string;
  readonly refreshToken: string;
  readonly hashes: LoginTokens;
}

export const LoginRefusal = {
  WRONG: "wrong",
  THROTTLED: "throttled",
  BUSY: "busy",
  UNAVAILABLE: "unavailable",
} as const;
export type LoginRefusal = (typeof LoginRefusal)[keyof typeof LoginRefusal];

export class Logins {
  readonly #engine: Engine;
  readonly #passwords: Passwords;
  readonly #keys: Keys;
  /** By network and account. */
  readonly #byNetwork = new Throttle(WRONG_PASSWORDS_MAX);
  readonly #byAccount = new Throttle(WRONG_PASSWORDS_OF_ALL_MAX);
  readonly #byAddress: Throttle;
  /** Networks with a wrong password within the last minute. */
  readonly #suspects = new Throttle(1);
  readonly #known = new KnownNetworks();
  /** Logins that ended because a refresh token was used twice. */
  revoked = 0;

  /** @param byAddress - Wrong passwords, by the address that they came from. */
  constructor(engine: Engine, passwords: Passwords, keys: Keys, byAddress: Throttle) {
    this.#engine = engine;
    this.#passwords = passwords;
    this.#keys = keys;
    this.#byAddress = byAddress;
  }

  /** Accounts, pairs of network and account, and addresses whose wrong passwords are remembered. */
  get throttled(): { readonly accounts: number; readonly addresses: number } {
    const accounts = this.#byAccount.count + this.#byNetwork.count;
    return { accounts, addresses: this.#byAddress.count + this.#suspects.count };
  }

  /** Pairs of an account and a network that it has logged in from. */
  get knownNetworks(): number {
    return this.#known.count;
  }

  /**
   * Answers a wrong password and an unknown account alike, and takes the same time.
   *
   * Guesses of strangers neither lock an account nor use up the queue for a network that the account
   * has logged in from: it has its own count and its own places.
   */
  async open(
    { username, password }: { readonly username: string; readonly password: string },
    address: string,
  ): Promise<Opened | LoginRefusal> {
    const key = emailKey(username);
    const nowMs = this.#engine.nowMs();
    const network = networkOf(address);
    const isKnown = this.#known.has(key, network, nowMs);
    const counts: readonly (readonly [Throttle, string])[] = [
      [this.#byNetwork, `${network} ${key}`],
      ...(isKnown
        ? []
        : ([
            [this.#byAccount, key],
            [this.#byAddress, sourceOf(address)],
          ] as const)),
    ];
    if (!counts.every(([count, name]) => count.admits(name, nowMs))) return LoginRefusal.THROTTLED;
    // Counted before the password is checked, so that simultaneous guesses count too.
    for (const [count, name] of counts) count.failed(name, nowMs);
    const place = { standing: this.#standingOf(network, isKnown, nowMs), network };
    // Looked up when its turn comes: a refusal must cost little, and not tell whether it exists.
    const find = () => accountsByEmail(this.#engine.state, username)[0];
    const isRight = await this.#passwords.isRight(
      () => find()?.passwordHash ?? null,
      password,
      place,
    );
    const account = isRight === true ? find() : undefined;
    if (isRight !== null && account === undefined) {
      if (!isKnown) this.#suspects.failed(network, this.#engine.nowMs());
      return LoginRefusal.WRONG;
    }
    // Not forgiven but taken back: one good account must not pay for guesses at others.
    for (const [count, name] of counts) count.withdraw(name);
    if (account === undefined) return LoginRefusal.BUSY;
    this.#byNetwork.forgive(`${network} ${key}`);
    this.#known.add(key, network, nowMs);
    const fresh = this.#newTokens(this.#engine.state.catalog.nextId);
    const caller = callerOf(account);
    const login = { accountId: account.id, tokens: fresh.hashes };
    const outcome = this.#engine.submit({ kind: "openLogin", caller, ...login });
    return this.#opened(account, fresh, outcome);
  }

  #standingOf(network: string, isKnown: boolean, nowMs: number): Standing {
    if (isKnown) return Standing.KNOWN;
    return this.#suspects.admits(network, nowMs) ? Standing.NEW : Standing.SUSPECT;
  }

  /**
   * Replaces the tokens; the old ones stop working, and using one again ends the login. The network
   * becomes a known one, as after a login: so a restart, which forgets them, seldom matters.
   */
  refresh(refreshToken: string, address: string): Opened | LoginRefusal {
    const found = this.#findRefresh(refreshToken);
    if (found === null) return this.#refuseReplaced(refreshToken);
    const { account, login } = found;
    this.#known.add(emailKey(account.email), networkOf(address), this.#engine.nowMs());
    const fresh = this.#newTokens(login.id);
    const caller = callerOf(account);
    const renewed = { loginId: login.id, tokens: fresh.hashes };
    const outcome = this.#engine.submit({ kind: "renewLogin", caller, ...renewed });
    return this.#opened(account, fresh, outcome);
  }

  /** Ends both tokens. @returns Null on success. */
  close(refreshToken: string): LoginRefusal | null {
    const found = this.#findRefresh(refreshToken);
    if (found === null) return this.#refuseReplaced(refreshToken);
    const { account, login } = found;
    const outcome = this.#engine.submit({
      kind: "closeLogin",
      caller: callerOf(account),
      loginId: login.id,
    });
    return isGranted(outcome) ? null : LoginRefusal.UNAVAILABLE;
  }

  /** The account of a valid access token; null for any other text. */
  accountOf(token: string): AccountRow | null {
    const tokenHash = sha256(token);
    const { catalog } = this.#engine.state;
    const login = catalog.loginOf(tokenHash);
    if (login?.tokenSha256 !== tokenHash || login.tokenExpiresAtMs <= this.#engine.nowMs())
      return null;
    return catalog.accounts.get(login.accountId) ?? null;
  }

  #findRefresh(refreshToken: string): { login: LoginRow; account: AccountRow } | null {
    const tokenHash = sha256(refreshToken);
    const { catalog } = this.#engine.state;
    const login = catalog.loginOf(tokenHash);
    if (login?.refreshSha256 !== tokenHash || login.refreshExpiresAtMs <= this.#engine.nowMs()) {
      return null;
    }
    const account = catalog.accounts.get(login.accountId);
    return account === undefined ? null : { login, account };
  }

  /** Ends the login of a token that was replaced by a newer one. */
  #refuseReplaced(refreshToken: string): LoginRefusal {
    const [, text = "", id, signature = ""] = REFRESH_TOKEN.exec(refreshToken) ?? [];
    const { logins, accounts } = this.#engine.state.catalog;
    const login = logins.get(Number(id));
    const account = accounts.get(login?.accountId ?? 0);
    const isOurs = isSame(signature, this.#keys.sign(text));
    if (login === undefined || account === undefined || !isOurs) return LoginRefusal.WRONG;
    // The present token of a login that has expired was used once.
    if (login.refreshSha256 === sha256(refreshToken)) return LoginRefusal.WRONG;
    const closing = { caller: callerOf(account), loginId: login.id };
    const outcome = this.#engine.submit({ kind: "closeLogin", ...closing });
    if (isRefused(outcome)) return LoginRefusal.UNAVAILABLE;
    this.revoked += 1;
    return LoginRefusal.WRONG;
  }

  /** @param loginId - Of an existing login, or of the one that is opened in the same turn. */
  #newTokens(loginId: number): FreshTokens {
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    const text = `${loginId}.${randomBytes(TOKEN_BYTES).toString("base64url")}`;
    const refreshToken = `${text}.${this.#keys.sign(text)}`;
    const nowMs = this.#engine.nowMs();
    const hashes = {
      tokenSha256: sha256(token),
      tokenExpiresAtMs: nowMs + TOKEN_LIFETIME_MS,
      refreshSha256: sha256(refreshToken),
      refreshExpiresAtMs: nowMs + REFRESH_LIFETIME_MS,
    };
    return { token, refreshToken, hashes };
  }

  #opened(
    account: AccountRow,
    { token, refreshToken }: FreshTokens,
    outcome: Outcome<LoginRow>,
  ): Opened | LoginRefusal {
    if (isRefused(outcome)) return LoginRefusal.UNAVAILABLE;
    return { account, token, refreshToken };
  }
}

function callerOf(account: AccountRow): Caller {
  const actor = { kind: ActorKind.ACCOUNT, id: account.id };
  return { actor, tenantId: account.superAdminOf ?? 0, organizationId: 0 };
}

// Networks that accounts have logged in from. Kept in memory alone: an account that logs in or
// refreshes after a restart is known again, and until then a network without a wrong password has
// places that guesses do not use up.

/** How long a network is known after the last login from there: milliseconds. */
const KNOWN_MS = 30 * 24 * 3_600_000;
/** Beyond it, the one without a login for longest is forgotten. */
export const NETWORKS_PER_ACCOUNT_MAX = 16;
export const KNOWN_NETWORKS_MAX = 100_000;

export class KnownNetworks {
  /** By account and network, when it logged in last; the one that did least recently first. */
  readonly #byAccount = new Map<string, Map<string, number>>();
  count = 0;

  has(account: string, network: string, nowMs: number): boolean {
    const atMs = this.#byAccount.get(account)?.get(network);
    return atMs !== undefined && nowMs - atMs < KNOWN_MS;
  }

  add(account: string, network: string, nowMs: number): void {
    const networks = this.#byAccount.get(account) ?? new Map<string, number>();
    this.#byAccount.delete(account);
    this.#byAccount.set(account, networks);
    if (!networks.delete(network)) this.count += 1;
    networks.set(network, nowMs);
    if (networks.size > NETWORKS_PER_ACCOUNT_MAX) this.#forgetOldest(account);
    const [first] = this.count > KNOWN_NETWORKS_MAX ? this.#byAccount.keys() : [];
    if (first !== undefined) this.#forgetOldest(first);
  }

  #forgetOldest(account: string): void {
    const networks = this.#byAccount.get(account)!;
    const [oldest] = networks.keys();
    networks.delete(oldest!);
    this.count -= 1;
    if (networks.size === 0) this.#byAccount.delete(account);
  }
}

// Password hashes: argon2id with the parameters of OWASP's password storage cheat sheet. There are
// two lanes, so logins do not delay the creation of organizations. Each hashes one password at a
// time, because hashing takes a thread of the pool that the syncs of the log need too.

const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** Of each standing. A password takes about 20 ms. */
export const CHECKS_MAX = 100;
export const HASHES_MAX = 20;

/** What is known of a network that a password comes from. Each standing has places of its own. */
export const Standing = {
  /** The account has logged in from there lately. */
  KNOWN: 0,
  /** No wrong password came from there within the last minute. */
  NEW: 1,
  SUSPECT: 2,
} as const;
export type Standing = (typeof Standing)[keyof typeof Standing];

/** Turns of the standings; one without tasks leaves its turn to the next. */
const TURNS: readonly Standing[] = [
  Standing.KNOWN,
  Standing.NEW,
  Standing.KNOWN,
  Standing.NEW,
  Standing.KNOWN,
  Standing.SUSPECT,
];

/** Whose turn a task takes. */
export interface Place {
  readonly standing: Standing;
  readonly network: string;
}

const ANY_PLACE: Place = { standing: Standing.KNOWN, network: "" };

interface Task {
  readonly run: () => Promise<void>;
  /** Another task takes its place. */
  readonly displace: () => void;
}

/** Runs tasks one at a time; the networks of a standing take turns. */
export class Lane {
  readonly #tasksMax: number;
  readonly #queues = new Map(Object.values(Standing).map((standing) => [standing, queue()]));
  #turn = 0;
  /** Standing of the task that runs. */
  #running: Standing | null = null;
  /** Tasks that have not ended. */
  count = 0;
  /** Tasks without a place, or that lost it. */
  refused = 0;

  /** @param tasksMax - Tasks of each standing that wait or run. */
  constructor(tasksMax: number) {
    this.#tasksMax = tasksMax;
  }

  /**
   * Waits for the turn of the network. Where all places are taken, the task takes that of the latest
   * one from the network with most of them, unless its own has as many.
   *
   * @returns Null without a place. Cost: O(tasks that wait).
   */
  run<Value>(task: () => Promise<Value>, place: Place = ANY_PLACE): Promise<Value | null> {
    const { standing, network } = place;
    const waiting = this.#queues.get(standing)!;
    const taken = waiting.size + (this.#running === standing ? 1 : 0);
    if (taken >= this.#tasksMax && !this.#makeRoom(waiting, network)) {
      this.refused += 1;
      return Promise.resolve(null);
    }
    this.count += 1;
    return new Promise<Value | null>((resolve, reject) => {
      const displace = () => {
        this.count -= 1;
        this.refused += 1;
        resolve(null);
      };
      waiting.push(network, { run: () => task().then(resolve, reject), displace });
      if (this.#running === null) this.#runNext();
    });
  }

  #makeRoom(waiting: FairQueue<string, Task>, network: string): boolean {
    const longest = waiting.longest!;
    if (waiting.sizeOf(longest) <= waiting.sizeOf(network) + 1) return false;
    waiting.pop(longest)!.displace();
    return true;
  }

  #runNext(): void {
    const next = this.#next();
    this.#running = next?.standing ?? null;
    if (next === null) return;
    void next.task.run().finally(() => {
      this.count -= 1;
      this.#runNext();
    });
  }

  #next(): { readonly standing: Standing; readonly task: Task } | null {
    for (let passed = 0; passed < TURNS.length; passed++) {
      const standing = TURNS[this.#turn]!;
      this.#turn = (this.#turn + 1) % TURNS.length;
      const task = this.#queues.get(standing)!.shift();
      if (task !== undefined) return { standing, task };
    }
    return null;
  }
}

function queue(): FairQueue<string, Task> {
  return new FairQueue();
}

export class Passwords {
  /** Logins. */
  readonly checks = new Lane(CHECKS_MAX);
  /** New accounts. */
  readonly hashes = new Lane(HASHES_MAX);
  #decoy: Promise<string> | undefined;

  /** @returns Null when too many wait. */
  hash(password: string): Promise<string | null> {
    return this.hashes.run(() => hash(password, PARAMETERS));
  }

  /**
   * @param hashOf - Called when its turn comes. Null for an unknown account: takes as long, and is
   *   always wrong.
   * @returns Null when too many wait.
   */
  isRight(hashOf: () => string | null, password: string, place?: Place): Promise<boolean | null> {
    return this.checks.run(async () => {
      this.#decoy ??= hash("a password that nobody has", PARAMETERS);
      const passwordHash = hashOf();
      const isRight = await verify(passwordHash ?? (await this.#decoy), password);
      return isRight && passwordHash !== null;
    }, place);
  }
}
