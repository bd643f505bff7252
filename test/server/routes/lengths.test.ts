/** Texts are measured in code points by their shape alone: v1, v2 and the library agree. */
import { expect, test } from "vitest";
import { commandErrors } from "../../../persistence/store/shape-check.ts";
import { sampleCommand } from "../../support/samples.ts";
import { TestServer, V2 } from "../../support/server.ts";
import { expectProblem } from "../wire/wire.ts";

const V1 = "/api/private/v1.0";
/** One code point, two UTF-16 units, four bytes of UTF-8. */
const EMOJI = "\u{1f3ad}";

const server = new TestServer();
const { a } = server;

/** The field and code of each error that a library caller gets. */
function libraryErrors(kind: "lock" | "directsale" | "createEvent", changes: object): string[] {
  const command = sampleCommand(kind, a.caller);
  const errors = commandErrors({ ...command, body: { ...command.body, ...changes } } as never);
  return errors.map(({ field, code }) => `${field} ${code}`);
}

test.each([
  ["sessionId", "lock", 255],
  ["holdType", "directsale", 64],
] as const)("a %s of a %s may have %i emoji, and no more", async (member, kind, lengthMax) => {
  const path = `${V2}/booking/${kind}`;
  const send = (length: number) => {
    const seats = [{ id: a.labels.idOf(kind === "lock" ? "A1" : "A2") }];
    const body = { seats, [member]: EMOJI.repeat(length) };
    return server.call("POST", `${path}?eventId=${a.eventId}`, { key: a.key, body });
  };
  const errors = [`${member} SIZE`];
  expectProblem(await send(lengthMax + 1), {
    status: 400,
    errorCode: "VALIDATION_FAILED",
    path,
    errors,
  });
  expect((await send(lengthMax)).text).toBe("true");
  expect(server.world.lastRecord).toMatchObject({
    [member === "sessionId" ? "session" : member]: EMOJI.repeat(lengthMax),
  });
  expect(libraryErrors(kind, { [member]: EMOJI.repeat(lengthMax) })).toEqual([]);
  expect(libraryErrors(kind, { [member]: EMOJI.repeat(lengthMax + 1) })).toEqual([
    `body.${member} SIZE`,
  ]);
});

test("a name may have 255 emoji, and no more", async () => {
  const times = { start: "2030-05-01T20:00", endDate: "2030-05-01T23:00" };
  const event = (length: number) => ({
    name: EMOJI.repeat(length),
    schemaId: a.schemaId,
    ...times,
  });
  for (const path of [`${V1}/events/`, `${V2}/events/`]) {
    const create = (length: number) =>
      server.call("POST", path, { key: a.key, body: event(length) });
    expectProblem(await create(256), {
      status: 400,
      errorCode: "VALIDATION_FAILED",
      path,
      errors: ["name SIZE"],
    });
    expect((await create(255)).status).toBeLessThan(300);
  }
  expect(libraryErrors("createEvent", event(255))).toEqual([]);
  expect(libraryErrors("createEvent", event(256))).toEqual(["body.name SIZE"]);
});
