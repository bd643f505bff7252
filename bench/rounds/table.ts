/** Tables for a terminal. */

/** Columns are as wide as their widest cell; the first is flush left, the others flush right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i]!.length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      .join("  ");
  const rule = widths.map((width) => "-".repeat(width)).join("  ");
  return [line(head), rule, ...rows.map(line)].map((text) => `${text.trimEnd()}\n`).join("");
}
