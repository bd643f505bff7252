/** Numbers as a person reads them, in few characters. */

const KIBIBYTE = 1_024;
const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `1,234`, with one decimal below 10. */
export function numberText(value: number): string {
  const isSmall = value > 0 && value < 9.95;
  const digits = isSmall && !Number.isInteger(value) ? 1 : 0;
  return value.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

export function bytesText(bytes: number): string {
  const unit = bytes < 1 ? 0 : Math.min(4, Math.floor(Math.log(bytes) / Math.log(KIBIBYTE)));
  return `${numberText(bytes / KIBIBYTE ** unit)} ${BYTE_UNITS[unit]}`;
}

/** A latency; a dash when there was none. */
export function latencyText(seconds: number | null): string {
  if (seconds === null) return "-";
  return seconds < 1 ? `${(seconds * 1_000).toFixed(1)} ms` : `${seconds.toFixed(1)} s`;
}

/** `3 d 4 h`, `5 min`, `12 s`. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < MINUTE) return `${whole} s`;
  if (whole < HOUR) return `${Math.floor(whole / MINUTE)} min`;
  if (whole < DAY)
    return `${Math.floor(whole / HOUR)} h ${Math.floor((whole % HOUR) / MINUTE)} min`;
  return `${Math.floor(whole / DAY)} d ${Math.floor((whole % DAY) / HOUR)} h`;
}
