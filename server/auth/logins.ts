/**
 * Logins of accounts: two random tokens each. The store keeps only their hashes. A refresh token is
 * signed and names its login, so a replaced one is recognized: the client or a thief has a newer
 * one, and the login ends for both.
 */
import { randomBytes } from "node:crypto";
import { hash, verify } from "@node-rs/argon2";
import { FairQueue } from "../../engine/bounds.ts";
import type { Caller, LoginTokens } from "../../engine/bodies.ts";
import type { AccountRow, LoginRow } from "../../engine/catalog.ts";
import type { Engine, Outcome } from "../../engine/engine.ts";
import { emailKey } from "../../engine/names.ts";
import { accountsByEmail } from "../../engine/queries/access.ts";
import { ActorKind } from "../../engine/records.ts";
import { isGranted, isRefused, Result } from "../../engine/results.ts";
import { networkOf, sourceOf } from "../http/client-address.ts";
import { isSame, type Keys, sha256 } from "./keys.ts";
import { Throttle } from "./limits.ts";

const TOKEN_LIFETIME_MS = 3_600_000;
const REFRESH_LIFETIME_MS = 30 * 24 * 3_600_000;
const TOKEN_BYTES = 32;
/** 128 bits in base64url. */
const NETWORK_HASH_LENGTH = 22;
/** Id of the login, random characters, signature. */
const REFRESH_TOKEN = /^((\d{1,16})\.[\w-]{43})\.([\w-]{43})$/;
/** For one account from one network, within a minute. */
const WRONG_PASSWORDS_MAX = 5;
/** For one account from all unknown networks together, within a minute. */
export const WRONG_PASSWORDS_OF_ALL_MAX = 100;

