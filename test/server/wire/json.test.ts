/** JSON: what is accepted in bodies, how numbers are given back, and how times are written. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  LAYOUT_LIMITS,
  localDateTime,
  parseJson,
  parseLongJson,
} from "../../../server/http/json.ts";
import { MANAGEMENT, TestServer, V2 } from "../../support/server.ts";

function reasonOf(text: string | Buffer): string {
  const parsed = parseJson(Buffer.from(text as string));
  return parsed.ok ? "" : parsed.reason;
}

function valueOf(text: string): unknown {
  const parsed = parseJson(Buffer.from(text));
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.value;
}

const EMPTY = "The body is empty: send JSON.";
const mistakeAt = (character: number) =>
  `The body is not JSON: there is a mistake at character ${character}.`;
const endsAfter = (character: number) =>
  `The body is not JSON: it ends too early, after character ${character}.`;
const REFUSED: readonly (readonly [string, string | Buffer, RegExp | string])[] = [
  ["an empty body", "", EMPTY],
  ["a byte order mark alone", "\ufeff", EMPTY],
  ["blanks", " \n ", EMPTY],
  ["a word", "lock", mistakeAt(1)],
  ["single quotes", "{'a':1}", mistakeAt(2)],
  ["a trailing comma in a list", "[1,]", mistakeAt(4)],
  ["a trailing comma in an object", '{"a":1, }', mistakeAt(9)],
  ["a comment", "{} // no", mistakeAt(4)],
  ["two values", "1 2", mistakeAt(3)],
  ["a value and a brace", "{}}", mistakeAt(3)],
  ["a bracket of the other kind", '{"a":[1}', mistakeAt(8)],
  ["a list with a name", '["a":1]', mistakeAt(5)],
  ["a member without a colon", '{"a" 1}', mistakeAt(6)],
  ["a member without a comma", '{"a":1 "b":2}', mistakeAt(8)],
  ["a name that is no text", "{1:2}", mistakeAt(2)],
  ["a body that ends in an object", '{"a":[{"b":1},', endsAfter(14)],
  ["a body that ends after a colon", '{"a": ', endsAfter(6)],
  ["a body that ends in a text", '{"a":"x\\n', endsAfter(9)],
  ["a body that ends in an escape", '{"a":"x\\', endsAfter(8)],
  ["a body that ends in a name", '{"a', endsAfter(3)],
  ["an unknown escape", '["a\\x"]', mistakeAt(2)],
  ["a zero byte after the value", "{}\0", mistakeAt(3)],
  ["a control character in a string", '"a\u0001b"', mistakeAt(1)],
  ["NaN", "NaN", mistakeAt(1)],
  ["Infinity", "-Infinity", mistakeAt(1)],
  ["a number with a plus", "+1", mistakeAt(1)],
  ["a number with a leading zero", "[1, 01]", mistakeAt(5)],
  ["two byte order marks", "\ufeff\ufeff{}", mistakeAt(1)],
  ["UTF-16", Buffer.from("\ufeff{}", "utf16le"), /UTF-8|JSON/],
  ["a lone continuation byte", Buffer.from([0x22, 0x80, 0x22]), /UTF-8/],
  ["half a character in UTF-8", Buffer.from([0x22, 0xc3, 0x22]), /UTF-8/],
  ["an overlong slash", Buffer.from([0x22, 0xc0, 0xaf, 0x22]), /UTF-8/],
  ["a surrogate as bytes", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), /UTF-8/],
  ["a code point past the last", Buffer.from([0x22, 0xf4, 0x90, 0x80, 0x80, 0x22]), /UTF-8/],
  ["33 lists", "[".repeat(33) + "]".repeat(33), /32/],
  ["33 objects", '{"a":'.repeat(33) + "1" + "}".repeat(33), /32/],
  ["a million brackets", "[".repeat(1_000_000), /32/],
  ["__proto__", '{"__proto__":{"admin":true}}', /__proto__/],
  ["__proto__ with an escape", '{"__pr\\u006fto__":1}', /__proto__/],
  ["__proto__ in a nested object", '[[{"a":[{"__proto__":1}]}]]', /__proto__/],
  ["constructor", '{"constructor":{"prototype":{}}}', /constructor/],
  ["prototype with an escape", '{"\\u0070rototype":1}', /prototype/],
  ["the first half of a character", '"\\ud800"', /half/],
  ["the second half alone", '"a\\udc00"', /half/],
  ["halves in the wrong order", '"\\udc00\\ud800"', /half/],
  ["half a character in a nested value", '{"a":[{"b":"\\uD83D"}]}', /half/],
  ["half a character in a name", '{"\\uD83D":1}', /half/],
];

test.each(REFUSED)("%s is refused", (_, text, reason) => {
  expect(reasonOf(text)).toMatch(reason);
});

const ACCEPTED: readonly (readonly [string, string, unknown])[] = [
  ["32 lists", "[".repeat(32) + "]".repeat(32), expect.any(Array)],
  ["brackets in a string", `"${"[".repeat(100)}"`, "[".repeat(100)],
  ["brackets after an escaped quote", '["\\"[[[[", "\\\\"]', ['"[[[[', "\\"]],
  ["many lists side by side", `[${"[],".repeat(100)}[]]`, expect.any(Array)],
  ["blanks around a value", " \r\n\t{}\n ", {}],
  ["a character as two escaped halves", '"\\ud83c\\udfad"', "🎭"],
  ["a character outside the basic plane", '"🎭"', "🎭"],
  ["a forbidden name as a string", '{"a":"__proto__"}', { a: "__proto__" }],
  ["a name that begins with a forbidden one", '{"__proto__x":1}', { __proto__x: 1 }],
  ["a member twice, of which the last counts", '{"a":1,"a":2}', { a: 2 }],
  ["an escaped zero byte", '"\\u0000"', "\0"],
  ["a line separator", '"\u2028"', "\u2028"],
];

test("a text of 16 KiB that is not JSON → its mistake; a longer one → none, which would take long", () => {
  const text = JSON.stringify(Array.from({ length: 1_200 }, (_, i) => `\\"${i}[{`));
  expect(reasonOf(`${text},`)).toBe(mistakeAt(text.length + 1));
  expect(reasonOf(text.slice(0, -1))).toBe(endsAfter(text.length - 1));
  expect(reasonOf(`"${"\\n".repeat(8_000)}`)).toBe(endsAfter(16_001));
  expect(reasonOf(`"${"\\n".repeat(8_192)}`)).toBe("The body is not JSON.");
});

test.each(ACCEPTED)("%s is accepted", (_, text, value) => {
  expect(valueOf(text)).toEqual(value);
});

/** In a long body too, where it is the member of a list of an object. */
const inAList = (text: string | Buffer) =>
  Buffer.concat([Buffer.from('{"list":[1,'), Buffer.from(text as string), Buffer.from("]}")]);

