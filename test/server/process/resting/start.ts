/**
 * Starts a server when a run of tests begins. It rests until a test asks it something, which is the
 * last one of the run: so the test waits little for a server that has rested for minutes.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestProject } from "vitest/node";
import { CLI, ServerProcess, spawnNode } from "../../../support/server-process.ts";

declare module "vitest" {
  interface ProvidedContext {
    readonly resting: { readonly url: string; readonly sinceMs: number };
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(path.join(tmpdir(), "frontrow-test-"));
  const data = path.join(folder, "data");
  const server = new ServerProcess(
    spawnNode(CLI, { args: ["serve", "--port", "0", "--data", data] }),
    data,
  );
  await server.ready(false);
  project.provide("resting", { url: server.url, sinceMs: Date.now() });
  return async () => {
    await server.kill("SIGKILL");
    rmSync(folder, { recursive: true });
  };
}
