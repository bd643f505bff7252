/**
 * Local date-times of the interface (`2026-03-19T10:00:00.123`, without an offset). They are
 * handled as text, because the engine does not use the machine's calendar.
 */

const PATTERN = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?$/;
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether the text is a valid local date-time. */
export function isLocalDateTime(text: string): boolean {
  const match = PATTERN.exec(text);
  if (match === null) return false;
  const [year, month, day, hour, minute, second] = match.slice(1).map((part) => Number(part ?? 0));
  const isLeap = (year! % 4 === 0 && year! % 100 !== 0) || year! % 400 === 0;
  const days = month === 2 && isLeap ? 29 : (MONTH_DAYS[month! - 1] ?? 0);
  return day! >= 1 && day! <= days && hour! <= 23 && minute! <= 59 && second! <= 59;
}

/** @returns The canonical text of the date-time: with seconds, without trailing zeros. */
export function normalLocalDateTime(text: string): string {
  const withSeconds = text.length === "2026-03-19T10:00".length ? `${text}:00` : text;
  return withSeconds.includes(".") ? withSeconds.replace(/\.?0+$/, "") : withSeconds;
}
