/** A v1 client that was written from the documents only, against the real program. */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startServer } from "../../support/server-process.ts";

const CLIENT = path.resolve(import.meta.dirname, "../../clients/v1.mjs");

test("a v1 client that was written from the documents only can run an on-sale", async () => {
  const server = await startServer({ args: ["--demo"] });
  const env = { ...process.env, BASE_URL: server.url, API_KEY: server.key };
  const { stdout } = await promisify(execFile)(process.execPath, [CLIENT], { env });
  expect(stdout).toMatch(/^sold 3 entries of event [0-9a-f-]{36}\n$/);
});
