/**
 * The same booking requests straight to the engine and through a gateway, on two equal servers: the
 * answers and the states must be the same, byte for byte.
 */
import {
  type Arbitrary,
  array,
  assert,
  asyncProperty,
  constantFrom,
  integer,
  record,
} from "fast-check";
import { expect, test } from "vitest";
import { BOOKING_KINDS } from "../../support/engine.ts";
import { V2 } from "../../support/server.ts";
import { GatewayStage, sendTo } from "../../support/gateway/stage.ts";

const NOWHERE = "00000000-0000-4000-8000-000000000000";
const LABELS = ["A1", "A2", "A3", "B1", "B2"];
const STAMP = /"timestamp":"[^"]+"/g;
const TIME = /"(expiresAt|updatedAt)":"[^"]+"/g;

/** Replacements for members of the body, wrong in one way or another. */
const ODDITIES = [
  {},
  {},
  {},
  { seats: [{ id: 0 }] },
  { seats: [{ id: 1.5 }] },
  { seats: [{ id: 1, capacity: 1 }] },
  { seats: [{ id: 9007199254740991 }] },
  { groupOfSeats: [{ id: 1 }] },
  { groupOfSeats: [{ id: 1, capacity: 5_000_000_000 }] },
  { sessionId: "" },
  { sessionId: "Zoë" },
  { sessionId: "x".repeat(256) },
  { holdType: "NONE" },
  { fences: {} },
  { fences: { 1: "x" } },
  { fence: 1 },
  { fromBlocked: true },
  { toBlocked: true },
  { priceIds: { 999: 1 } },
  { extra: true },
  { seats: null, groupOfSeats: null },
];
const PREFERENCES = ["", "", "return=representation", "return=minimal", "handling=strict"];
const DRAWN = record({
  call: constantFrom(...BOOKING_KINDS),
  session: constantFrom(null, "ann", "bob"),
  holdType: constantFrom(null, "CART", "RESERVED"),
  key: constantFrom("", "", "k1", "k2", "x".repeat(256)),
  prefer: constantFrom(...PREFERENCES),
  seats: array(integer({ min: 0, max: 5 }), { maxLength: 3 }),
  places: constantFrom(0, 0, 1, 60, 101),
  oddity: constantFrom(...ODDITIES),
  eventId: constantFrom("own", "own", "own", NOWHERE, "x", ""),
  who: constantFrom("a", "a", "a", "b", "nobody", "tenant"),
  type: constantFrom("application/json", "application/json", "text/plain"),
});

type Drawn = typeof DRAWN extends Arbitrary<infer T> ? T : never;

interface Way {
  readonly stage: GatewayStage;
  readonly port: number;
}

async function answersOf({ stage, port }: Way, drawn: readonly Drawn[]) {
  const answers = [];
  for (const one of drawn) answers.push(await answerOf(stage, port, one));
  return answers;
}

async function answerOf({ server }: GatewayStage, port: number, drawn: Drawn) {
  const { call, session, holdType, key, prefer, seats, places, oddity } = drawn;
  const { labels } = server.a;
  const idOf = (seat: number) => (seat < LABELS.length ? labels.idOf(LABELS[seat]!) : 999_999);
  const body = {
    sessionId: session,
    holdType,
    seats: seats.map((seat) => ({ id: idOf(seat) })),
    groupOfSeats: places === 0 ? [] : [{ id: labels.idOf("Pit"), capacity: places }],
    ...oddity,
  };
  const eventId = drawn.eventId === "own" ? server.a.eventId : drawn.eventId;
  const keys: Record<string, Record<string, string>> = {
    a: { "x-api-key": server.a.key },
    b: { authorization: `Bearer ${server.b.key}` },
    nobody: { "x-api-key": "fro_1_nobody" },
    tenant: { "x-api-key": server.tenantToken, "x-organization-id": String(server.a.id) },
  };
  const {
    body: answer,
    status,
    type,
    headers,
  } = await sendTo(port, {
    method: "POST",
    target: `${V2}/booking/${call}?eventId=${eventId}`,
    headers: {
      ...keys[drawn.who],
      "content-type": drawn.type,
      ...(key === "" ? {} : { "idempotency-key": key }),
      ...(prefer === "" ? {} : { prefer }),
    },
    body: JSON.stringify(body),
  });
  const text = String(answer).replaceAll(STAMP, "").replaceAll(TIME, "");
  return { status, type, headers, text };
}

test("requests have the same answers and effects with a gateway and without", async () => {
  const property = asyncProperty(array(DRAWN, { minLength: 1, maxLength: 12 }), async (drawn) => {
    const [straight, through] = [await GatewayStage.start(), await GatewayStage.start()];
    const expected = await answersOf({ stage: straight, port: straight.engine.port }, drawn);
    const answers = await answersOf({ stage: through, port: through.port }, drawn);
    expect(answers).toEqual(expected);
    expect(through.server.digest).toBe(straight.server.digest);
    expect([straight.broken, through.broken]).toEqual([[], []]);
  });
  await assert(property, { numRuns: 60 });
});
