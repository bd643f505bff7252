/** Formats of texts that a length limit cannot express: the value of `format` in a shape. */
import { isLocalDateTime } from "../local-time.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const EMAIL = /^[^\s@\p{Cc}\p{Cs}]{1,64}@[^\s@\p{Cc}\p{Cs}]{1,190}$/u;
const SEQUENCE = /^[1-9]\d{0,14}$/;
/** Control characters, and lone surrogates, which UTF-8 cannot represent. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;
/** The control characters of a text that may have several lines. */
const LAYOUT_CONTROLS = /[\t\n\r]/g;

export const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  uuid: (text) => UUID.test(text),
  /** The form in which the engine keeps UUIDs. */
  "lower-case-uuid": (text) => UUID.test(text) && text === text.toLowerCase(),
  email: (text) => EMAIL.test(text),
  "local-date-time": isLocalDateTime,
  "local-date": isLocalDate,
  /** A sequence number of the log, a date-time or a date. */
  moment: (text) => SEQUENCE.test(text) || isLocalDate(text),
  /** Taken as it is, such as a session id. */
  line: (text) => !UNPRINTABLE.test(text),
  /** A line that is stored in the composed form. */
  name: (text) => !UNPRINTABLE.test(text),
  /** Lines that are stored in the composed form. */
  text: (text) => !UNPRINTABLE.test(text.replace(LAYOUT_CONTROLS, "")),
};

/** A date-time, or a date, which stands for its midnight. */
function isLocalDate(text: string): boolean {
  return isLocalDateTime(text) || isLocalDateTime(`${text}T00:00`);
}
