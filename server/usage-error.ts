/** The program was called wrongly: one line for the person who called it, exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly exitCode = 2;
}
