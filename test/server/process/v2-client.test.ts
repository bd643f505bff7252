/** A v2 client that was written from the documents only, against the real program. */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startServer } from "../../support/server-process.ts";

const CLIENT = path.resolve(import.meta.dirname, "../../clients/v2.mjs");
const TENANT_TOKEN = "a-tenant-token-for-the-client";
const PLATFORM_TOKEN = "a-platform-token-for-the-client";

test("a v2 client that was written from the documents only finds no deviation", async () => {
  const tokens = {
    FRONTROW_TENANT_TOKEN: TENANT_TOKEN,
    FRONTROW_ADMIN_PASSWORD: "admin-password",
    FRONTROW_PLATFORM_TOKEN: PLATFORM_TOKEN,
  };
  const server = await startServer({ env: tokens });
  const env = { ...process.env, BASE_URL: server.url, TENANT_TOKEN, PLATFORM_TOKEN };
  const { stdout } = await promisify(execFile)(process.execPath, [CLIENT], { env });
  expect(stdout.match(/^ok - /gm)?.length).toBeGreaterThan(70);
}, 90_000);
