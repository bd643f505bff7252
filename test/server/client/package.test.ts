/** The package's promises about the client hold for the build. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EXTENSION, STATE_SELECTION } from "../../../engine/bodies.ts";
import type { Shape } from "../../../engine/schema.ts";
import { CommandClient } from "../../../server/client/client.ts";
import { CALLS } from "../../../server/commands/command.ts";
import { startServer } from "../../support/server-process.ts";
import { PRINTED, shopCallsIn, shopOf } from "../../support/shop-calls.ts";

const CONFIG = "server/client/api-extractor.json";
const REPORT = "server/client/client.api.md";
const run = promisify(execFile);
const TYPES = ["--types", "node", "--typeRoots", path.resolve("node_modules/@types")];
const COMPILE = [
  path.resolve("node_modules/typescript/bin/tsc"),
  "--module",
  "node16",
  "--target",
  "es2023",
  "--strict",
  ...TYPES,
];

/** A value of the shape, in TypeScript. */
function sampleOf({ type, items, properties, additionalProperties }: Shape): string {
  const kind = [type].flat()[0];
  if (kind === "array") return `[${sampleOf(items as Shape)}]`;
  if (kind === "object" && properties === undefined) {
    return `{ "16": ${sampleOf(additionalProperties as Shape)} }`;
  }
  // Seats and areas have types of their own: an object of both would fit neither.
  if (kind === "object") return "{ id: 1, capacity: 1 } as { id: 1; capacity: 1 }";
  return ({ string: '"x"', integer: "1", boolean: "true" } as Record<string, string>)[
    String(kind)
  ]!;
}

test("the report of the client's types is up to date: npm run api renews it", async () => {
  const extractor = "node_modules/@microsoft/api-extractor/bin/api-extractor";
  const { stdout } = await run(process.execPath, [extractor, "run", "--config", CONFIG]);
  expect(stdout).toContain("API Extractor completed successfully");
  expect(readFileSync(REPORT, "utf8")).toContain("class CommandClient");
});

