/**
 * Natural order of names and labels, in lists and among neighbours: "2" comes before "10"; letters
 * count first, then accents, then case. It uses no locale, so the order is the same on every
 * machine.
 */

const MARKS = /[\u0300-\u036f]/g;
const NO_MARK = /[^\u0300-\u036f]/g;
const DIGITS = /\d+/g;
const LEADING_ZEROS = /^0+(?=\d)/;
/** Letters that do not decompose into a plain letter and a mark. */
const PLAIN = new Map(Object.entries({ ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ł: "l" }));
const SPECIAL = new RegExp(`[${[...PLAIN.keys()].join("")}]`, "g");
/** Comes before every character of a name. */
const END = "\0";

/** @returns A text such that two names compare as their keys compare, by code unit. */
export function nameKey(name: string): string {
  const decomposed = name.normalize("NFD");
  const lower = decomposed.toLowerCase();
  const letters = lower.replace(MARKS, "").replace(SPECIAL, (letter) => PLAIN.get(letter)!);
  const accents = lower.replace(DIGITS, "").replace(NO_MARK, "\u0001");
  const cases = Array.from(decomposed.replace(DIGITS, ""), (letter) =>
    letter === letter.toLowerCase() ? "0" : "1",
  );
  return [letters.replace(DIGITS, numberKey), accents, cases.join("")].join(END);
}

/** A run of digits, with its length in front: a longer number is larger. */
function numberKey(digits: string): string {
  const number = digits.replace(LEADING_ZEROS, "");
  return `0${String.fromCharCode(number.length)}${number}`;
}
