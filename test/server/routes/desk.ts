/** A server that books over v1 in short notation. */
import { expect } from "vitest";
import { TestServer } from "../../support/server.ts";
import { expectConsistent } from "../../support/table.ts";

export const V1 = "/api/private/v1.0";

/** An entry of a v1 request. */
export interface Entry {
  readonly compositeKey: string;
  readonly capacity?: number | null;
  readonly price?: number;
}

export class Desk extends TestServer {
  /** Seats of the stalls by label, places as `Pit:3`, and anything else as a composite key. */
  entries(...objects: readonly string[]): Entry[] {
    return objects.map((object) => {
      const [name = "", places] = object.split(":");
      const compositeKey = name.replace(/^([AB])(\d)$/, "Stalls;;$1;;$2");
      return { compositeKey, capacity: places === undefined ? null : Number(places) };
    });
  }

  /** Books, and expects that the failed entries are returned unchanged and in this order. */
  async books(
    kind: "lock" | "sale" | "unlock",
    objects: readonly string[],
    failed: readonly string[] = [],
  ): Promise<void> {
    const path = `${V1}/booking/${kind}?id=${this.a.eventId}`;
    const reply = await this.post(path, this.entries(...objects));
    expect([reply.status, reply.body]).toEqual([200, this.entries(...failed)]);
    expectConsistent(this.world);
  }
}
