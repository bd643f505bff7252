/** The package's promises about the client hold for the build. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const CONFIG = "server/client/api-extractor.json";
const REPORT = "server/client/client.api.md";
const run = promisify(execFile);

test("the report of the client's types is up to date: npm run api renews it", async () => {
  const extractor = "node_modules/@microsoft/api-extractor/bin/api-extractor";
  const { stdout } = await run(process.execPath, [extractor, "run", "--config", CONFIG]);
  expect(stdout).toContain("API Extractor completed successfully");
  expect(readFileSync(REPORT, "utf8")).toContain("class CommandClient");
});

test("frontrow/client is exported", async () => {
  const program = 'import("frontrow/client").then((all) => console.log(Object.keys(all).join()))';
  const { stdout } = await run(process.execPath, ["--eval", program]);
  expect(stdout.trim().split(",").sort()).toEqual([
    "CommandClient",
    "ConnectionRefused",
    "OutcomeUnknown",
    "StreamClient",
  ]);
});

test("the client imports nothing but itself, and Node in the files for Node", () => {
  const files = readdirSync("server/client").filter((name) => name.endsWith(".ts"));
  for (const name of files) {
    const text = readFileSync(`server/client/${name}`, "utf8");
    const imports = [...text.matchAll(/(?:from|import\() ?"([^"]+)"/g)].map(([, from]) => from!);
    const isForNode = name === "node-socket.ts";
    const foreign = imports.filter((from) => !from.startsWith("./"));
    const wrong = foreign.filter((from) => !isForNode || !from.startsWith("node:"));
    expect([name, wrong]).toEqual([name, []]);
  }
});

/** Files loaded with a file of the client, without later imports. */
function loadedWith(name: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(name)) return loaded;
  loaded.add(name);
  const text = readFileSync(`server/client/${name}`, "utf8");
  const imports = text.matchAll(/^(?:import|export|\}) (?!type\b)[^;]*from "\.\/([^"]+)"/gm);
  for (const [, other] of imports) loadedWith(other!, loaded);
  return loaded;
}

test("a browser loads no file for Node, and the stream without the commands", () => {
  const all = loadedWith("client.ts");
  expect(all).toContain("connection.ts");
  expect(all).not.toContain("node-socket.ts");
  expect([...loadedWith("stream.ts")].sort()).toEqual(["connection.ts", "socket.ts", "stream.ts"]);
});
