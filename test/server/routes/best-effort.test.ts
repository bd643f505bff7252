/** A lock with `mode=best-effort` over HTTP and the JSON command socket. */
import { expect, test } from "vitest";
import type { CallOptions, ProblemBody } from "../../support/answers/exchange.ts";
import { TestServer, V2 } from "../../support/server.ts";
import { CommandStage } from "../commands/stage.ts";

interface Offered {
  readonly field: string;
  readonly code: string;
  readonly alternatives?: readonly { readonly id: number; readonly label: string }[];
  readonly available?: number;
}

interface PartialBody {
  readonly sequence: number;
  readonly seats: readonly { readonly id: number; readonly fence: number }[];
  readonly areas: readonly object[];
  readonly groupOfSeats: readonly object[];
  readonly refused: readonly Offered[];
}

const modeOf = (server: TestServer, mode: string) =>
  `${V2}/booking/lock?eventId=${server.a.eventId}&mode=${mode}`;

function lock(server: TestServer, body: object, options: CallOptions = {}) {
  const by = { key: server.a.key, ...options };
  return server.post<PartialBody & ProblemBody>(modeOf(server, "best-effort"), body, by);
}

test("what can be had → held and shown, with the others and their alternatives", async () => {
  const server = new TestServer();
  await server.book("directsale", null, "A2", "Pit:98");
  const { labels } = server.a;
  const given = server.selection("ann", "A1", "A2", "B1", "Pit:3");
  const { status, body } = await lock(server, given, { headers: { prefer: "return=minimal" } });
  expect(status).toBe(200);
  expect(body.sequence).toBe(server.engine.sequence);
  const fence = body.sequence;
  expect(body.seats).toMatchObject(
    ["A1", "B1"].map((label) => ({ id: labels.idOf(label), state: "LOCKED", fence })),
  );
  expect([body.areas, body.groupOfSeats]).toEqual([[], []]);
  const [seat, pit] = body.refused;
  expect(seat).toMatchObject({
    field: "seats[1].id",
    code: "SOLD",
    message: expect.stringContaining("sold") as string,
    rejectedValue: labels.idOf("A2"),
  });
  // Two refused in a row have no seat in common.
  expect(seat!.alternatives!.length).toBeLessThanOrEqual(3);
  expect(pit).toMatchObject({ field: "groupOfSeats[0].capacity", available: 2 });
  expect(pit!.alternatives).toBeUndefined();
  for (const { id } of seat!.alternatives!) {
    const alone = { sessionId: "ann", seats: [{ id }] };
    expect((await server.post(server.bookingPath("lock"), alone)).status).toBe(200);
  }
});

test("nothing can be had → the refusal of the lock, with alternatives and places on sale", async () => {
  const server = new TestServer();
  await server.book("directsale", null, "A2");
  const given = server.selection("ann", "A2", "Pit:101");
  const { status, body } = await lock(server, given);
  expect([status, body]).toMatchObject([
    400,
    {
      errorCode: "INVENTORY_NOT_AVAILABLE",
      path: `${V2}/booking/lock`,
      errors: [
        { field: "seats[0].id", code: "SOLD", alternatives: expect.any(Array) as unknown[] },
        { field: "groupOfSeats[0].capacity", available: 100 },
      ],
    },
  ]);
  const plain = await server.post(server.bookingPath("lock"), given);
  expect(JSON.stringify(plain.body.errors)).not.toMatch(/alternatives|available"/);
});

test("a mode that there is not → 400; all is a lock; other calls do not look at it", async () => {
  const server = new TestServer();
  const given = server.selection("ann", "A1");
  const wrong = await server.post(modeOf(server, "some"), given);
  expect([wrong.status, wrong.body.errors]).toMatchObject([400, [{ field: "mode", code: "ENUM" }]]);
  expect((await server.post(modeOf(server, "all"), given)).text).toBe("true");
  const unlock = `${server.bookingPath("unlock")}&mode=some`;
  expect((await server.post(unlock, given)).text).toBe("true");
});

test("a retry by its key → the first answer; the same key with another mode is refused", async () => {
  const server = new TestServer();
  const given = server.selection("ann", "A1");
  const headers = { "idempotency-key": "once" };
  const first = await lock(server, given, { headers });
  const again = await lock(server, given, { headers });
  expect([again.status, again.text]).toEqual([200, first.text]);
  const other = await server.post(modeOf(server, "all"), given, { ...server.a, headers });
  expect(other.body.errorCode).toBe("IDEMPOTENCY_KEY_REUSED");
});

test("over the command socket → the same answers as over HTTP", async () => {
  const stage = await CommandStage.start();
  const { server } = stage;
  await server.book("directsale", null, "A2");
  const client = await stage.open();
  const { eventId } = server.a;
  const { seats } = server.selection("ann", "A1", "A2");
  const of = { call: "lock", eventId, sessionId: "ann", seats };
  const answers = await client.ask(
    { ...of, n: 1, mode: "best-effort" },
    { ...of, n: 2, mode: "some" },
    { ...of, n: 3, call: "unlock", seats: [seats![0]], mode: "some" },
  );
  expect(answers).toMatchObject([
    { n: 1, status: 200, body: { seats: [{ id: seats![0]!.id }], refused: [{ code: "SOLD" }] } },
    { n: 2, status: 400, body: { errors: [{ field: "mode", code: "ENUM" }] } },
    { n: 3, status: 200, body: true },
  ]);
});
