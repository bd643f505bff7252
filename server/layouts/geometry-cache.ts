/** The geometries that were asked for last. A geometry never changes within a version. */
import { isRefused } from "../../engine/results.ts";
import type { Answer, Problem } from "../wire/answers.ts";

/** Each is about 5 bytes a seat, compressed: a megabyte for the largest layout. */
export const GEOMETRIES_MAX = 16;

interface Kept {
  readonly version: number;
  readonly answer: Promise<Answer | Problem>;
}

export class GeometryCache {
  /** By schema, the least recently used first. */
  readonly #kept = new Map<number, Kept>();

  /** @param make - Makes the answer when it is not kept. */
  of(
    schemaId: number,
    version: number,
    make: () => Promise<Answer | Problem>,
  ): Promise<Answer | Problem> {
    let kept = this.#kept.get(schemaId);
    if (kept?.version !== version)
      kept = { version, answer: this.#keepUnlessRefused(schemaId, make) };
    this.#kept.delete(schemaId);
    this.#kept.set(schemaId, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > GEOMETRIES_MAX) this.#kept.delete(oldest!);
    return kept.answer;
  }

  async #keepUnlessRefused(
    schemaId: number,
    make: () => Promise<Answer | Problem>,
  ): Promise<Answer | Problem> {
    const drop = () => this.#kept.delete(schemaId);
    try {
      const made = await make();
      if (isRefused(made)) drop();
      return made;
    } catch (error) {
      drop();
      throw error;
    }
  }
}
