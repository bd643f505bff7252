/**
 * Password hashes: argon2id with the parameters of OWASP's password storage cheat sheet. One at a
 * time, because hashing takes a thread of the pool that the syncs of the log need too.
 */
import { hash, verify } from "@node-rs/argon2";

const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

export class Passwords {
  #last: Promise<unknown> = Promise.resolve();
  #decoy: Promise<string> | undefined;

  hash(password: string): Promise<string> {
    return this.#next(() => hash(password, PARAMETERS));
  }

  /** @param passwordHash - Null for an unknown account: takes as long, and is always wrong. */
  async isRight(passwordHash: string | null, password: string): Promise<boolean> {
    this.#decoy ??= this.hash("a password that nobody has");
    const known = passwordHash ?? (await this.#decoy);
    const isRight = await this.#next(() => verify(known, password));
    return isRight && passwordHash !== null;
  }

  #next<Value>(task: () => Promise<Value>): Promise<Value> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
