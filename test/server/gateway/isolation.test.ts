/**
 * Tenant isolation through a gateway: the tests of keys, of foreign ids and of command sockets, and
 * requests with handles for keys and events.
 */
import { expect, onTestFinished, test } from "vitest";
import type { ProblemBody } from "../../support/answers/exchange.ts";
import { CREDENTIALS, headersOf } from "../../support/answers/credentials.ts";
import { BOOKING_KINDS } from "../../support/engine.ts";
import { GatewayStage, newGateway, throughGateway } from "../../support/gateway/stage.ts";
import { type House, TestServer, V2 } from "../../support/server.ts";
import { Listening } from "../wire/connection.ts";
import { NOWHERE } from "../wire/wire.ts";

TestServer.way = throughGateway;
Listening.way = async (enginePort) => {
  const gateway = await newGateway(enginePort);
  onTestFinished(() => gateway.stop());
  return gateway.port;
};
await import("../auth/access.test.ts");
await import("../routes/ids.test.ts");
await import("../commands/isolation.test.ts");

type Headers = Readonly<Record<string, string>>;

/** Sends a booking request with these credentials and no others. */
function book(stage: GatewayStage, headers: Headers, call: string, [eventId, body]: Booking) {
  return stage.send({
    method: "POST",
    target: `${V2}/booking/${call}?eventId=${eventId}`,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

type Booking = readonly [eventId: string, body: object];

function seatOf({ labels, eventId }: House, label: string): Booking {
  return [eventId, { sessionId: "ann", seats: [{ id: labels.idOf(label) }] }];
}

test.each(CREDENTIALS)(
  "%s books for A or is refused, also when the gateway has seen it before",
  async (_, shown, areOfA) => {
    const stage = await GatewayStage.start();
    const { server } = stage;
    const headers = headersOf(shown(server));
    // The link carries the first request as it is, the second by the number of its key.
    for (const label of ["A1", "A2"]) {
      const { status } = await book(stage, headers, "lock", seatOf(server.a, label));
      expect(status).toBe(areOfA ? 200 : 403);
    }
    expect(stage.gateway.link.keyCount).toBe(areOfA ? 1 : 0);
    const state = areOfA ? "LOCKED" : "ACTIVE";
    expect(await server.states("A1", "A2")).toEqual([state, state]);
  },
);

test.each(CREDENTIALS.filter(([, , areOfA]) => areOfA))(
  "%s books only in events of A, also when the gateway knows the events of others",
  async (_, shown) => {
    const stage = await GatewayStage.start();
    const { server } = stage;
    const { a, b, c } = server;
    const headers = headersOf(shown(server));
    for (const house of [b, c]) {
      for (const label of ["A1", "A2"]) {
        const own = { "x-api-key": house.key };
        expect((await book(stage, own, "lock", seatOf(house, label))).status).toBe(200);
      }
    }
    for (const label of ["A1", "A2"]) {
      expect((await book(stage, headers, "lock", seatOf(a, label))).status).toBe(200);
    }
    const before = server.digest;
    for (const call of BOOKING_KINDS) {
      const words = new Set<string>();
      const [, strange] = seatOf(b, "A3");
      for (const eventId of [b.eventId, c.eventId, NOWHERE]) {
        const denied = await book(stage, headers, call, [eventId, strange]);
        expect([call, denied.status]).toEqual([call, 403]);
        const problem = { ...(JSON.parse(String(denied.body)) as ProblemBody), timestamp: "" };
        words.add(JSON.stringify(problem).replaceAll(eventId, "EVENT"));
      }
      expect(words.size).toBe(1);
      // Seats of others do not exist in an event of A.
      const refused = await book(stage, headers, call, [a.eventId, strange]);
      expect(JSON.parse(String(refused.body))).toMatchObject({ errors: [{ code: "NOT_FOUND" }] });
    }
    expect(server.digest).toBe(before);
  },
);