test.each([...REFUSED, ...ACCEPTED])("%s has the same result in a long body", (_, text) => {
  for (const body of [Buffer.from(text as string), inAList(text)]) {
    const [long, short] = [parseLongJson(body), parseJson(body)];
    expect(JSON.stringify(long)).toBe(JSON.stringify(short));
  }
});

test("a refusal does not quote the body", () => {
  for (const text of ['{"password":"hunter2"', "hunter2"]) {
    expect(reasonOf(text)).not.toContain("hunter2");
  }
});

test("no body can change Object.prototype", () => {
  reasonOf('{"__proto__":{"admin":true}}');
  expect(({} as { admin?: boolean }).admin).toBeUndefined();
});

const NUMBERS: readonly (readonly [string, number])[] = [
  ["9007199254740991", 404],
  ["9007199254740992", 400],
  ["9007199254740993", 400],
  ["9223372036854775807", 400],
  ["1e400", 400],
  ["-1e400", 400],
  ["-0", 400],
  ["0.9999999999999999", 400],
  ["1.5", 400],
  ["1e2", 404],
  ["100.0", 404],
];

test("an id that is not a safe integer is refused, not rounded to another id", async () => {
  const server = new TestServer();
  for (const [id, status] of NUMBERS) {
    const body = `{"id":${id},"name":"x"}`;
    const reply = await server.put(`${V2}/venues/`, body);
    expect([id, reply.status]).toEqual([id, status]);
  }
});

test("the answer to a large or deep value is short", async () => {
  const server = new TestServer();
  const deep = `${"[".repeat(30)}${"]".repeat(30)}`;
  for (const name of [deep, `"${"🎭".repeat(600)}"`, "{}", "1e400", "[1,2]"]) {
    const body = `{"name":${name}}`;
    const reply = await server.post(`${V2}/venues/`, body);
    expect([name, reply.status]).toEqual([name, 400]);
    expect(reply.text.length).toBeLessThan(2_000);
  }
});

test("brackets after an escaped quotation mark are text", () => {
  const text = JSON.stringify([`"${"[".repeat(40)}`]);
  expect(parseJson(Buffer.from(text)).ok).toBe(true);
});

const server = new TestServer();
const { eventId } = server.a;

