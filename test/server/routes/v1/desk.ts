/** One server, the event of organization A, and calls of v1 in a few words. */
import { expect } from "vitest";
import type { FieldError } from "../../../../engine/results.ts";
import { checkState } from "../../../../engine/verify/check.ts";
import { digest } from "../../../../engine/verify/digest.ts";
import { LEGACY_ROUTES } from "../../../../server/routes/v1/table.ts";
import type { Route } from "../../../../server/routing/route.ts";
import { Router } from "../../../../server/routing/router.ts";
import { checksOf } from "../../../../server/routing/validate.ts";
import { replayed } from "../../../support/engine.ts";
import { type Reply, TestServer } from "../../../support/server.ts";
import { Booth } from "../../onsale/booth.ts";

export const V1 = "/api/private/v1.0";

/** An entry of a v1 request. */
export interface Entry {
  readonly compositeKey: string;
  readonly capacity?: number | null;
  readonly price?: number;
}

const router = new Router(LEGACY_ROUTES);

function faultsOf(route: Route, answer: unknown): readonly FieldError[] {
  return checksOf({ ...route, body: route.answers[200]! }).body(answer);
}

export class Desk extends Booth {
  /** Every answer has a status that its row lists, and the shape that the row gives it. */
  async call<Body = readonly Entry[]>(
    method: string,
    path: string,
    body?: unknown,
    key = this.server.a.key,
  ): Promise<Reply<Body>> {
    const options = body === undefined ? { key } : { key, body };
    const reply = await this.server.call<Body>(method, `${V1}${path}`, options);
    const { route } = router.find(method.toLowerCase(), `${V1}${path}`.split("?")[0]!);
    expect([200, ...route!.problems]).toContain(reply.status);
    if (reply.status === 200) expect(faultsOf(route!, reply.body)).toEqual([]);
    return reply;
  }

  /** Seats of row A and B of the stalls by label, places as `Pit:3`, anything else as it is. */
  entries(...objects: readonly string[]): Entry[] {
    return objects.map((object) => {
      const [name = "", places] = object.split(":");
      const compositeKey = name.replace(/^([AB])(\d)$/, "Stalls;;$1;;$2");
      return { compositeKey, capacity: places === undefined ? null : Number(places) };
    });
  }

  /** Books and expects that only these come back, in this order, as they were given. */
  async books(
    kind: "lock" | "sale" | "unlock",
    objects: readonly string[],
    failed: readonly string[] = [],
  ): Promise<void> {
    const { eventId } = this.server.a;
    const path = `/booking/${kind}?id=${eventId}`;
    const reply = await this.call("POST", path, this.entries(...objects));
    expect([reply.status, reply.body]).toEqual([200, this.entries(...failed)]);
    this.check();
  }

  /** Every invariant holds, and the kept records give the same state again. */
  check(): void {
    const { state } = this.server.engine;
    checkState(state);
    expect(digest(replayed(this.server.journal))).toBe(this.server.digest);
  }
}

/** Another organization's event, an event that is nowhere, a missing one, and one that is no id. */
export const WRONG_EVENTS = (server: TestServer) =>
  [
    [`id=${server.b.eventId}`, 403, "EVENT_ACCESS_DENIED"],
    ["id=00000000-0000-4000-8000-ffffffffffff", 403, "EVENT_ACCESS_DENIED"],
    ["", 400, "VALIDATION_FAILED"],
    ["id=7", 400, "VALIDATION_FAILED"],
  ] as const;
