/** The progress bar of a run, for a terminal only. */

import { SingleBar } from "cli-progress";

const REDRAWS_PER_SECOND = 10;
const MS_PER_SECOND = 1_000;

export class ProgressBar {
  readonly #bar: SingleBar;
  #timer: NodeJS.Timeout | undefined;

  constructor(stream: NodeJS.WritableStream) {
    this.#bar = new SingleBar({
      format: "{bar} {percentage}% | {value}/{total} sold | {rate} a second",
      fps: REDRAWS_PER_SECOND,
      stream,
      gracefulExit: true,
    });
  }

  /** Shows how much of `totalCount` is sold until `stop`. */
  start(totalCount: number, soldCount: () => number): void {
    this.#bar.start(totalCount, 0, { rate: 0 });
    let shown = 0;
    this.#timer = setInterval(() => {
      const sold = soldCount();
      this.#bar.update(sold, { rate: (sold - shown) * REDRAWS_PER_SECOND });
      shown = sold;
    }, MS_PER_SECOND / REDRAWS_PER_SECOND);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#bar.stop();
  }
}
