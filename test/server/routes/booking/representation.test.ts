/** `Prefer: return=representation`: a booking call answers with what it has booked. */
import { expect, test } from "vitest";
import type { BookingKind } from "../../../../engine/commands.ts";
import { TestServer } from "../../../support/server.ts";
import { expectProblem } from "../../wire/wire.ts";

const PREFER = { prefer: "return=representation" };

interface Booked {
  readonly sequence: number;
  readonly seats: readonly { readonly fence?: number }[];
}

interface Options {
  readonly headers?: Readonly<Record<string, string>>;
  /** Further members of the body. */
  readonly more?: object;
}

/** Sends a booking call; by default it prefers a representation. */
function send(
  server: TestServer,
  kind: BookingKind,
  objects: readonly string[],
  { headers = PREFER, more = {} }: Options = {},
) {
  const body = { ...server.selection("ann", ...objects), ...more };
  return server.post<Booked>(server.bookingPath(kind), body, { ...server.a, headers });
}

function keyed(key: string, headers: Options["headers"] = {}): Options {
  return { headers: { ...headers, "idempotency-key": key } };
}

test("a lock shows seats and areas in the order of the request, with fence and end", async () => {
  const server = new TestServer();
  const { labels, priceId } = server.a;
  const reply = await send(server, "lock", ["B2", "A1", "Pit:2"]);
  const { sequence } = server.engine;
  expect([reply.status, reply.headers["Preference-Applied"]]).toEqual([
    200,
    "return=representation",
  ]);
  const held = {
    state: "LOCKED",
    priceId,
    expiresAt: "2026-03-19T10:15:00.000",
    fence: sequence,
  };
  expect(reply.body).toEqual({
    sequence,
    seats: [
      { id: labels.idOf("B2"), label: "Stalls;;B;;2", ...held },
      { id: labels.idOf("A1"), label: "Stalls;;A;;1", ...held },
    ],
    areas: [
      {
        groupOfSeatsId: labels.idOf("Pit"),
        capacity: 100,
        active: 98,
        locked: 2,
        sold: 0,
        blocked: 0,
      },
    ],
  });
});

test("a hold without an end has no expiresAt, and sold seats have no fence", async () => {
  const server = new TestServer();
  const { labels, priceId } = server.a;
  const id = labels.idOf("A1");
  const seat = { id, label: "Stalls;;A;;1", priceId };
  const locked = await send(server, "lock", ["A1"], { more: { holdType: "RESERVED" } });
  const fence = server.engine.sequence;
  expect(locked.body.seats).toEqual([{ ...seat, state: "LOCKED", fence }]);
  const sold = await send(server, "sale", ["A1"], { more: { fences: { [id]: fence } } });
  expect(sold.body).toEqual({
    sequence: fence + 1,
    seats: [{ ...seat, state: "SOLD" }],
    areas: [],
  });
  expect((await send(server, "directsale", ["A2"])).body).toMatchObject({
    sequence: fence + 2,
    seats: [{ state: "SOLD" }],
  });
});

test("without the preference, and for other calls, the answer is true", async () => {
  const server = new TestServer();
  const plain = async (kind: BookingKind, headers: Readonly<Record<string, string>>) => {
    const reply = await send(server, kind, ["A1"], { headers });
    expect([reply.text, reply.headers["Preference-Applied"]]).toEqual(["true", undefined]);
  };
  await plain("lock", {});
  await plain("unlock", PREFER);
  await plain("lock", { prefer: "return=minimal" });
  await plain("sale", { prefer: "wait=5" });
  await plain("revertsale", PREFER);
  await plain("block", PREFER);
  await plain("unblock", PREFER);
});

test("a refused direct sale stays false, and other refusals stay problems", async () => {
  const server = new TestServer();
  await server.book("lock", "bob", "A1");
  const reply = await send(server, "directsale", ["A1"]);
  expect([reply.status, reply.text, reply.headers["Preference-Applied"]]).toEqual([
    200,
    "false",
    undefined,
  ]);
  const errors = ["seats[0].id LOCKED"];
  const problem = { status: 400, errorCode: "INVENTORY_NOT_AVAILABLE", errors };
  expectProblem(await send(server, "lock", ["A1"]), problem);
});

test("a retry gets the form of the first answer, whatever it prefers", async () => {
  const server = new TestServer();
  const first = await send(server, "lock", ["A1", "A2"], keyed("k1", PREFER));
  expect(first.body.seats).toHaveLength(2);
  await server.book("unlock", "ann", "A1");
  for (const headers of [{}, PREFER]) {
    const again = await send(server, "lock", ["A1", "A2"], keyed("k1", headers));
    expect(again.text).toBe(first.text);
    expect(again.headers["Preference-Applied"]).toBe("return=representation");
  }
  await send(server, "lock", ["A3"], keyed("k2"));
  const plain = await send(server, "lock", ["A3"], keyed("k2", PREFER));
  expect([plain.text, plain.headers["Preference-Applied"]]).toEqual(["true", undefined]);
});

test("a key with other fences is the key of another request", async () => {
  const server = new TestServer();
  const [first, second] = ["A1", "A2"].map((label) => server.a.labels.idOf(label));
  await send(server, "lock", ["A1", "A2"]);
  const fence = server.engine.sequence;
  const sale = (fences: object) =>
    send(server, "sale", ["A1", "A2"], { ...keyed("k"), more: { fences } });
  expect((await sale({ [first!]: fence, [second!]: fence })).text).toBe("true");
  expect((await sale({ [second!]: fence, [first!]: fence })).text).toBe("true");
  for (const fences of [{}, { [first!]: fence }, { [first!]: fence, [second!]: fence + 1 }]) {
    expectProblem(await sale(fences), { status: 422, errorCode: "IDEMPOTENCY_KEY_REUSED" });
  }
});

test("a late sale with the fence of an earlier lock is refused", async () => {
  const server = new TestServer();
  const id = server.a.labels.idOf("A1");
  const { fence } = (await send(server, "lock", ["A1"])).body.seats[0]!;
  server.world.clock.timeMs += 15 * 60_000;
  await send(server, "lock", ["A1"]);
  const errors = ["seats[0].id HELD_BY_ANOTHER_SESSION"];
  for (const kind of ["sale", "unlock"] as const) {
    const late = await send(server, kind, ["A1"], { more: { fences: { [id]: fence } } });
    expectProblem(late, { status: 400, errorCode: "INVENTORY_NOT_AVAILABLE", errors });
  }
});

test("fences that are no numbers, or of other seats, are invalid", async () => {
  const server = new TestServer();
  const refusal = async (fences: unknown) => {
    const reply = await send(server, "sale", ["A1"], { headers: {}, more: { fences } });
    return (reply.body as unknown as { errors: { field: string; code: string }[] }).errors.map(
      ({ field, code }) => `${field} ${code}`,
    );
  };
  expect(await refusal({ 7: "1" })).toEqual(["fences[7] TYPE"]);
  expect(await refusal([1])).toEqual(["fences TYPE"]);
  expect(await refusal({ x: 1, 999: 2 })).toEqual(["fences[999] UNKNOWN", "fences[x] UNKNOWN"]);
  const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [i, 1]));
  expect(await refusal(many)).toEqual(["fences SIZE"]);
});
