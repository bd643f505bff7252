/** All who follow an event: their keys are judged again and again, and they get signs of life. */
import type { Credentials } from "../auth/access.ts";
import { CloseCode, type Follower } from "./follower.ts";

/** All keys are judged once in this many steps, which take a second. */
const SWEEP_STEPS = 10;
const SWEEP_STEP_MS = 100;

export class Followers {
  readonly #followers = new Set<Follower>();
  readonly #judge: (credentials: Credentials) => boolean;
  #timer: NodeJS.Timeout | null = null;
  #sweep: Iterator<Follower> | null = null;
  /** By key, in the present sweep: whether it is valid. */
  readonly #judged = new Map<string, boolean>();

  /** @param judge - Whether a key is valid now. */
  constructor(judge: (credentials: Credentials) => boolean) {
    this.#judge = judge;
  }

  add(follower: Follower): void {
    this.#followers.add(follower);
    this.#timer ??= setInterval(() => this.#step(), SWEEP_STEP_MS).unref();
  }

  delete(follower: Follower): void {
    this.#followers.delete(follower);
  }

  /** Ends all of them: the server stops. */
  stop(): void {
    for (const follower of this.#followers) follower.stop();
  }

  /** A share of them at a time. */
  #step(): void {
    const nowMs = performance.now();
    for (let left = Math.ceil(this.#followers.size / SWEEP_STEPS); left > 0; left--) {
      this.#sweep ??= this.#followers.values();
      const { value: follower, done } = this.#sweep.next();
      if (done === true) this.#end();
      else if (this.#isValid(follower.credentials)) follower.signOfLife(nowMs);
      else follower.close(CloseCode.KEY_ENDED);
    }
    if (this.#followers.size > 0) return;
    clearInterval(this.#timer ?? undefined);
    this.#timer = null;
    this.#end();
  }

  #end(): void {
    this.#sweep = null;
    this.#judged.clear();
  }

  #isValid(credentials: Credentials): boolean {
    const { apiKey, authorization, organizationId } = credentials;
    const key = `${apiKey} ${authorization} ${organizationId}`;
    let isValid = this.#judged.get(key);
    if (isValid === undefined) this.#judged.set(key, (isValid = this.#judge(credentials)));
    return isValid;
  }
}
