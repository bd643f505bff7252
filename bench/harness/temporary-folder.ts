/** A folder that exists only while a benchmark works in it. */
import { mkdtemp, rm } from "node:fs/promises";
import path from "node:path";

export async function inTemporaryFolder<Value>(
  parent: string,
  work: (folder: string) => Promise<Value>,
): Promise<Value> {
  const folder = await mkdtemp(path.join(parent, "frontrow-bench-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
