/** Times as text. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { localDateTime } from "../../../server/http/json.ts";

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
