/** The thread that reads a store for another host. */
import path from "node:path";
import { expect, test } from "vitest";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { startCopy } from "../../../persistence/rescue/copy-thread.ts";
import { messagesOf } from "../../../persistence/rescue/join.ts";
import { workerThread } from "../../../persistence/disk/worker.ts";
import { folderOf } from "../store/store-fixture.ts";
import { storeOf } from "./folder-fixture.ts";

const COMPILED = new URL("../../../dist/persistence/rescue/copy-worker.js", import.meta.url);

/** Asks for messages until there are no more. */
function copied(folder: string) {
  const messages: (string | Uint8Array)[] = [];
  return new Promise<{ messages: typeof messages; failure: string | null }>((resolve) => {
    const message = (given: string | Uint8Array) => {
      messages.push(given);
      copy.next();
    };
    const ended = (failure: string | null) => resolve({ messages, failure });
    const copy = startCopy(folder, { message, ended }, workerThread(COMPILED, "test"));
    copy.next();
  });
}

test("the thread sends every message of the copy, and then its end", async () => {
  const folder = await storeOf({ snapshots: 1, batches: 5 });
  const { messages, failure } = await copied(folder);
  expect(failure).toBeNull();
  const expected = [...messagesOf(realDisk, folder)];
  expect(messages.map((message) => Buffer.from(message))).toEqual(
    expected.map((message) => Buffer.from(message)),
  );
});

test("a folder without a store ends the copy with the reason", async () => {
  const { messages, failure } = await copied(path.join(folderOf(), "none"));
  expect(messages).toEqual([]);
  expect(failure).toMatch(/none/);
});
