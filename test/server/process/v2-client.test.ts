/** A v2 client that was written from the documents only, against the real program. */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { CONTRACT } from "../../contract.ts";
import { startServer } from "../../support/server-process.ts";

const CLIENT = path.resolve(import.meta.dirname, "../../clients/v2.mjs");
const TENANT_TOKEN = "a-tenant-token-for-the-client";
const PLATFORM_TOKEN = "a-platform-token-for-the-client";

test("a v2 client written from the documents alone calls every row as documented", async () => {
  const tokens = {
    FRONTROW_TENANT_TOKEN: TENANT_TOKEN,
    FRONTROW_ADMIN_PASSWORD: "admin-password",
    FRONTROW_PLATFORM_TOKEN: PLATFORM_TOKEN,
  };
  const server = await startServer({ env: tokens });
  const env = { ...process.env, BASE_URL: server.url, TENANT_TOKEN, PLATFORM_TOKEN };
  const { stdout } = await promisify(execFile)(process.execPath, [CLIENT], { env });
  const called = [...stdout.matchAll(/^called (.*)$/gm)].map(([, row]) => row!);
  const isCalled = (row: string) => {
    const pattern = new RegExp(`^${row.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
    return called.some((one) => pattern.test(one));
  };
  const rows = CONTRACT.map(({ row }) => row).filter((row) => !row.includes("/v1.0/"));
  expect(rows.filter((row) => !isCalled(row))).toEqual([]);
}, 90_000);
