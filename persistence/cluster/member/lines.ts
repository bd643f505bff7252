/** The lines of a stream. A line may be long: its parts are joined once. */
import type { Readable } from "node:stream";

/** @returns Settles at the end of the stream. What follows the last line end is left out. */
export async function linesOf(stream: Readable, take: (line: string) => void): Promise<void> {
  let parts: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf("\n"); end !== -1; end = chunk.indexOf("\n", from)) {
      take(Buffer.concat([...parts, chunk.subarray(from, end)]).toString("utf8"));
      parts = [];
      from = end + 1;
    }
    if (from < chunk.length) parts.push(chunk.subarray(from));
  }
}
