/** Prints text and progress, and lays out tables. */

/** The first column is aligned left, the others right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i]!.length)));
  const line = (row: readonly string[]) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)));
  const rule = widths.map((width) => "-".repeat(width));
  const lines = [line(head), rule, ...rows.map(line)];
  return lines.map((cells) => `${cells.join("  ").trimEnd()}\n`).join("");
}

export function print(text: string): void {
  process.stdout.write(text);
}

/** Reports progress on standard error. */
export function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** `1,234,567` */
export function withCommas(value: number): string {
  return Math.round(value).toLocaleString("en");
}
