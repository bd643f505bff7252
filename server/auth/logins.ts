/**
 * Logins of accounts: two random tokens each. The store keeps only their hashes. A refresh token
 * also says which login it is of, and is signed. So one that was replaced before is recognized:
 * either the client or a thief has a newer one, and the login ends for both.
 */
import { randomBytes } from "node:crypto";
import { hash, verify } from "@node-rs/argon2";
import type { Caller, LoginTokens } from "../../engine/bodies.ts";
import type { AccountRow, LoginRow } from "../../engine/catalog.ts";
import type { Engine, Outcome } from "../../engine/engine.ts";
import { accountsByEmail, emailKey } from "../../engine/queries/access.ts";
import { ActorKind } from "../../engine/records.ts";
import { isGranted, isRefused } from "../../engine/results.ts";
import { isSame, type Keys, sha256 } from "./keys.ts";
import { Throttle } from "./limits.ts";

const TOKEN_LIFETIME_MS = 3_600_000;
const REFRESH_LIFETIME_MS = 30 * 24 * 3_600_000;
const TOKEN_BYTES = 32;
/** Id of the login, random characters, signature. */
const REFRESH_TOKEN = /^((\d{1,16})\.[\w-]{43})\.([\w-]{43})$/;
/** For one account, within a minute. */
const WRONG_PASSWORDS_MAX = 5;

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
  readonly #byAccount = new Throttle(WRONG_PASSWORDS_MAX);
  readonly #byAddress: Throttle;
  /** Logins that ended because a refresh token was used twice. */
  revoked = 0;

  /** @param byAddress - Wrong passwords, by the address that they came from. */
  constructor(engine: Engine, passwords: Passwords, keys: Keys, byAddress: Throttle) {
    this.#engine = engine;
    this.#passwords = passwords;
    this.#keys = keys;
    this.#byAddress = byAddress;
  }

  /** Accounts and addresses whose wrong passwords are remembered. */
  get throttled(): { readonly accounts: number; readonly addresses: number } {
    return { accounts: this.#byAccount.count, addresses: this.#byAddress.count };
  }

  /** Answers a wrong password and an unknown account alike, and takes the same time. */
  async open(
    { username, password }: { readonly username: string; readonly password: string },
    address: string,
  ): Promise<Opened | LoginRefusal> {
    const key = emailKey(username);
    const nowMs = this.#engine.nowMs();
    const isAdmitted = this.#byAccount.admits(key, nowMs) && this.#byAddress.admits(address, nowMs);
    if (!isAdmitted) return LoginRefusal.THROTTLED;
    if (!this.#passwords.checks.hasRoom()) return LoginRefusal.BUSY;
    // Counted before the password is checked, so that simultaneous guesses count too.
    this.#byAccount.failed(key, nowMs);
    this.#byAddress.failed(address, nowMs);
    const account = accountsByEmail(this.#engine.state, username)[0];
    const isRight = await this.#passwords.isRight(account?.passwordHash ?? null, password);
    if (account === undefined || !isRight) return LoginRefusal.WRONG;
    this.#byAccount.forgive(key);
    // Not forgiven: one good account must not pay for guesses at others.
    this.#byAddress.withdraw(address);
    const fresh = this.#newTokens(this.#engine.state.catalog.nextId);
    const caller = callerOf(account);
    const login = { accountId: account.id, tokens: fresh.hashes };
    const outcome = this.#engine.submit({ kind: "openLogin", caller, ...login });
    return this.#opened(account, fresh, outcome);
  }

  /** Replaces the tokens; the old ones stop working, and using one again ends the login. */
  refresh(refreshToken: string): Opened | LoginRefusal {
    const found = this.#findRefresh(refreshToken);
    if (found === null) return this.#refuseReplaced(refreshToken);
    const { account, login } = found;
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

// Password hashes: argon2id with the parameters of OWASP's password storage cheat sheet. There are
// two lanes, so logins do not delay the creation of organizations. Each hashes one password at a
// time, because hashing takes a thread of the pool that the syncs of the log need too.

const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** A password takes about 20 ms. */
export const CHECKS_MAX = 100;
export const HASHES_MAX = 20;

/** Runs tasks in turn. */
export class Lane {
  readonly #tasksMax: number;
  #last: Promise<unknown> = Promise.resolve();
  /** Tasks that have not ended. */
  count = 0;
  /** How often there was no room. */
  refused = 0;

  constructor(tasksMax: number) {
    this.#tasksMax = tasksMax;
  }

  /** To be asked before a task is added. */
  hasRoom(): boolean {
    if (this.count < this.#tasksMax) return true;
    this.refused += 1;
    return false;
  }

  run<Value>(task: () => Promise<Value>): Promise<Value> {
    this.count += 1;
    const result = this.#last.then(task).finally(() => {
      this.count -= 1;
    });
    this.#last = result.catch(() => undefined);
    return result;
  }
}

export class Passwords {
  /** Logins. */
  readonly checks = new Lane(CHECKS_MAX);
  /** New accounts. */
  readonly hashes = new Lane(HASHES_MAX);
  #decoy: Promise<string> | undefined;

  hash(password: string): Promise<string> {
    return this.hashes.run(() => hash(password, PARAMETERS));
  }

  /** @param passwordHash - Null for an unknown account: takes as long, and is always wrong. */
  async isRight(passwordHash: string | null, password: string): Promise<boolean> {
    this.#decoy ??= this.hash("a password that nobody has");
    const isRight = await this.checks.run(async () => {
      const known = passwordHash ?? (await this.#decoy!);
      return verify(known, password);
    });
    return isRight && passwordHash !== null;
  }
}
