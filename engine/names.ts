/**
 * Names and labels: their stored form, and their key for uniqueness. Both
 * follow the Unicode tables of the process, so only decisions use them, never replay.
 */

/** Printable ASCII with single inner blanks: most names, stored and compared as they are. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/;
/** The separators of Unicode, and characters that are drawn as a blank. */
const BLANKS = /[\p{Z}\u2800\u3164\uffa0]+/gu;
const OUTER_BLANKS = /^ | $/g;
const JOINERS = /[\u200c\u200d]/g;
/** Control characters, and lone surrogates, without a form in UTF-8. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;
/** Direction marks, zero-width blanks, soft hyphens and their like. */
const INVISIBLE = /(?![\u200c\u200d])\p{Cf}/u;
/**
 * Marks in a row, as of Unicode's stream-safe text. Composing a longer run takes O(marks²): twelve
 * seconds for those of a quarter of a megabyte.
 */
export const MARKS_IN_A_ROW_MAX = 30;
const TOO_MANY_MARKS = new RegExp(`\\p{M}{${MARKS_IN_A_ROW_MAX + 1}}`, "u");
/** ZWJ and ZWNJ shape the letters and emoji on both sides of them; elsewhere they are invisible. */
const STRAY_JOINER =
  /(?<![\p{L}\p{M}\p{Emoji_Modifier}\p{Extended_Pictographic}])[\u200c\u200d]|[\u200c\u200d](?![\p{L}\p{M}\p{Extended_Pictographic}])/u;

/**
 * Characters without a look of their own, and those that change the look of others: controls of
 * text direction, separators of lines and paragraphs, controls of terminals. Tabs and ends of lines
 * stay, for texts of several lines; so do joiners, for the letters and emoji that need them.
 */
const DISGUISES = /(?![\t\n])\p{Cc}|[\p{Zl}\p{Zp}\p{Cs}]|(?![\u200c\u200d])\p{Cf}/gu;

/**
 * A text of a client as people may see it, on a terminal, in a log or on a page: what could
 * disguise the text around it is escaped as in JSON, so JSON keeps its meaning. Cost: O(length).
 */
export function visible(text: string): string {
  return text.replace(DISGUISES, (character) => {
    const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
  });
}

/** True for more combining marks in a row than any format accepts. Cost: O(length). */
export function hasTooManyMarks(text: string): boolean {
  return TOO_MANY_MARKS.test(text);
}

/** The composed form, by default NFC. Cost: O(length). */
export function composedForm(text: string, form: "NFC" | "NFKC" = "NFC"): string {
  return hasTooManyMarks(text) ? text : text.normalize(form);
}

/** The stored form: composed (NFC), trimmed, with single blanks. Cost: O(length). */
export function normalName(name: string): string {
  if (PLAIN.test(name)) return name;
  return composedForm(name).replace(BLANKS, " ").replace(OUTER_BLANKS, "");
}

/** True for one visible line. @param name - In its stored form. */
export function isName(name: string): boolean {
  if (PLAIN.test(name)) return true;
  const isVisible = !UNPRINTABLE.test(name) && !INVISIBLE.test(name) && !STRAY_JOINER.test(name);
  return isVisible && !hasTooManyMarks(name);
}

/**
 * Labels with one key are the same label: those equal after NFKC, which maps full-width letters,
 * ligatures and circled digits to plain ones. Joiners do not count. Cost: O(length).
 */
export function labelKey(label: string): string {
  if (PLAIN.test(label)) return label;
  return composedForm(normalName(label).replace(JOINERS, ""), "NFKC");
}

/** Addresses with the same key are the same address: the composed form in lower case. */
export function emailKey(email: string): string {
  return composedForm(composedForm(email).toLowerCase());
}
