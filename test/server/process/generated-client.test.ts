/** A program with a client that openapi-typescript generates from the OpenAPI document. */
import { execFile } from "node:child_process";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { API_ROUTES } from "../../../server/routes/table.ts";
import { openApiDocument } from "../../../server/docs/openapi.ts";
import { startServer } from "../../support/server-process.ts";

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
