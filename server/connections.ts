/** How many connections may be open: each takes a file descriptor, and the log needs some. */
import { UsageError } from "./usage-error.ts";

/** File descriptors that connections leave free: the server itself uses about half of them. */
const RESERVED_FILES = 128;
/** Below this limit on open files, half of them are reserved. */
const SCARCE_FILES = 2 * RESERVED_FILES;

/**
 * @param chosen - The option, or null.
 * @throws UsageError when the process may not open that many files.
 */
export function connectionsMaxOf(chosen: number | null, openFiles: number): number {
  const reserved = openFiles < SCARCE_FILES ? Math.ceil(openFiles / 2) : RESERVED_FILES;
  const possible = openFiles - reserved;
  if (chosen !== null && chosen > possible) {
    throw new UsageError(
      `--max-connections ${chosen} needs ${chosen + RESERVED_FILES} open files, and the process ` +
        `may open ${openFiles}; raise the limit (ulimit -n, LimitNOFILE) or lower the number`,
    );
  }
  return chosen ?? possible;
}

/** The limit on open files of this process, as Node has set it at its start. */
export function openFilesMax(): number {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits: { readonly open_files: { readonly soft: number | "unlimited" } };
  };
  const { soft } = userLimits.open_files;
  return soft === "unlimited" ? Infinity : soft;
}
