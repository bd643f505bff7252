/** The reader of JSON frames remembers earlier commands; what it reads must not depend on them. */
import {
  array,
  assert,
  constant,
  constantFrom,
  oneof,
  property,
  shuffledSubarray,
  tuple,
} from "fast-check";
import { expect, test } from "vitest";
import { Command, Handles, UNREADABLE } from "../../../server/commands/command.ts";
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

/** Which value of each member; the first is frequent. */
const CHOICES = tuple(
  ...MEMBERS.map((name) => constantFrom(0, 0, 0, 0, 0, ...VALUES[name]!.keys())),
);

function textOf(names: readonly string[], choices: readonly number[], blank: string): string {
  const valueOf = (name: string) => VALUES[name]![choices[MEMBERS.indexOf(name)]!]!;
  return `{${names.map((name) => `"${name}":${blank}${valueOf(name)}`).join(",")}}`;
}

/** Members in any order, some of them twice. */
const ANY = tuple(
  shuffledSubarray(MEMBERS),
  shuffledSubarray(MEMBERS, { maxLength: 1 }),
  CHOICES,
  constantFrom("", " "),
).map(([any, twice, choices, blank]) => textOf([...any, ...twice], choices, blank));

/** The usual members in one order for all commands, now and then without one of them. */
const ALIKE = tuple(
  oneof(constant(USUAL), shuffledSubarray(USUAL, { minLength: USUAL.length })),
  array(tuple(constantFrom(-1, -1, 0, 1, 2), CHOICES), { minLength: 1, maxLength: 5 }),
).map(([order, commands]) =>
  commands.map(([left, choices]) => {
    return textOf(
      order.filter((_, i) => i !== left),
      choices,
      "",
    );
  }),
);
const FRAME = oneof(
  { arbitrary: ALIKE, weight: 4 },
  array(ANY, { minLength: 1, maxLength: 5 }),
  tuple(ALIKE, ANY, ALIKE).map(([before, one, after]) => [...before, one, ...after]),
);

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
    property(FRAME, (texts) => {
      const each = texts.map((text) => read(alone, [text]));
      const expected = each.includes(null) ? null : each.flatMap((one) => one!);
      expect(read(protocol, texts)).toEqual(expected);
      if (expected !== null && expected.length > 1) repeated += 1;
    }),
    { numRuns: 5_000 },
  );
  expect(repeated).toBeGreaterThan(200);
});
