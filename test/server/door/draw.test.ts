/** The order of a draw, and the command that recomputes it, against the plain definition. */
import { createHash, createHmac, randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { drain } from "../../../engine/inventory/steps.ts";
import { Draw, EntryChain } from "../../../server/door/draw.ts";
import { entryOf } from "../../../server/door/keys.ts";
import { judgeDraw } from "../../../server/door/verify-draw.ts";

function plainOrder(seed: Uint8Array, entries: readonly Uint8Array[], more = ""): number[] {
  const keyOf = (i: number) => {
    const entry = Buffer.from(entries[i]!).toString("hex");
    return createHmac("sha256", seed)
      .update(entry + more)
      .digest("hex");
  };
  return entries.map((_, i) => i).sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

test("any entries, with keys made ahead in parts → the order of their HMACs", () => {
  const entry = fc.uint8Array({ minLength: 16, maxLength: 16 });
  const list = fc.uniqueArray(entry, { maxLength: 60, selector: (one) => one.join(" ") });
  fc.assert(
    fc.property(
      list,
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.nat(60),
      (all, seed, n) => {
        const draw = new Draw(seed, (i) => all[i]!);
        drain(draw.prepare(Math.min(n, all.length)));
        expect([...drain(draw.order(all.length))]).toEqual(plainOrder(seed, all));
      },
    ),
  );
});

test("a beacon → the order of the HMACs over entry, colon and its value in UTF-8", () => {
  const entries = Array.from({ length: 200 }, () => randomBytes(16));
  const seed = randomBytes(32);
  for (const beacon of ["a3c1", "Lotto 7, 12, 23 – Übermorgen", ""]) {
    const draw = new Draw(seed, (i) => entries[i]!, beacon);
    expect([...drain(draw.order(200))]).toEqual(plainOrder(seed, entries, `:${beacon}`));
  }
});

function plainHash(entries: readonly Uint8Array[]): string {
  let hash: Uint8Array = Buffer.alloc(32);
  for (const entry of entries) {
    hash = createHash("sha256")
      .update(Buffer.concat([hash, entry]))
      .digest();
  }
  return Buffer.from(hash).toString("hex");
}

test("entries that join one after the other → the hash over all so far, in steps", () => {
  const entries = Array.from({ length: 2_000 }, () => randomBytes(16));
  const chain = new EntryChain((i) => entries[i]!);
  expect(chain.hash).toBe("00".repeat(32));
  for (const count of [0, 1, 2, 300, 300, 2_000]) {
    const steps = [...chain.follow(count)].length;
    expect(chain.hash).toBe(plainHash(entries.slice(0, count)));
    expect(steps).toBeLessThanOrEqual(7);
  }
});

test("twenty thousand entries → the order of their HMACs, in steps of a few milliseconds", () => {
  const entries = Array.from({ length: 20_000 }, () => randomBytes(16));
  const seed = randomBytes(32);
  const steps = new Draw(seed, (i) => entries[i]!).order(entries.length);
  let count = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) count += 1;
  expect([...step.value]).toEqual(plainOrder(seed, entries));
  expect(count).toBeGreaterThan(100);
});

const VISITORS = Array.from({ length: 30 }, (_, i) => `visitor number ${i} of the test`);
const ENTRIES = VISITORS.map((visitor) => entryOf(visitor).toString("hex"));
const SEED = createHash("sha256").update("a seed").digest();
const COMMITMENT = createHash("sha256").update(SEED).digest("hex");
const HASH = plainHash(VISITORS.map(entryOf));
const TIMES = { now: "2030-05-01T08:00:01.000", opensAt: "2030-05-01T08:00:00.000" };
const STATUS = {
  eventId: "an event",
  ...TIMES,
  draw: true,
  beacon: null,
  joined: 31,
  drawn: 30,
  joinedHash: HASH,
  commitment: COMMITMENT,
  seed: SEED.toString("hex"),
};

function judge(status: object, entries: readonly string[], visitor?: string, seen?: object) {
  const question = { visitor, seen: seen === undefined ? seen : JSON.stringify(seen) };
  return judgeDraw(JSON.stringify(status), `${entries.join("\n")}\n`, question);
}

test("a right draw → the place of a visitor, by id and by entry", () => {
  const order = plainOrder(SEED, VISITORS.map(entryOf));
  for (const [i, visitor] of VISITORS.entries()) {
    const place = order.indexOf(i) + 1;
    for (const name of [visitor, ENTRIES[i]!]) {
      const { isRight, lines } = judge(STATUS, ENTRIES, name);
      expect([isRight, lines.at(-1)]).toEqual([
        true,
        `The entry ${ENTRIES[i]!} has place ${place} of 30.`,
      ]);
    }
  }
  expect(judge(STATUS, ENTRIES).isRight).toBe(true);
});

test.each([
  ["another seed", { ...STATUS, seed: "00".repeat(32) }, ENTRIES, /not the one that was promised/],
  ["an entry is missing", STATUS, ENTRIES.slice(1), /29 lines for 30 entries/],
  ["an entry twice", STATUS, [...ENTRIES.slice(1), ENTRIES[1]!], /not that of the draw/],
  ["a line that is no entry", STATUS, [...ENTRIES.slice(1), "x"], /not that of the draw/],
  ["another entry", STATUS, ["0".repeat(32), ...ENTRIES.slice(1)], /not the one whose hash/],
  ["two entries in another order", STATUS, swapped(ENTRIES), /not the one whose hash/],
  [
    "a beacon that did not come",
    { ...STATUS, beacon: { name: "drand", value: null } },
    ENTRIES,
    /"drand" did not come in time/,
  ],
])("%s → not right", (_, status, entries, said) => {
  const { isRight, lines } = judge(status, entries, VISITORS[0]);
  expect(isRight).toBe(false);
  expect(lines.join("\n")).toMatch(said);
});

function swapped([first, second, ...others]: readonly string[]): string[] {
  return [second!, first!, ...others];
}

test("a beacon → named, and the places are those with its value", () => {
  const status = { ...STATUS, beacon: { name: "drand round 7", value: "a3c1" } };
  const order = plainOrder(SEED, VISITORS.map(entryOf), ":a3c1");
  for (const [i, visitor] of VISITORS.entries()) {
    const { isRight, lines } = judge(status, ENTRIES, visitor);
    expect([isRight, lines.at(-1)]).toEqual([
      true,
      `The entry ${ENTRIES[i]!} has place ${order.indexOf(i) + 1} of 30.`,
    ]);
    expect(lines.join("\n")).toContain(`"drand round 7" has the value "a3c1"`);
  }
});

const BEFORE = "2030-05-01T07:59:59.999";
const SEEN = {
  ...STATUS,
  now: BEFORE,
  joined: 20,
  drawn: 0,
  joinedHash: plainHash(VISITORS.slice(0, 20).map(entryOf)),
  seed: null,
};

test.each<[string, object, boolean, RegExp]>([
  ["from before", SEEN, true, /first 20 entries are those that were seen/],
  ["before anybody joined", { ...SEEN, joined: 0, joinedHash: plainHash([]) }, true, /first 0/],
  ["from the opening, with later visitors", { ...STATUS, joined: 77 }, true, /first 30 entries/],
  ["with another hash", { ...SEEN, joinedHash: HASH }, false, /first 20 entries are not/],
  ["of more entries than were drawn", { ...SEEN, joined: 31 }, false, /first 31 entries are not/],
  ["with another commitment", { ...SEEN, commitment: "00" }, false, /another one than was seen/],
  ["with a beacon", { ...SEEN, beacon: { name: "x" } }, false, /another one than was seen/],
])("a status that was seen: %s", (_, seen, isRight, said) => {
  const verdict = judge(STATUS, ENTRIES, VISITORS[3], seen);
  expect([verdict.isRight, verdict.lines.join("\n")]).toEqual([
    isRight,
    expect.stringMatching(said),
  ]);
});

test("a status of another event → a usage error", () => {
  const seen = { ...SEEN, eventId: "another" };
  expect(() => judge(STATUS, ENTRIES, undefined, seen)).toThrow(/another event/);
});

test("a visitor who was not drawn → not right", () => {
  expect(judge(STATUS, ENTRIES, "somebody else of the test")).toMatchObject({ isRight: false });
});

test("no draw, no seed, no JSON → a usage error", () => {
  expect(() => judge({ ...STATUS, draw: false }, ENTRIES)).toThrow(/no draw/);
  expect(() => judge({ ...STATUS, seed: null }, ENTRIES)).toThrow(/no seed/);
  expect(() => judgeDraw("nonsense", "")).toThrow(/no JSON/);
});
