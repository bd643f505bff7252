/** The dry run of a booking call: it answers as the call would, and changes nothing. */
import { expect, test } from "vitest";
import { BOOKING_KINDS } from "../../../support/engine.ts";
import { TestServer, V2 } from "../../../support/server.ts";
import { EVENT_DENIED, expectProblem, invalid, NOWHERE } from "../../wire/wire.ts";

type Kind = (typeof BOOKING_KINDS)[number];

const checkPath = (server: TestServer, call: string, eventId = server.a.eventId) =>
  `${V2}/booking/check?eventId=${eventId}&call=${call}`;

/** Checks a call on the event of A. */
function check(server: TestServer, call: string, session: string | null, ...objects: string[]) {
  return server.post(checkPath(server, call), server.selection(session, ...objects));
}

test.each(BOOKING_KINDS)("a check of %s answers as the call does then", async (kind) => {
  const server = new TestServer();
  server.world.change({ orphanPrevention: true });
  await server.book("lock", "ann", "A1", "A2", "Pit:2");
  await server.book("directsale", null, "B1", "B2", "Pit:3");
  await server.book("block", null, "B3", "B4", "Pit:4");
  const selections: readonly (readonly [string | null, ...string[]])[] = [
    ["ann", "A1", "A2"],
    ["bob", "A1"],
    [null, "B1"],
    [null, "B3", "Pit:1"],
    ["ann", "A3", "A4", "Pit:2"],
    ["ann", "A5"],
    ["ann", "Pit:99"],
    [null],
  ];
  for (const [session, ...objects] of selections) {
    const before = [server.digest, server.engine.sequence];
    const checked = await check(server, kind, session, ...objects);
    expect([server.digest, server.engine.sequence]).toEqual(before);
    const called = await server.book(kind, session, ...objects);
    expect([kind, objects, checked.status, checked.text]).toEqual([
      kind,
      objects,
      called.status,
      called.text,
    ]);
  }
});

test("every refusal of a call is that of its check", async () => {
  const problemOf = async (server: TestServer, kind: Kind, label = "A1") => {
    const { status, body } = await check(server, kind, "ann", label);
    expect(body.path).toBe(`${V2}/booking/${kind}`);
    return [status, body.errorCode];
  };
  const server = new TestServer();
  server.world.change({ orphanPrevention: true });
  expect(await problemOf(server, "lock", "A2")).toEqual([422, "ORPHAN_SEAT"]);
  expect(await problemOf(server, "sale")).toEqual([400, "INVENTORY_NOT_AVAILABLE"]);
  server.world.change({ salesControl: false });
  expect(await problemOf(server, "sale")).toEqual([403, "SALES_CONTROL_REQUIRED"]);
  server.setStatus("ARCHIVED");
  expect(await problemOf(server, "directsale")).toEqual([422, "EVENT_NOT_PUBLISHED"]);
  server.world.change({ bookingEnabled: false });
  expect(await problemOf(server, "unblock")).toEqual([402, "ORGANIZATION_DISABLED"]);
  const unknown = await server.post(
    checkPath(server, "lock", NOWHERE),
    server.selection("ann", "A1"),
  );
  expectProblem(unknown, { ...EVENT_DENIED, path: `${V2}/booking/lock` });
});

test("a body that the call would refuse is refused, and so is an unknown call", async () => {
  const server = new TestServer();
  const path = `${V2}/booking/sale`;
  const empty = await server.post(checkPath(server, "sale"), {});
  expectProblem(empty, { ...invalid("seats NOT_NULL"), path });
  const wrong = await server.post(checkPath(server, "sale"), { seats: [{ id: "x" }] });
  expectProblem(wrong, { ...invalid("seats[0].id TYPE"), path });
  const body = server.selection("ann", "A1");
  expectProblem(await server.post(checkPath(server, "steal"), body), invalid("call ENUM"));
  const missing = `${V2}/booking/check?eventId=${server.a.eventId}`;
  expectProblem(await server.post(missing, body), invalid("call NOT_NULL"));
});

test("Prefer and Idempotency-Key are not looked at", async () => {
  const server = new TestServer();
  const body = server.selection("ann", "A1");
  const headers = { prefer: "return=representation", "idempotency-key": "k" };
  const send = (path: string) => server.post(path, body, { ...server.a, headers });
  expect((await send(checkPath(server, "lock"))).text).toBe("true");
  await server.book("block", null, "A1");
  expect((await send(checkPath(server, "lock"))).status).toBe(400);
  await server.book("unblock", null, "A1");
  const locked = await send(server.bookingPath("lock"));
  expect(locked.text).toContain('"fence"');
  expect((await send(checkPath(server, "unlock"))).text).toBe("true");
});

test("a hold that ran out is over for a check", async () => {
  const server = new TestServer();
  await server.book("lock", "ann", "A1");
  expect((await check(server, "lock", "bob", "A1")).status).toBe(400);
  server.world.clock.timeMs += 15 * 60_000;
  expect((await check(server, "lock", "bob", "A1")).text).toBe("true");
  expect(await server.states("A1")).toEqual(["ACTIVE"]);
});

test("checks do not count against the limit of booking calls", async () => {
  const server = new TestServer();
  server.world.change({ bookingsPerSecond: 1 });
  for (let i = 0; i < 5; i++) {
    expect((await check(server, "lock", "ann", "A1")).text).toBe("true");
  }
  expect((await server.book("lock", "ann", "A1")).body).toBe(true);
  expect((await server.book("unlock", "ann", "A1")).body.errorCode).toBe("RATE_LIMITED");
});
