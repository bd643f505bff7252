/** A server that nobody uses, as on a quiet day. */
import { expect, inject, test } from "vitest";
import { sleep } from "../../../support/server-process.ts";

/**
 * Above 256 seconds: the library subtracts the time for the answer to a ping from "never", which
 * gave 252 seconds and four more.
 */
const REST_MS = 270_000;

test(
  "a server that nobody has asked anything for minutes answers",
  async () => {
    const { url, sinceMs } = inject("resting");
    await sleep(sinceMs + REST_MS - Date.now());
    const { status } = await fetch(`${url}/healthz`);
    expect(status).toBe(200);
  },
  REST_MS + 30_000,
);
