/** Texts are measured in code points by their shape alone: v1, v2 and the library agree. */
import { expect, test } from "vitest";
import { commandErrors } from "../../../persistence/store/shape-check.ts";
import { sampleCommand } from "../../support/samples.ts";
import { type ProblemError } from "../../support/answers/exchange.ts";
import { TestServer, V2 } from "../../support/server.ts";

const V1 = "/api/private/v1.0";
/** One code point, two UTF-16 units, four bytes of UTF-8. */
const EMOJI = "\u{1f3ad}";

const server = new TestServer();
const { a } = server;

const listOf = (errors: readonly ProblemError[]) =>
  errors.map(({ field, code }) => `${field} ${code}`);

async function send(path: string, body: object): Promise<readonly string[]> {
  const reply = await server.call("POST", path, { key: a.key, body });
  return reply.status < 300 ? [] : listOf(reply.body.errors);
}

/** The errors that a library caller gets. */
function give(kind: "lock" | "directsale" | "createEvent", body: object): readonly string[] {
  const command = sampleCommand(kind, a.caller);
  return listOf(commandErrors({ ...command, body: { ...command.body, ...body } } as never));
}

test.each([
  ["sessionId", "lock", "A1", 255],
  ["holdType", "directsale", "A2", 64],
] as const)(
  "the %s of a %s of %s may have %i emoji, and no more",
  async (member, kind, label, most) => {
    const path = `${V2}/booking/${kind}?eventId=${a.eventId}`;
    const bodyOf = (length: number) => {
      return { seats: [{ id: a.labels.idOf(label) }], [member]: EMOJI.repeat(length) };
    };
    expect(await send(path, bodyOf(most + 1))).toEqual([`${member} SIZE`]);
    expect(await send(path, bodyOf(most))).toEqual([]);
    expect(Object.values(server.world.lastRecord!)).toContain(EMOJI.repeat(most));
    expect(give(kind, bodyOf(most + 1))).toEqual([`${member} SIZE`]);
    expect(give(kind, bodyOf(most))).toEqual([]);
  },
);

test("the name of an event may have 255 emoji, and no more", async () => {
  const times = { start: "2030-05-01T20:00", endDate: "2030-05-01T23:00" };
  const bodyOf = (length: number) => {
    return { name: EMOJI.repeat(length), schemaId: a.schemaId, ...times };
  };
  for (const path of [`${V1}/events/`, `${V2}/events/`]) {
    expect(await send(path, bodyOf(256))).toEqual(["name SIZE"]);
    expect(await send(path, bodyOf(255))).toEqual([]);
  }
  expect(give("createEvent", bodyOf(256))).toEqual(["name SIZE"]);
  expect(give("createEvent", bodyOf(255))).toEqual([]);
});
