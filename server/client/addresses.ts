/**
 * The addresses of servers of which one answers: a leader and its standbys. `/readyz` says 200 on
 * the leader alone.
 */

/** How long a server may take to say whether it is the leader. */
const PROBE_MS_MAX = 2_000;

export class Addresses {
  readonly #urls: string[];
  /** The position of the server that answered last. */
  #present = 0;

  /** @param urls - A base URL, or several. */
  constructor(urls: string | readonly string[]) {
    this.#urls = (typeof urls === "string" ? [urls] : [...urls]).map(withoutSlash);
    if (this.#urls.length === 0) throw new RangeError("a client needs the URL of a server");
  }

  get areSeveral(): boolean {
    return this.#urls.length > 1;
  }

  /**
   * @returns The base URL of the leader. One URL alone is not asked: the connection shows it.
   * @throws Error when none of the servers is the leader at the moment.
   */
  async leader(): Promise<string> {
    const count = this.#urls.length;
    if (count === 1) return this.#urls[0]!;
    for (let i = 0; i < count; i++) {
      const position = (this.#present + i) % count;
      // oxlint-disable-next-line no-await-in-loop -- most often the first server is the leader
      if (!(await isReady(this.#urls[position]!))) continue;
      this.#present = position;
      return this.#urls[position]!;
    }
    throw new Error("none of the servers is ready");
  }

  /** The organization has moved. @param location - A URL of the server where it is. */
  moveTo(location: string): void {
    const { origin } = new URL(location.replace(/^ws/, "http"));
    const known = this.#urls.indexOf(origin);
    this.#present = known === -1 ? 0 : known;
    // The servers that it has left would send the client on again and again.
    if (known === -1) this.#urls.splice(0, this.#urls.length, origin);
  }
}

async function isReady(url: string): Promise<boolean> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), PROBE_MS_MAX);
  try {
    const { ok } = await fetch(`${url}/readyz`, { signal: stop.signal });
    return ok;
  } catch {
    // It does not answer, so another one is the leader, or soon will be.
    return false;
  } finally {
    clearTimeout(timer);
  }
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, "");
}
