/** The progress of long work: a bar on a terminal, lines elsewhere. */
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { Progress } from "../../../server/observe/progress.ts";

class Watched {
  nowMs = 0;
  readonly stream: PassThrough & { isTTY?: boolean };
  readonly progress: Progress;

  constructor(isTTY: boolean) {
    this.stream = Object.assign(new PassThrough(), { isTTY });
    this.progress = new Progress(this.stream, () => this.nowMs);
  }

  get shown(): string {
    return String(this.stream.read() ?? "");
  }
}

test.each([true, false])("work that ends within a second shows nothing (terminal: %s)", (isTTY) => {
  const watched = new Watched(isTTY);
  watched.progress.tell("reading", 1, 2);
  watched.progress.stop();
  expect(watched.shown).toBe("");
});

test("without a terminal there is a plain line, at most once per second", () => {
  const watched = new Watched(false);
  for (watched.nowMs = 0; watched.nowMs < 3_500; watched.nowMs += 100) {
    watched.progress.tell("reading segments", watched.nowMs / 100, 40);
  }
  watched.progress.stop();
  const lines = [10, 20, 30].map((done) => `reading segments: ${done} of 40\n`);
  expect(watched.shown).toBe(lines.join(""));
});

test("on a terminal there is a bar without colours for each piece of work", () => {
  const watched = new Watched(true);
  for (watched.nowMs = 1_000; watched.nowMs < 3_000; watched.nowMs += 200) {
    watched.progress.tell(watched.nowMs < 2_000 ? "events" : "segments", watched.nowMs / 200, 20);
  }
  watched.progress.stop();
  const { shown } = watched;
  expect(shown).toMatch(/events [=-]+ 9\/20/);
  expect(shown).toMatch(/segments [=-]+ 14\/20/);
  // oxlint-disable-next-line no-control-regex -- colours are control characters.
  expect(shown).not.toMatch(/\u001b\[\d+(;\d+)*m/);
});
