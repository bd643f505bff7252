/** The example in Python, which knows the layout from the guide only, against a real server. */
import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { CommandStage } from "../commands/stage.ts";

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
  expect(answers).toEqual(["1 200 1 []", "2 400 4 [(1, 1, 0), (1, 1, 1)]", "3 200 1 []"]);
  expect(await stage.server.states("A1", "A2")).toEqual(["SOLD", "SOLD"]);
});
