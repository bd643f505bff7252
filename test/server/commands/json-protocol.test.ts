/** The reader of JSON frames remembers earlier commands; what it reads must not depend on them. */
import { array, assert, constantFrom, property, shuffledSubarray, tuple } from "fast-check";
import { expect, test } from "vitest";
import { Command, UNREADABLE } from "../../../server/commands/command.ts";
import { Handles } from "../../../server/commands/handles.ts";
import { JsonProtocol } from "../../../server/commands/json-protocol.ts";

const EVENTS = ["6f1c8f0e-58a5-4b0e-9a5d-0b8f3c1d2e4f", "00000000-0000-4000-8000-000000000001"];
const VALUES: Readonly<Record<string, readonly string[]>> = {
  n: ["1", "2", "33", "0", '"x"'],
  call: ['"lock"', '"unlock"', '"steal"'],
  eventId: EVENTS.map((id) => JSON.stringify(id)),
  sessionId: ['"ann"', '"bob"', '"annabel"', '""', "null", '"Zoë"'],
  holdType: ['"CART"', "null"],
  seats: ['[{"id":1}]', '[{"id":1},{"id":22}]', "[]", '[{"id":1,"capacity":2}]', '[{ "id":7}]'],
  groupOfSeats: ['[{"id":5,"capacity":2}]', "null"],
  idempotencyKey: ['"k"', "null"],
};
const MEMBERS = Object.keys(VALUES);
const USUAL = ["n", "call", "eventId", "sessionId", "seats"];

/** Members with their values: often in the usual order, sometimes in any, once in a while twice. */
const COMMAND = tuple(
  constantFrom(true, true, true, false),
  shuffledSubarray(MEMBERS),
  shuffledSubarray(MEMBERS, { maxLength: 1 }),
  tuple(...MEMBERS.map((name) => constantFrom(...VALUES[name]!))),
  constantFrom("", "", " "),
).map(([isUsual, any, twice, values, blank]) => {
  const names = isUsual ? USUAL : [...any, ...twice];
  const valueOf = (name: string) => values[MEMBERS.indexOf(name)]!;
  return `{${names.map((name) => `"${name}":${blank}${valueOf(name)}`).join(",")}}`;
});

const handles = new Handles({
  waitingBytes: 0,
  keep: () => true,
  release: () => {},
  send: () => true,
  close: () => {},
});

/** What was read, as values; null for a frame that cannot be read. */
function read(protocol: JsonProtocol, texts: readonly string[]): readonly unknown[] | null {
  const bytes = Uint8Array.from(Buffer.from(`[${texts.join(",")}]`));
  const commands = texts.map(() => new Command());
  const count = protocol.readFrame(bytes.buffer, handles, commands);
  if (count === UNREADABLE) return null;
  expect(count).toBe(texts.length);
  return commands.map((command) => {
    const { number, call, eventId, isUsual, body, json, invalid, idempotencyKey } = command;
    const text = json === null ? null : json.toString();
    const selection = structuredClone(body);
    return { number, call, eventId, isUsual, selection, text, invalid, idempotencyKey };
  });
}

test("a command is read alike, whatever commands come before it in the frame", () => {
  const protocol = new JsonProtocol();
  const alone = new JsonProtocol();
  let repeated = 0;
  assert(
    property(array(COMMAND, { minLength: 1, maxLength: 6 }), (texts) => {
      const each = texts.map((text) => read(alone, [text]));
      const expected = each.includes(null) ? null : each.flatMap((one) => one!);
      expect(read(protocol, texts)).toEqual(expected);
      if (expected !== null && expected.length > 1) repeated += 1;
    }),
    { numRuns: 5_000 },
  );
  expect(repeated).toBeGreaterThan(200);
});
