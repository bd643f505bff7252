/** The end of a run that no retry can mend: a wrong key, no such event, a server that is gone. */

/** The message is for the person at the terminal: what happened, in one line. */
export class HaltError extends Error {
  override readonly name = "HaltError";
}
