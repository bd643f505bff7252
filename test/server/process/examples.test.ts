/** The programs in `server/examples`, run unchanged against a real server. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { startServer } from "../../support/server-process.ts";

const run = promisify(execFile);
const FOLDER = "server/examples";
const TOKEN = "a-token-of-your-own";

test("walk.sh sells two seats, starting with a tenant token", async () => {
  const server = await startServer({ env: { FRONTROW_TENANT_TOKEN: TOKEN } });
  const env = { ...process.env, FRONTROW_URL: server.url, FRONTROW_TENANT_TOKEN: TOKEN };
  const { stdout, stderr } = await run(`${FOLDER}/walk.sh`, { env });
  expect(stderr).toBe("");
  expect(stdout).toMatch(/^lock: true\nsale: true\nseats: \d+ SOLD, \d+ SOLD\n$/m);
});

test("walk.sh stops at the first refusal and shows it", async () => {
  const server = await startServer({ env: { FRONTROW_TENANT_TOKEN: TOKEN } });
  const env = {
    ...process.env,
    FRONTROW_URL: server.url,
    FRONTROW_TENANT_TOKEN: "another-token-xx",
  };
  const walk = run(`${FOLDER}/walk.sh`, { env });
  await expect(walk).rejects.toMatchObject({ stderr: expect.stringContaining("403") });
});

test("make-arena.ts writes the sample arena of the repository", async () => {
  const options = { encoding: "buffer", maxBuffer: 1 << 26 } as const;
  const { stdout } = await run(process.execPath, ["dist/server/examples/make-arena.js"], options);
  const committed = gunzipSync(readFileSync(`${FOLDER}/arena.json.gz`));
  expect(gunzipSync(stdout).equals(committed)).toBe(true);
});
