/**
 * Password hashes: argon2id with the parameters of OWASP's password storage cheat sheet. There are
 * two lanes, so logins do not delay the creation of organizations. Each hashes one password at a
 * time, because hashing takes a thread of the pool that the syncs of the log need too.
 */
import { hash, verify } from "@node-rs/argon2";

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
