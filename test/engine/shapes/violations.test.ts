/** Violations of shapes as field errors, in the notation and the codes of the interface. */
import { expect, test } from "vitest";
import { fieldErrorOf, type Violation } from "../../../engine/violations.ts";

const NOTHING = { keyword: "", instancePath: "", params: {} };

const CASES: readonly (readonly [Partial<Violation>, string])[] = [
  [{ keyword: "required", params: { missingProperty: "name" } }, "name NOT_NULL"],
  [
    { keyword: "required", instancePath: "/a/0", params: { missingProperty: "b" } },
    "a[0].b NOT_NULL",
  ],
  [{ keyword: "type", instancePath: "/name", schema: "string", data: null }, "name NOT_NULL"],
  [{ keyword: "type", instancePath: "/0/name", schema: "string", data: 7 }, "[0].name TYPE"],
  [{ keyword: "maxLength", instancePath: "/a~1b/c~0d", schema: 3, data: "x" }, "a/b.c~d SIZE"],
  [{ keyword: "additionalProperties", params: { additionalProperty: "more" } }, "more UNKNOWN"],
  [{ keyword: "const", instancePath: "/a", data: 1 }, "a CONST"],
];

test.each(CASES)("%j is reported as %s", (violation, expected) => {
  const { field, code } = fieldErrorOf({ ...NOTHING, ...violation });
  expect(`${field} ${code}`).toBe(expected);
});

test("the message names the limit, and the rejected value is kept", () => {
  const violation = { ...NOTHING, keyword: "type", schema: ["string", "null"], data: 7 };
  expect(fieldErrorOf(violation)).toEqual({
    field: "",
    code: "TYPE",
    message: "must be a string or null",
    rejectedValue: 7,
  });
  const { message } = fieldErrorOf({ ...NOTHING, keyword: "type", schema: "integer", data: "7" });
  expect(message).toBe("must be an integer");
});
