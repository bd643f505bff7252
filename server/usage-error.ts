/** A usage error of the command line: one line on standard error, exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly exitCode = 2;
}
