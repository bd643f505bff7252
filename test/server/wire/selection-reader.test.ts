/**
 * The fast reader of booking bodies, compared with the general parser and validator: whatever it
 * reads, they accept and read the same. `npm run fuzz` runs this for longer.
 */
import { expect, test } from "vitest";
import { BOOKING_ROUTES } from "../../../server/routes/booking.ts";
import { checksOf } from "../../../server/api/validate.ts";
import { parseJson } from "../../../server/http/json.ts";
import { SelectionReader } from "../../../server/http/selection-reader.ts";
import { Random } from "../../sim/workload/random.ts";

const SEED = Number(process.env["FRONTROW_FUZZ_SEED"] ?? 1);
const RUNS = Number(process.env["FRONTROW_FUZZ_RUNS"] ?? 100_000);

const checks = checksOf(BOOKING_ROUTES[0]!);
const reader = new SelectionReader();

/** Bodies in the form that the fast reader knows, from an empty one to one with everything. */
const USUAL: readonly string[] = [
  "{}",
  '{"seats":[]}',
  '{"seats":[{"id":7}]}',
  '{"sessionId":"s","seats":[{"id":1},{"id":2}]}',
  '{"seats":[{"id":1},{"id":2}],"sessionId":"s"}',
  '{"groupOfSeats":[{"id":4,"capacity":2}]}',
  '{"groupOfSeats":[{"capacity":2,"id":4}],"seats":null,"holdType":"CART"}',
  '{"sessionId":null,"seats":[{"id":9,"capacity":null}],"groupOfSeats":null,"holdType":null}',
  '{"sessionId":"5bd2e1f8-6d0e-4bbb-9c9c-0f6f0d1f4a55","seats":[{"id":900000000000001}]}',
  ' {"sessionId": "a b", "seats": [{"id": 1}, {"id": 2, "capacity": null}]}\n',
  '{\r\n\t"holdType" : "RESERVED" ,\r\n\t"seats" : [ { "id" : 1 } ]\r\n}',
  `{"sessionId":"${"~".repeat(255)}","seats":[{"id":1}],"holdType":"${"x".repeat(64)}"}`,
  `{"seats":[${Array.from({ length: 30 }, (_, i) => `{"id":${i + 1}}`).join(",")}]}`,
  '{"sessionId":"constructor","holdType":"__proto__","seats":[{"id":1}]}',
];

/** Parts of valid and invalid bodies. */
const PIECES: readonly string[] = [
  ...Array.from('{}[],:"\\ \n\t\0\u00e9\u20ac0123456789-+.eE'),
  ...'null true {} [] "" \\u0000 \\ud800 \ufeff \u007f // 1e3 1.0 -1 01 0'.split(" "),
  ..."9007199254740991 9007199254740993 999999999999999 1000000000000000".split(" "),
  ...'"id":1 "id":2, "capacity":1 "capacity":null "sessionId":"x", "x":1,'.split(" "),
  ...'"seats":[{"id":1}], "seats":null, "groupOfSeats":[], "holdType":"CART",'.split(" "),
  '"holdType":" CART",',
  '"holdType":"House  Seats",',
  ...'"__proto__":{}, "constructor":1, {"id":3}, ,{"id":4,"capacity":5}'.split(" "),
];

/** @returns Whether the fast reader read it. Fails when the general parser disagrees. */
function compare(bytes: Buffer): boolean {
  const read = reader.read(bytes);
  if (read === null) return false;
  const parsed = parseJson(bytes);
  const value = parsed.ok ? checks.compose(parsed.value) : null;
  const faults = parsed.ok ? checks.body(value) : [];
  // An assertion for each of a million bodies would take minutes.
  const isSame = parsed.ok && faults.length === 0 && canonical(read) === canonical(value as object);
  if (!isSame) expect([bytes.toString("latin1"), read]).toEqual([parsed, faults]);
  return true;
}

/** The value as JSON, with its members sorted by name. */
function canonical(value: object): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

test.each(USUAL)("the body %s is read", (text) => {
  expect(compare(Buffer.from(text))).toBe(true);
});

test("bodies with one byte changed, removed, doubled or cut off are read alike", () => {
  let readCount = 0;
  for (const text of USUAL) {
    const usual = Buffer.from(text);
    for (let at = 0; at < usual.length; at++) {
      const changed = Buffer.from(usual);
      for (let byte = 0; byte < 256; byte++) {
        changed[at] = byte;
        readCount += Number(compare(changed));
      }
      const [before, from] = [usual.subarray(0, at), usual.subarray(at)];
      readCount += Number(compare(before));
      readCount += Number(compare(Buffer.concat([before, from.subarray(1)])));
      readCount += Number(compare(Buffer.concat([before, from.subarray(0, 1), from])));
    }
  }
  expect(readCount).toBeGreaterThan(10_000);
});

test(`${RUNS} random bodies are read alike, seed ${SEED}`, { timeout: 3_600_000 }, () => {
  const random = new Random(SEED);
  let readCount = 0;
  for (let run = 0; run < RUNS; run++) readCount += Number(compare(mutate(random)));
  expect(readCount).toBeGreaterThan(RUNS / 100);
});

/** Inserts, replaces or removes one to four pieces of a usual body. */
function mutate(random: Random): Buffer {
  let bytes = Buffer.from(random.pick(USUAL));
  for (let change = random.below(4); change >= 0; change--) {
    const at = random.below(bytes.length + 1);
    const end = Math.min(bytes.length, at + random.below(random.once(4) ? 20 : 3));
    const piece = random.once(3) ? Buffer.alloc(0) : Buffer.from(random.pick(PIECES));
    bytes = Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(end)]);
  }
  return bytes;
}

const NOT_USUAL: readonly (readonly [string, string])[] = [
  ["an empty body", ""],
  ["an escape", '{"sessionId":"\\u0041"}'],
  ["a letter outside ASCII", '{"sessionId":"é"}'],
  ["an unknown member", '{"note":1,"seats":[{"id":1}]}'],
  ["a member twice", '{"seats":[{"id":1}],"seats":[{"id":2}]}'],
  ["an id twice", '{"seats":[{"id":1,"id":2}]}'],
  ["a number with a decimal point", '{"seats":[{"id":1.0}]}'],
  ["a number with sixteen digits", '{"seats":[{"id":1000000000000000}]}'],
  ["a session that is too long", `{"sessionId":"${"x".repeat(256)}"}`],
  ["a hold type that is too long", `{"holdType":"${"x".repeat(65)}"}`],
  ["a control character", '{"sessionId":"\u007f"}'],
  ["text after the body", "{}{}"],
];

test.each(NOT_USUAL)("%s is left to the general parser", (_, text) => {
  expect(reader.read(Buffer.from(text))).toBeNull();
});
