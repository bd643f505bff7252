/** The protocol of workers, between a client and a program in the thread of the test. */
import { expect, test } from "vitest";
import {
  emitterOf,
  LATER,
  type Reply,
  serve,
  type StartWorker,
  Transferred,
  WorkerClient,
} from "../../../persistence/disk/worker.ts";
import { LocalThread, type LocalWorker } from "../../support/store.ts";

interface Adder {
  readonly data: number;
  readonly requests: {
    /** Adds to the program's first number. */
    readonly add: (number: number) => number;
    readonly addLater: (number: number) => number;
    readonly hold: (argument: null) => null;
    readonly bytes: (bytes: Uint8Array) => Uint8Array;
    readonly announce: (text: string) => void;
  };
  readonly events: { readonly said: string };
}

function adder() {
  const threads: LocalWorker<Adder>[] = [];
  const said: string[] = [];
  const errors: string[] = [];
  const start: StartWorker<Adder> = (base, events) => {
    const thread: LocalWorker<Adder> = new LocalThread({
      serve(port) {
        const emit = emitterOf<Adder>(port);
        serve<Adder>(port, {
          add(number) {
            if (number < 0) throw new Error("negative");
            return base + number;
          },
          addLater(number, answering) {
            setImmediate(() => answering.done(base + number));
            return LATER;
          },
          hold: () => LATER,
          bytes: (bytes) => new Transferred(bytes, [bytes.buffer as ArrayBuffer]),
          announce(text) {
            if (text === "") throw new Error("nothing to say");
            emit("said", text);
          },
        });
      },
      events,
      later: (task) => setImmediate(task),
      copies: true,
    });
    threads.push(thread);
    return thread;
  };
  const client = new WorkerClient<Adder>({
    start,
    data: () => 100 * (threads.length + 1),
    on: { said: (text) => said.push(text) },
    onError: ({ message }) => errors.push(message),
  });
  return { client, threads, said, errors };
}

const add = (client: WorkerClient<Adder>, number: number, name: "add" | "addLater" = "add") =>
  new Promise<Reply<number>>((resolve) => client.ask(name, number, resolve));
const hold = (client: WorkerClient<Adder>) =>
  new Promise<Reply<null>>((resolve) => client.ask("hold", null, resolve));

test("the first request starts the worker, and each gets its own answer", async () => {
  const { client, threads } = adder();
  expect([client.isRunning, threads.length]).toEqual([false, 0]);
  const replies = Promise.all([add(client, 1, "addLater"), add(client, 2), add(client, 3)]);
  expect([threads.length, client.pending]).toEqual([1, 3]);
  expect(await replies).toEqual([101, 102, 103].map((result) => ({ failure: null, result })));
  expect(client.pending).toBe(0);
});

test("a request that throws fails alone", async () => {
  const { client, errors } = adder();
  const replies = await Promise.all([add(client, -1), add(client, 1)]);
  expect(replies).toEqual([{ failure: new Error("negative") }, { failure: null, result: 101 }]);
  expect(errors).toEqual([]);
});

test("a notice that throws ends the worker, with its error as the reason of open requests", async () => {
  const { client, errors, threads } = adder();
  const held = hold(client);
  client.tell("announce", "");
  expect(await held).toEqual({ failure: new Error("nothing to say") });
  expect([errors, client.isRunning]).toEqual([["nothing to say"], false]);
  client.tell("announce", "nobody hears it");
  expect(threads.length).toBe(1);
  expect(await add(client, 1)).toEqual({ failure: null, result: 201 });
});

test("a terminated worker fails its requests, says no more, and ends no successor", async () => {
  const { client, said } = adder();
  const held = hold(client);
  await new Promise(setImmediate);
  client.tell("announce", "too late");
  const { ended } = client;
  await new Promise(setImmediate);
  void client.terminate();
  const next = add(client, 5);
  expect(await held).toEqual({ failure: new Error("the thread ended without an answer") });
  await ended;
  expect(await next).toEqual({ failure: null, result: 205 });
  expect([said, client.isRunning]).toEqual([[], true]);
});

test("transferred memory moves to the worker and back", async () => {
  const { client } = adder();
  const bytes = Uint8Array.of(1, 2, 3);
  const reply = new Promise<Reply<Uint8Array>>((resolve) =>
    client.ask("bytes", bytes, resolve, [bytes.buffer]),
  );
  expect(bytes.length).toBe(0);
  expect(await reply).toEqual({ failure: null, result: Uint8Array.of(1, 2, 3) });
});
