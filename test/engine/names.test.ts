/** The stored form of names, the characters that they may not have, and when two are the same. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { isName, labelKey, MARKS_IN_A_ROW_MAX, normalName, visible } from "../../engine/names.ts";
import { FORMATS } from "../../engine/schema.ts";
import { composerOf } from "../../engine/violations.ts";

const STORED: readonly (readonly [what: string, sent: string, stored: string])[] = [
  ["a blank before", " Box 1", "Box 1"],
  ["blanks after", "Box 1  ", "Box 1"],
  ["two inner blanks", "Box  1", "Box 1"],
  ["a no-break blank", "Box\u00a01", "Box 1"],
  ["a narrow no-break blank", "Box\u202f1", "Box 1"],
  ["an em blank after", "Box 1\u2003", "Box 1"],
  ["an ideographic blank before", "\u3000Box 1", "Box 1"],
  ["blanks of several kinds", "Box \u00a0\u2009 1", "Box 1"],
  ["a line separator", "Box\u20281", "Box 1"],
  ["an empty braille cell", "Box\u28001", "Box 1"],
  ["a filler of Hangul", "Box\u31641", "Box 1"],
  ["an accent on its own", "Loge e\u0301", "Loge é"],
  ["nothing but blanks", " \u00a0\u2003", ""],
];

test.each(STORED)("a name with %s is stored without it", (_, sent, stored) => {
  expect(normalName(sent)).toBe(stored);
  expect(labelKey(sent)).toBe(labelKey(stored));
});

test("a normal name stays as it is, and plain names are their own keys", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (name) => {
      const stored = normalName(name);
      expect(normalName(stored)).toBe(stored);
      expect(labelKey(stored)).toBe(labelKey(name));
    }),
  );
  for (const name of ["A", "Box 1", "a;b", "~"]) {
    expect([normalName(name), labelKey(name)]).toEqual([name, name]);
  }
});

const REFUSED: readonly (readonly [what: string, name: string])[] = [
  ["zero-width blank", "A\u200b"],
  ["word joiner", "A\u2060"],
  ["byte order mark", "\ufeffA"],
  ["soft hyphen", "A\u00adB"],
  ["left-to-right mark", "A\u200e"],
  ["right-to-left mark", "\u200fא"],
  ["Arabic letter mark", "\u061cA"],
  ["direction override", "\u202eA"],
  ["direction isolate", "\u2066A\u2069"],
  ["ZWJ at the end", "A\u200d"],
  ["ZWNJ at the start", "\u200cA"],
  ["ZWJ beside a digit", "1\u200d2"],
  ["ZWNJ beside a blank", "A\u200c B"],
  ["two joiners", "A\u200d\u200dB"],
  ["tag of an emoji", "🏴\u{e0067}\u{e007f}"],
  ["tab", "A\tB"],
  ["line break", "A\n"],
  ["NUL", "\0"],
  ["half of a character", "\ud800"],
];

test.each(REFUSED)("a name with a %s is refused", (_, name) => {
  expect(isName(normalName(name))).toBe(false);
});

test.each([
  ["Persian", "می\u200cخواهم"],
  ["Sanskrit", "क्\u200dष"],
  ["Bengali", "র\u200d্য"],
  ["a family", "👨\u200d👩\u200d👧"],
  ["a profession with a skin tone", "👩🏽\u200d🚀"],
  ["a flag", "🏳️\u200d🌈"],
  ["Hebrew without marks", "שורה א"],
])("joiners within %s are kept", (_, name) => {
  expect([normalName(name), isName(name)]).toEqual([name, true]);
});

test.each([
  ["a full-width letter", "Ａ", "A"],
  ["full-width digits", "Box １２", "Box 12"],
  ["half-width kana", "ｶﾌﾞ", "カブ"],
  ["a ligature", "Oﬃce", "Office"],
  ["a circled digit", "①", "1"],
  ["a Roman numeral", "Ⅻ", "XII"],
  ["a joiner between letters", "A\u200dB", "AB"],
])("a label with %s is the same as one without", (_, one, other) => {
  expect([isName(one), normalName(one), labelKey(one)]).toEqual([true, one, labelKey(other)]);
});

test("labels that differ for the eye are two", () => {
  const labels = ["A", "a", "Á", "B", "1", "01", "10", "A1", "A 1", "А", "א", "می\u200cخواهم"];
  expect(new Set(labels.map(labelKey)).size).toBe(labels.length);
});

test("a text that people see has no character that disguises others, and means the same as JSON", () => {
  const harmless = "Müller 座席 \u{1f468}\u200d\u{1f469} שלום\n\tend";
  expect(visible(harmless)).toBe(harmless);
  const disguised =
    "a\u202eb\u2028c\u2029d\u2066e\u061cf\u200bg\ufeffh\u009bi\u001bj\u{e0041}\ud800";
  const shown = visible(disguised);
  expect(shown).toBe(
    String.raw`a\u202eb\u2028c\u2029d\u2066e\u061cf\u200bg\ufeffh\u009bi\u001bj\udb40\udc41\ud800`,
  );
  expect(JSON.parse(visible(JSON.stringify({ disguised })))).toEqual({ disguised });
  expect(visible(shown)).toBe(shown);
});

/** Out of their canonical order, so that composing would move each over all the others. */
const marks = (count: number) => "\u0301".repeat(count / 2) + "\u0323".repeat(count / 2);

test("30 marks in a row are composed; more are left as they are, and refused", () => {
  const [some, many] = [`a${marks(MARKS_IN_A_ROW_MAX)}`, `a${marks(MARKS_IN_A_ROW_MAX + 2)}`];
  // Composing these would take minutes.
  const countless = `a${marks(300_000)}`;
  for (const format of ["name", "text", "email"]) {
    const stored = (text: string) => composerOf({ type: "string", format })!(text) as string;
    expect(stored(some)).toBe(some.normalize("NFC"));
    expect([stored(many), stored(countless)]).toEqual([many, countless]);
    const at = format === "email" ? "@b" : "";
    const isTaken = [some, many].map((text) => FORMATS[format]!(stored(text + at)));
    expect([format, ...isTaken]).toEqual([format, true, false]);
  }
  expect([normalName(countless), labelKey(countless)]).toEqual([countless, countless]);
});
