/** The operating manual: every command in it runs, and ends with the exit code that it gives. */
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ROOT, startServer, temporaryFolder } from "./support/server-process.ts";

const PAGE = fs.readFileSync("server/OPERATING.md", "utf8");
const README = fs.readFileSync("README.md", "utf8");
const BLOCK = /<!-- test: ([a-z ]+), (\d+) -->\n```sh\n([\s\S]*?)```/g;

/** Blocks of commands, with the situation that they are for and their exit code. */
const BLOCKS = [...PAGE.matchAll(BLOCK)].map(([, situation, code, commands], i) => ({
  name: `${i + 1}, ${situation}: ${commands!.trim().split("\n")[0]}`,
  situation: situation!,
  code: Number(code),
  commands: commands!,
}));

/** A store with some sales, and a backup of it. */
const model = { folder: "", backup: "" };

/** Created by the first test that needs it, and removed after the last one. */
async function modelStore(): Promise<typeof model> {
  if (model.folder !== "") return model;
  const place = fs.mkdtempSync(path.join(path.dirname(temporaryFolder()), "frontrow-model-"));
  process.once("exit", () => fs.rmSync(place, { recursive: true, force: true }));
  const server = await startServer({ folder: path.join(place, "data"), args: ["--demo"] });
  for (const line of server.stdout.split("\n").filter((one) => one.startsWith("curl "))) {
    await run(line, place);
  }
  await server.kill("SIGTERM");
  model.backup = path.join(place, "backup");
  model.folder = server.folder;
  const backup = `frontrow backup "${model.folder}" "${model.backup}"`;
  expect((await run(backup, place)).code).toBe(0);
  return model;
}

type Situation = (data: string) => void | Promise<void>;

const SITUATIONS: Readonly<Record<string, Situation>> = {
  sound: () => {},
  lost: (data) => fs.rmSync(data, { recursive: true }),
  running: async (data) => {
    await startServer({ folder: data, args: ["--demo"] });
  },
  "damaged snapshot": (data) => {
    const [name] = fs.readdirSync(path.join(data, "snapshots"));
    fs.truncateSync(path.join(data, "snapshots", name!), 5_000);
  },
  "damaged log": (data) => {
    const [name] = fs.readdirSync(path.join(data, "wal"));
    const segment = path.join(data, "wal", name!);
    const bytes = fs.readFileSync(segment);
    // In the middle of the last batch, before the mark of a clean end.
    const used = bytes.findLastIndex((byte) => byte !== 0);
    bytes[used - (used % 512) - 3 * 512 + 100]! ^= 1;
    fs.writeFileSync(segment, bytes);
  },
};

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

function run(commands: string, cwd: string): Promise<Ended> {
  const env = { ...process.env, PATH: `${path.join(ROOT, "dist")}:${process.env["PATH"]}` };
  const child = spawn("bash", ["-e", "-c", commands], { cwd, env });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  return new Promise((resolve) => {
    child.once("close", (code) => resolve({ code, output }));
  });
}

test("every command of the manual is in a tested block, and every situation is used", () => {
  const commands = PAGE.match(/^frontrow .*$/gm) ?? [];
  expect(commands.length).toBeGreaterThan(8);
  for (const command of commands) {
    expect(
      BLOCKS.some((block) => block.commands.includes(command)),
      command,
    ).toBe(true);
  }
  expect(PAGE.match(/^```sh$/gm)).toHaveLength(BLOCKS.length);
  expect(new Set(BLOCKS.map(({ situation }) => situation))).toEqual(
    new Set(Object.keys(SITUATIONS)),
  );
  expect(README).toContain("server/OPERATING.md");
});

test.each(BLOCKS)("block $name", { timeout: 60_000 }, async ({ situation, code, commands }) => {
  const { folder, backup } = await modelStore();
  const place = temporaryFolder();
  const data = path.join(place, "data");
  fs.cpSync(folder, data, { recursive: true });
  fs.cpSync(backup, path.join(place, "backup"), { recursive: true });
  await SITUATIONS[situation]!(data);
  const ended = await run(commands, place);
  expect(ended.code, ended.output).toBe(code);
  onTestFinished(() => fs.rmSync(place, { recursive: true, force: true }));
});
