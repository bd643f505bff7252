/**
 * Natural order of labels: runs of digits compare as numbers ("2" before "10"), everything else by
 * code unit. It uses no locale, so the order is the same on every machine.
 */

const PARTS = /\d+|\D+/g;
const LEADING_ZEROS = /^0+(?=\d)/;

/** @returns Negative, zero or positive. Zero only for equal labels. */
export function compareNatural(a: string, b: string): number {
  const partsOfA = a.match(PARTS) ?? [];
  const partsOfB = b.match(PARTS) ?? [];
  const count = Math.min(partsOfA.length, partsOfB.length);
  for (let i = 0; i < count; i++) {
    const order = compareParts(partsOfA[i]!, partsOfB[i]!);
    if (order !== 0) return order;
  }
  return partsOfA.length - partsOfB.length || compareText(a, b);
}

/** Order by code unit, as in a database without a locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function compareParts(a: string, b: string): number {
  if (!isDigit(a) || !isDigit(b)) return compareText(a, b);
  const digitsOfA = a.replace(LEADING_ZEROS, "");
  const digitsOfB = b.replace(LEADING_ZEROS, "");
  return digitsOfA.length - digitsOfB.length || compareText(digitsOfA, digitsOfB);
}

function isDigit(part: string): boolean {
  return part >= "0" && part < ":";
}
