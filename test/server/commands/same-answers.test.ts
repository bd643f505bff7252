/**
 * The same commands over HTTP and over both subprotocols, on three equal servers: the answers and
 * the states must be the same.
 */
import {
  type Arbitrary,
  assert,
  asyncProperty,
  array,
  constantFrom,
  integer,
  record,
} from "fast-check";
import { expect, test } from "vitest";
import {
  placeOf,
  reasonNumberOf,
  resultNumberOf,
} from "../../../server/commands/binary-protocol.ts";
import type { ProblemBody } from "../../support/answers/exchange.ts";
import {
  type BinaryAnswer,
  commandEntry,
  openEntry,
  readAnswers,
} from "../../support/commands/binary-layout.ts";
import { BOOKING_KINDS } from "../../support/engine.ts";
import { CommandStage } from "./stage.ts";

const SESSIONS = ["", "ann", "bob", "Zoë"];
const HOLD_TYPES = ["", "CART", "RESERVED", "NONE"];
const KEYS = ["", "", "", "k1", "k2"];
const NOWHERE = "00000000-0000-4000-8000-000000000000";

/** A command without ids: objects are numbers of seats of the plan, or places of its area. */
const COMMAND = record({
  call: constantFrom(...BOOKING_KINDS),
  session: integer({ min: 0, max: SESSIONS.length - 1 }),
  holdType: constantFrom(...HOLD_TYPES),
  key: constantFrom(...KEYS),
  seats: array(integer({ min: 0, max: 5 }), { maxLength: 3 }),
  places: constantFrom(0, 0, 1, 60, 101),
  isElsewhere: constantFrom(false, false, false, false, false, true),
});
type Drawn = typeof COMMAND extends Arbitrary<infer T> ? T : never;

const LABELS = ["A1", "A2", "A3", "B1", "B2"];

class Way {
  readonly stage: CommandStage;
  constructor(stage: CommandStage) {
    this.stage = stage;
  }

  idsOf({ seats, places }: Drawn) {
    const { labels } = this.stage.server.a;
    const idOf = (seat: number) => (seat < LABELS.length ? labels.idOf(LABELS[seat]!) : 999_999);
    const areas = places === 0 ? [] : [[labels.idOf("Pit"), places] as const];
    return { seats: seats.map(idOf), areas };
  }

  bodyOf(drawn: Drawn) {
    const { seats, areas } = this.idsOf(drawn);
    return {
      sessionId: SESSIONS[drawn.session] || null,
      holdType: drawn.holdType || null,
      seats: seats.map((id) => ({ id })),
      groupOfSeats: areas.map(([id, capacity]) => ({ id, capacity })),
    };
  }

  eventOf({ isElsewhere }: Drawn): string {
    return isElsewhere ? NOWHERE : this.stage.server.a.eventId;
  }
}

/** Without the times: they differ between the ways. */
function plain(status: number, body: unknown) {
  if (typeof body === "boolean") return { status, body };
  return { status, body: { ...(body as ProblemBody), timestamp: "" } };
}

async function overHttp(way: Way, commands: readonly Drawn[]) {
  const { server } = way.stage;
  const answers = [];
  for (const drawn of commands) {
    const path = server.bookingPath(drawn.call, way.eventOf(drawn));
    const headers = drawn.key === "" ? {} : { "idempotency-key": drawn.key };
    const reply = await server.post<unknown>(path, way.bodyOf(drawn), {
      key: server.a.key,
      headers,
    });
    answers.push(plain(reply.status, reply.body));
  }
  return answers;
}

async function asJson(way: Way, commands: readonly Drawn[]) {
  const client = await way.stage.open();
  const sent = commands.map((drawn, n) => {
    const { call, key } = drawn;
    const own = { n, call, eventId: way.eventOf(drawn), idempotencyKey: key || null };
    return { ...own, ...way.bodyOf(drawn) };
  });
  const answers = await client.ask(...sent);
  client.socket.close();
  return answers.map(({ status, body }) => plain(status, body));
}

async function asBinary(way: Way, commands: readonly Drawn[]): Promise<readonly BinaryAnswer[]> {
  const client = await way.stage.openBinary();
  const opened = [
    openEntry("event", 1, way.stage.server.a.eventId),
    openEntry("event", 2, NOWHERE),
    ...SESSIONS.slice(1).map((session, i) => openEntry("session", i + 1, session)),
    ...HOLD_TYPES.slice(1).map((holdType, i) => openEntry("hold type", i + 1, holdType)),
  ];
  const entries = commands.map((drawn, n) => {
    const { call, session, key } = drawn;
    const holdType = HOLD_TYPES.indexOf(drawn.holdType);
    const event = drawn.isElsewhere ? 2 : 1;
    return commandEntry({ n, call, event, session, holdType, key, ...way.idsOf(drawn) });
  });
  client.send(Buffer.concat([...opened, ...entries]));
  const answers: BinaryAnswer[] = [];
  while (answers.length < commands.length) {
    const [message] = await client.received(1);
    answers.push(...readAnswers(message as Buffer));
  }
  client.socket.close();
  return answers;
}

/** The binary form of an answer over HTTP. */
function coded({ status, body }: ReturnType<typeof plain>) {
  if (typeof body === "boolean") return { status, result: Number(body), errors: [] };
  const errors = body.errors.map(({ field, code }) => {
    const place = placeOf(field);
    return [place >>> 16, reasonNumberOf(code), place & 0xffff];
  });
  return { status, result: resultNumberOf(body.errorCode), errors };
}

test("the same commands have the same answers and effects, whichever way they come", async () => {
  const property = asyncProperty(array(COMMAND, { minLength: 1, maxLength: 12 }), async (drawn) => {
    const [http, json, binary] = [
      new Way(await CommandStage.start()),
      new Way(await CommandStage.start()),
      new Way(await CommandStage.start()),
    ];
    const expected = await overHttp(http, drawn);
    expect(await asJson(json, drawn)).toEqual(expected);
    const answers = await asBinary(binary, drawn);
    expect(answers.map(({ status, result, errors }) => ({ status, result, errors }))).toEqual(
      expected.map(coded),
    );
    const { digest } = http.stage.server;
    expect([json.stage.server.digest, binary.stage.server.digest]).toEqual([digest, digest]);
    for (const { stage } of [http, json, binary]) stage.listening.http.close();
  });
  await assert(property, { numRuns: 40 });
});
