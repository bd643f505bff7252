/**
 * Runs the program of a thread in the thread of the test. Messages arrive in order and in a later
 * turn than they were sent in; the test decides when.
 */
import type { Thread, ThreadEvents, ThreadPort } from "../../../persistence/disk/threads.ts";
import { ProcessDied } from "../disk/process-disk.ts";

export interface LocalThreadOptions<Message, Answer> {
  readonly serve: (port: ThreadPort<Message>) => void;
  readonly events: ThreadEvents<Answer>;
  readonly later: (task: () => void) => void;
}

export class LocalThread<Message, Answer> implements Thread<Message> {
  /** The thread has ended; it can only throw `ProcessDied` now. */
  hasEnded = false;
  readonly #options: LocalThreadOptions<Message, Answer>;
  readonly #inbox: Message[] = [];
  readonly #outbox: Answer[] = [];
  #receive: (message: Message) => void = () => {};
  #close: () => void = () => {};
  /** The number of messages that have arrived and are not handled yet. */
  #arrived = 0;
  #isBusy = false;

  constructor(options: LocalThreadOptions<Message, Answer>) {
    this.#options = options;
    options.serve({
      on: (event, listener) => {
        if (event === "message") this.#receive = listener;
        else this.#close = listener as () => void;
      },
      postMessage: (answer) => this.#answer(answer as Answer),
      close: () => this.#exit(),
    });
  }

  post(message: Message): void {
    this.#inbox.push(message);
    this.#options.later(() => {
      this.#arrived += 1;
      this.#work();
    });
  }

  keepAlive(): void {}

  terminate(): Promise<void> {
    this.release();
    this.#exit();
    return Promise.resolve();
  }

  /** Ends the thread without notice, like the end of its process; open files are closed. */
  release(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    if (!this.#isBusy) this.#guard(() => this.#close());
  }

  #answer(answer: Answer): void {
    this.#outbox.push(answer);
    this.#options.later(() => this.#options.events.message(this.#outbox.shift()!));
  }

  #exit(): void {
    this.hasEnded = true;
    this.#options.later(() => this.#options.events.exit());
  }

  /** Handles one message after the other, including those that arrive meanwhile. */
  #work(): void {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (; this.#arrived > 0 && !this.hasEnded; this.#arrived -= 1) {
      this.#guard(() => this.#receive(this.#inbox.shift()!));
    }
    this.#isBusy = false;
    if (this.hasEnded) this.#guard(() => this.#close());
  }

  #guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (error instanceof ProcessDied) return;
      const { later, events } = this.#options;
      later(() => events.error(error as Error));
      this.#exit();
    }
  }
}
