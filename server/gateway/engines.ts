/** The engines that a gateway may be linked to: one, or the hosts of a cluster. */

export class Engines {
  readonly #urls: readonly URL[];
  #present = 0;

  /** @param urls - One at least, all with the same scheme. */
  constructor(urls: readonly URL[]) {
    this.#urls = urls;
  }

  get count(): number {
    return this.#urls.length;
  }

  /** The engine that leads, as far as is known. */
  get present(): URL {
    return this.#urls[this.#present]!;
  }

  /** The present one is lost, or does not lead. */
  leave(): void {
    this.#present = (this.#present + 1) % this.count;
  }
}
