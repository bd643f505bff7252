/** The order of a draw, and the command that recomputes it, against the plain definition. */
import { createHash, createHmac, randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { drain } from "../../../engine/inventory/steps.ts";
import { Draw } from "../../../server/door/draw.ts";
import { entryOf } from "../../../server/door/keys.ts";
import { judgeDraw } from "../../../server/door/verify-draw.ts";

function plainOrder(seed: Uint8Array, entries: readonly Uint8Array[]): number[] {
  const keyOf = (i: number) =>
    createHmac("sha256", seed).update(Buffer.from(entries[i]!).toString("hex")).digest("hex");
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
const STATUS = { draw: true, drawn: 30, commitment: COMMITMENT, seed: SEED.toString("hex") };

function judge(status: object, entries: readonly string[], visitor?: string) {
  return judgeDraw(JSON.stringify(status), `${entries.join("\n")}\n`, visitor);
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
])("%s → not right", (_, status, entries, said) => {
  const { isRight, lines } = judge(status, entries, VISITORS[0]);
  expect(isRight).toBe(false);
  expect(lines.join("\n")).toMatch(said);
});

test("a visitor who was not drawn → not right", () => {
  expect(judge(STATUS, ENTRIES, "somebody else of the test")).toMatchObject({ isRight: false });
});

test("no draw, no seed, no JSON → a usage error", () => {
  expect(() => judge({ ...STATUS, draw: false }, ENTRIES)).toThrow(/no draw/);
  expect(() => judge({ ...STATUS, seed: null }, ENTRIES)).toThrow(/no seed/);
  expect(() => judgeDraw("nonsense", "")).toThrow(/no JSON/);
});