/** A new or renewed login. */
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
  /** By account and network; names of all counts are hashes, so their memory is bounded. */
  readonly #byNetwork = new Throttle(WRONG_PASSWORDS_MAX);
  readonly #byAccount = new Throttle(WRONG_PASSWORDS_OF_ALL_MAX);
  readonly #byAddress: Throttle;
  /** Networks with a wrong password within the last minute. */
  readonly #suspects = new Throttle(1);
  /** Logins that ended because a refresh token was used twice. */
  revoked = 0;

  /** @param byAddress - Wrong passwords, by the address that they came from. */
  constructor(engine: Engine, passwords: Passwords, keys: Keys, byAddress: Throttle) {
    this.#engine = engine;
    this.#passwords = passwords;
    this.#keys = keys;
    this.#byAddress = byAddress;
  }

  /** Entries of the counts of wrong passwords. */
  get throttled(): { readonly accounts: number; readonly addresses: number } {
    const accounts = this.#byAccount.count + this.#byNetwork.count;
    return { accounts, addresses: this.#byAddress.count + this.#suspects.count };
  }

  /** Networks of all accounts. */
  get knownNetworks(): number {
    return this.#engine.state.catalog.knownNetworks;
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
    const key = sha256(emailKey(username));
    const network = networkOf(address);
    const [account] = accountsByEmail(this.#engine.state, username);
    // For no account too: a refusal must not tell by its time whether the account exists.
    const networkHash = this.#hashOf(account?.id ?? 0, network);
    const isKnown = account !== undefined && this.#knows(account, networkHash);
    const own = `${key} ${network}`;
    const counts: readonly (readonly [Throttle, string])[] = [
      [this.#byNetwork, own],
      ...(isKnown
        ? []
        : ([
            [this.#byAccount, key],
            [this.#byAddress, sourceOf(address)],
          ] as const)),
    ];
    const admits = () => counts.every(([count, name]) => count.admits(name, this.#engine.nowMs()));
    if (!admits()) return LoginRefusal.THROTTLED;
    const place = { standing: this.#standingOf(network, isKnown), network };
    const hashAtItsTurn = () => {
      // Guesses before this one in the queue may have used up a count.
      if (!admits()) return undefined;
      for (const [count, name] of counts) count.failed(name, this.#engine.nowMs());
      return this.#engine.state.catalog.accounts.get(account?.id ?? 0)?.passwordHash ?? null;
    };
    const isRight = await this.#passwords.isRight(hashAtItsTurn, password, place);
    if (isRight === null) return LoginRefusal.BUSY;
    if (isRight === undefined) return LoginRefusal.THROTTLED;
    if (!isRight || account === undefined) {
      if (!isKnown) this.#suspects.failed(network, this.#engine.nowMs());
      return LoginRefusal.WRONG;
    }
    // Not forgiven but taken back: one good account must not pay for guesses at others.
    for (const [count, name] of counts) count.withdraw(name);
    this.#byNetwork.forgive(own);
    const fresh = this.#newTokens(this.#engine.state.catalog.nextId);
    const outcome = this.#engine.submit({
      kind: "openLogin",
      caller: callerOf(account),
      accountId: account.id,
      tokens: fresh.hashes,
      network: networkHash,
    });
    return this.#opened(account, fresh, outcome);
  }

  #knows({ networks = [] }: AccountRow, networkHash: string): boolean {
    const nowMs = this.#engine.nowMs();
    return networks.some((known) => known.hash === networkHash && known.untilMs > nowMs);
  }

  /** Keyed, and another one for each account: rows do not tell the networks, or equal ones. */
  #hashOf(accountId: number, network: string): string {
    return this.#keys.sign(`network\n${accountId}\n${network}`).slice(0, NETWORK_HASH_LENGTH);
  }

  #standingOf(network: string, isKnown: boolean): Standing {
    if (isKnown) return Standing.KNOWN;
    return this.#suspects.admits(network, this.#engine.nowMs()) ? Standing.NEW : Standing.SUSPECT;
  }

  /**
   * Replaces the tokens; the old ones stop working, and using one again ends the login. The network
   * becomes a known one, as after a login.
   */
  refresh(refreshToken: string, address: string): Opened | LoginRefusal {
    const found = this.#findRefresh(refreshToken);
    if (found === null) return this.#refuseReplaced(refreshToken);
    const { account, login } = found;
    const fresh = this.#newTokens(login.id);
    const caller = callerOf(account);
    const network = this.#hashOf(account.id, networkOf(address));
    const renewed = { loginId: login.id, tokens: fresh.hashes, network };
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
    // Deleted while its password was checked.
    if (outcome.refused === Result.ENTITY_NOT_FOUND) return LoginRefusal.WRONG;
    if (isRefused(outcome)) return LoginRefusal.UNAVAILABLE;
    // Its row has changed: the network is among its networks.
    const row = this.#engine.state.catalog.accounts.get(account.id)!;
    return { account: row, token, refreshToken };
  }
}

function callerOf(account: AccountRow): Caller {
  const actor = { kind: ActorKind.ACCOUNT, id: account.id };
  return { actor, tenantId: account.superAdminOf ?? 0, organizationId: 0 };
}

// Password hashes: argon2id with the parameters of OWASP's password storage cheat sheet. There are
// two lanes, so logins do not delay the creation of organizations. Each hashes one password at a
// time, because hashing takes a thread of the pool that the syncs of the log need too.

const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** Of each standing. A check takes 10 to 20 ms. */
export const CHECKS_MAX = 100;
export const HASHES_MAX = 20;

/** Trust in the network of a login. Each standing has places of its own. */
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
  /** Of the running task. */
  #running: Standing | null = null;
  /** Tasks that have not ended. */
  count = 0;
  /** Tasks without a place, or that lost it. */
  refused = 0;

  /** @param tasksMax - Waiting and running tasks of each standing. */
  constructor(tasksMax: number) {
    this.#tasksMax = tasksMax;
  }

  /**
   * Waits for the turn of the network. A full queue displaces the latest task of the network with
   * most tasks, unless its own has as many.
   *
   * @returns Null without a place. Cost: O(waiting tasks).
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
   *   always wrong. Undefined ends the check at once.
   * @returns Null when too many wait; undefined when `hashOf` ended the check.
   */
  isRight(
    hashOf: () => string | null | undefined,
    password: string,
    place?: Place,
  ): Promise<boolean | null | undefined> {
    return this.checks.run(async () => {
      const passwordHash = hashOf();
      if (passwordHash === undefined) return undefined;
      this.#decoy ??= hash("a password that nobody has", PARAMETERS);
      const isRight = await verify(passwordHash ?? (await this.#decoy), password);
      return isRight && passwordHash !== null;
    }, place);
  }
}