describe("@frontrow/client, packed and installed in an empty project", () => {
  const project = mkdtempSync(path.join(tmpdir(), "frontrow-client-"));
  const inProject = (command: string, ...args: readonly string[]) =>
    run(command, args, { cwd: project });

  beforeAll(async () => {
    const { stdout } = await run("server/client/pack.sh", [project]);
    const packed = stdout.trim().split("\n").at(-1)!;
    writeFileSync(path.join(project, "package.json"), "{}");
    await inProject("npm", "install", "--offline", "--no-audit", "--no-fund", `./${packed}`);
  });
  afterAll(() => rmSync(project, { recursive: true }));

  test.each([
    ["ES module", "program.mjs", 'import * as all from "@frontrow/client";'],
    ["CommonJS module", "program.cjs", 'const all = require("@frontrow/client");'],
  ])("imported from an %s → its two clients and two errors", async (_, name, line) => {
    writeFileSync(path.join(project, name), `${line}\nconsole.log(Object.keys(all).sort().join())`);
    const { stdout } = await inProject(process.execPath, name);
    expect(stdout.trim()).toBe("CommandClient,ConnectionRefused,OutcomeUnknown,StreamClient");
  });

  test("a lock through the package → SOLD on a real server", async () => {
    const server = await startServer({ args: ["--demo"] });
    const target = `/api/private/v2.0/events/${server.eventId}/seats/?sort=state&size=1`;
    const page = (await (await server.request("GET", target)).json()) as {
      readonly content: readonly { readonly seatId: number }[];
    };
    const booking = { eventId: server.eventId, seats: [{ id: page.content[0]!.seatId }] };
    const program = `import { CommandClient } from "@frontrow/client";
      const client = new CommandClient(${JSON.stringify({ url: server.url, key: server.key })});
      const results = [];
      for (const call of ["lock", "sale"]) results.push(await client[call](${JSON.stringify(booking)}));
      console.log(results.map(({ ok }) => ok).join());
      await client.close();`;
    writeFileSync(path.join(project, "sale.mjs"), program);
    const { stdout } = await inProject(process.execPath, "sale.mjs");
    expect(stdout.trim()).toBe("true,true");
  });

  test("the calls of a shop in TypeScript → the compiler accepts them; the lines of the guide", async () => {
    writeFileSync(path.join(project, "shop.mts"), shopCallsIn("ts"));
    expect((await inProject(process.execPath, ...COMPILE, "shop.mts")).stdout).toBe("");
    const env = { ...process.env, ...shopOf(await startServer({ args: ["--demo"] })) };
    const { stdout, stderr } = await run(process.execPath, ["shop.mjs"], { cwd: project, env });
    expect([stdout.trim().split("\n"), stderr]).toEqual([PRINTED, ""]);
  });

  test("the types of a booking and its calls are those that the server takes", async () => {
    const membersOf = ({ properties }: Shape) =>
      Object.entries(properties as Record<string, Shape>)
        // Any value, and refused: an extension has no places.
        .filter(([, { type }]) => type !== undefined)
        .map(([name, shape]) => `${name}: ${sampleOf(shape)}`)
        .join(", ");
    const sends = CALLS.map((call) => `client.send("${call}", booking);`);
    const program = `import { CommandClient, type Booking, type Extension } from "@frontrow/client";
      declare const client: CommandClient;
      const booking: Booking = { eventId: "e", idempotencyKey: "k", ${membersOf(STATE_SELECTION)} };
      const extension: Extension = { eventId: "e", idempotencyKey: "k", ${membersOf(EXTENSION)} };
      client.extend(extension);
      ${sends.join("\n")}`;
    writeFileSync(path.join(project, "members.mts"), program);
    const { stdout } = await inProject(
      process.execPath,
      ...COMPILE,
      "--noEmit",
      "members.mts",
    ).catch((error: unknown) => error as { readonly stdout: string });
    expect(stdout).toBe("");
  });

  test("its README introduces it, names each method, and links to nothing outside", () => {
    const readme = readFileSync(
      path.join(project, "node_modules/@frontrow/client/README.md"),
      "utf8",
    );
    expect(readme.match(/^#+ .*/gm)).toEqual([
      "# @frontrow/client",
      "## Bookings",
      "## Changes of an event",
    ]);
    expect(readme).toMatch(/^# .*\n\nA client of Frontrow, /);
    const methods = Object.getOwnPropertyNames(CommandClient.prototype);
    const internal = new Set(["constructor", "send", "close", "destroy"]);
    const missing = methods.filter(
      (name) => !internal.has(name) && !readme.includes(`\`${name}\``),
    );
    expect(missing).toEqual([]);
    expect(readme.match(/\]\((?!https:)[^)]*\)/g)).toBeNull();
  });

  test("a bundle for browsers has no file for Node, and the package no dependency", async () => {
    const installed = path.join(project, "node_modules/@frontrow/client");
    const manifest = JSON.parse(
      readFileSync(path.join(installed, "package.json"), "utf8"),
    ) as object;
    expect(manifest).toMatchObject({ browser: { "./node-socket.js": false } });
    expect(manifest).not.toHaveProperty("dependencies");
    expect(readdirSync(installed)).toContain("node-socket.js");
    writeFileSync(path.join(project, "page.mjs"), 'export * from "@frontrow/client";');
    const rolldown = path.resolve("node_modules/rolldown/bin/cli.mjs");
    const flags = ["--platform", "browser", "--format", "esm", "--dir", "bundle"];
    await inProject(process.execPath, rolldown, "page.mjs", ...flags);
    const bundle = path.join(project, "bundle");
    for (const name of readdirSync(bundle)) {
      expect(readFileSync(path.join(bundle, name), "utf8"), name).not.toContain("node:");
    }
  });
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
