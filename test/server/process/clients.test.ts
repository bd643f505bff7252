/** Clients that were written or generated from the documents only, against the real program. */
import { execFile, spawnSync } from "node:child_process";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { openApiDocument } from "../../../server/docs/openapi.ts";
import { API_ROUTES } from "../../../server/routes/table.ts";
import { CONTRACT } from "../../contract.ts";
import { startServer } from "../../support/server-process.ts";
import { CommandStage } from "../commands/stage.ts";

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

const V1_CLIENT = path.resolve(import.meta.dirname, "../../clients/v1.mjs");

test("a v1 client that was written from the documents only can run an on-sale", async () => {
  const server = await startServer({ args: ["--demo"] });
  const env = { ...process.env, BASE_URL: server.url, API_KEY: server.key };
  const { stdout } = await promisify(execFile)(process.execPath, [V1_CLIENT], { env });
  expect(stdout).toMatch(/^sold 3 entries of event [0-9a-f-]{36}\n$/);
});

const hasPython = spawnSync("python3", ["--version"]).status === 0;

test.runIf(hasPython)("the client in Python sells seats (needs python3)", async () => {
  const stage = await CommandStage.start();
  const { a } = stage.server;
  const seats = ["A1", "A2"].map((label) => String(a.labels.idOf(label)));
  const { base } = stage.listening;
  const args = ["server/examples/commands.py", base, a.eventId, ...seats];
  const env = { ...process.env, FRONTROW_KEY: a.key };
  const { stdout } = await promisify(execFile)("python3", args, { env });
  const [credit, ...answers] = stdout.trim().split("\n");
  expect(JSON.parse(credit!)).toMatchObject({ type: "credit" });
  expect(answers).toEqual(["1 200 1 []", "2 400 4 [(1, 19, 0), (1, 19, 1)]", "3 200 1 []"]);
  expect(await stage.server.states("A1", "A2")).toEqual(["SOLD", "SOLD"]);
});

const ROOT = path.resolve(import.meta.dirname, "../../..");
const TOKEN = "a-token-of-your-own";
const SOURCES = path.join(ROOT, "test/clients/generated");
/** It is inside the project, so that the client finds its packages. */
const FOLDER = path.join(ROOT, "node_modules/.cache/frontrow-generated-client");

const node = (args: readonly string[], env: NodeJS.ProcessEnv = process.env) =>
  promisify(execFile)(process.execPath, args, { cwd: FOLDER, env });

test("a generated client compiles, and its program sells two seats", async () => {
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  await cp(SOURCES, FOLDER, { recursive: true });
  await writeFile(
    path.join(FOLDER, "openapi.json"),
    JSON.stringify(openApiDocument(API_ROUTES, "0.0.0-test")),
  );
  await writeFile(path.join(FOLDER, "package.json"), JSON.stringify({ type: "module" }));
  await writeFile(
    path.join(FOLDER, "tsconfig.json"),
    JSON.stringify({
      extends: path.join(ROOT, "tsconfig.json"),
      compilerOptions: { noEmit: false, outDir: "out", rootDir: "." },
      include: ["*.ts"],
    }),
  );
  const hook = path.join(FOLDER, "compiler-hook.mjs");
  await node(["--import", hook, "generate.mjs", "openapi.json", "api.d.ts"]);
  await node([path.join(ROOT, "node_modules/typescript/bin/tsc"), "-p", "."]);
  const server = await startServer({ env: { FRONTROW_TENANT_TOKEN: TOKEN } });
  const env = { ...process.env, FRONTROW_URL: server.url, FRONTROW_TENANT_TOKEN: TOKEN };
  const { stdout } = await node([path.join(FOLDER, "out/sale.js")], env);
  expect(stdout.split("\n")).toEqual([
    "lock: true",
    "sale: true",
    "refused: SOLD, SOLD",
    "seats: 1 SOLD, 2 SOLD, 3 ACTIVE, 4 ACTIVE",
    "",
  ]);
}, 60_000);