/** The text of every rejected value of an answer. */
function rejected(text: string): string[] {
  return Array.from(text.matchAll(/"rejectedValue":(.*?),"code"/g), ([, value]) => value!);
}

const LONG = "9007199254740993";

test.each([
  ["a seat", `{"seats":[{"id":1},{"id":${LONG}}]}`, [LONG]],
  [
    "a capacity, which the engine refuses",
    `{"groupOfSeats":[{"id":1,"capacity":${LONG}}]}`,
    [LONG],
  ],
  ["several numbers", `{"seats":[{"id":-${LONG}},{"id":1e400}]}`, [`-${LONG}`, "1e400"]],
  ["a fraction", `{"seats":[{"id":0.12345678901234567890}]}`, ["0.12345678901234567890"]],
  ["a number behind a text", `{"sessionId":"\\"[{1: 2","seats":[{"id":${LONG}}]}`, [LONG]],
  ["a number behind a mark", `\ufeff{"seats":[{"id":${LONG}}]}`, [LONG]],
  ["a number under a strange name", `{"seats":[{"id":1}],"fences":{"a}-[b.c":0.5}}`, ["null"]],
  ["a very long number", `{"seats":[{"id":${"9".repeat(300)}}]}`, ["null"]],
])("%s in a body", async (_, body, values) => {
  const reply = await server.post(server.bookingPath("lock"), body);
  expect([reply.status, rejected(reply.text)]).toEqual([400, values]);
  expect(reply.body.errors).toHaveLength(values.length);
});

test("a number in the path or in the query", async () => {
  const seats = `${V2}/events/${eventId}/seats/`;
  for (const [target, value] of [
    [`${V2}/venues/${LONG}`, LONG],
    [`${V2}/venues/-0${LONG}`, `-${LONG}`],
    [`${seats}?sectionId=${LONG}`, LONG],
    [`${seats}?page=${LONG}`, LONG],
    [`${seats}?size=101`, "101"],
    [`${seats}?size=0`, "0"],
    [`${seats}?size=1e9`, '"1e9"'],
  ] as const) {
    const { text } = await server.get(target);
    expect([target, rejected(text)]).toEqual([target, [value]]);
  }
});

test("a number in the place of a password is not given back", async () => {
  const body = `{"name":"x","password":${LONG}.5}`;
  const reply = await server.post(`${MANAGEMENT}/organizations/`, body, {
    key: server.tenantToken,
  });
  expect(reply.text).not.toContain(LONG);
});

test("a time has three decimals and no offset, whatever was formatted before it", () => {
  const soon = fc.integer({ min: 1_790_000_000_000, max: 1_790_000_002_500 });
  const ever = fc.integer({ min: 0, max: 4_000_000_000_000 });
  fc.assert(
    fc.property(fc.array(fc.oneof(soon, ever), { minLength: 1 }), (times) => {
      const shown = times.map(localDateTime);
      expect(shown).toEqual(times.map((timeMs) => new Date(timeMs).toISOString().slice(0, -1)));
    }),
  );
});

const TOO_MUCH: readonly (readonly [string, string, string])[] = [
  ["numbers", `{"seats":[${"0,".repeat(LAYOUT_LIMITS.values)}0]}`, "6000000 values"],
  ["lists", `{"shapes":[{"points":[${"[],".repeat(LAYOUT_LIMITS.containers)}[]]}]}`, "1000000 obj"],
  [
    "members",
    `{"seats":[{},{"a":{${Array.from({ length: 32_769 }, (_, i) => `"${i}":0`).join()}}}]}`,
    "32768 members in one object",
  ],
];

test.each(TOO_MUCH)("a layout with too many %s → refused while it is read", (_, text, limit) => {
  // The rest is not JSON: it is not reached.
  const parsed = parseLongJson(Buffer.from(`${text}{{{`), LAYOUT_LIMITS);
  const message = expect.stringContaining(limit) as string;
  expect(parsed).toMatchObject({ ok: false, errors: [{ field: "", code: "SIZE", message }] });
});

test("members of one object are counted apart from those of the next", () => {
  const seats = Array.from({ length: 4 }, () => ({ a: 1, b: { c: 2 } }));
  const bytes = Buffer.from(
    JSON.stringify({ seats, rows: seats, clientViewBox: { x: 1, y: 2, w: 3 } }),
  );
  const within = { values: 100, membersOfObject: 3 };
  expect(parseJson(bytes, within).ok).toBe(true);
  expect(parseJson(bytes, { ...within, membersOfObject: 2 }).ok).toBe(false);
});
