/** The log: JSON lines for programs, and one short line for people. */
import { expect, test } from "vitest";
import { prettyLine, withoutKeys } from "../../../server/observe/log.ts";
import { startServer } from "../../support/server-process.ts";

const TIME = new Date(2026, 4, 1, 9, 5, 7, 45).getTime();
const ENTRY = { level: 30, time: TIME, pid: 12, hostname: "host", msg: "recovered" };

test("a line for people has time, level, message and facts, and nothing of the process", () => {
  const facts = { records: 3, path: "/data/wal", reason: "two words", torn: null, list: ["a", 1] };
  expect(prettyLine(JSON.stringify({ ...ENTRY, ...facts }), false)).toBe(
    '09:05:07.045 INFO  recovered  records=3  path=/data/wal  reason="two words"  torn=null' +
      '  list=["a",1]\n',
  );
});

test("the level has a colour, if colours are wanted", () => {
  const line = prettyLine(JSON.stringify({ ...ENTRY, level: 50 }), true);
  expect(line).toBe("09:05:07.045 \u001B[31mERROR\u001B[0m recovered\n");
});

test("an error is shown with its stack below the line", () => {
  const err = { type: "Error", message: "broken", stack: "Error: broken\n    at f (file.ts:1)" };
  expect(prettyLine(JSON.stringify({ ...ENTRY, level: 60, err }), false)).toBe(
    "09:05:07.045 FATAL recovered\nError: broken\n    at f (file.ts:1)\n",
  );
});

test("control characters in a fact are escaped, so that they do not reach the terminal", () => {
  const line = prettyLine(JSON.stringify({ ...ENTRY, path: "\u001B[2J\n" }), false);
  expect(line).toBe('09:05:07.045 INFO  recovered  path="\\u001b[2J\\n"\n');
});

test("what turns the direction of text or begins a line is escaped in a line for people", () => {
  const disguised = "a\u202eb\u2028c";
  const err = { stack: `Error: ${disguised}\n    at f` };
  const line = prettyLine(
    JSON.stringify({ ...ENTRY, msg: disguised, path: disguised, err }),
    false,
  );
  const shown = String.raw`a\u202eb\u2028c`;
  expect(line).toBe(`09:05:07.045 INFO  ${shown}  path="${shown}"\nError: ${shown}\n    at f\n`);
});

test("a server logs JSON lines to a pipe, and short lines if they are asked for", async () => {
  const json = await startServer();
  await json.kill("SIGTERM");
  const messages = json.logLines.map(({ msg }) => msg);
  expect([messages.at(0), messages.at(-1)]).toEqual(["recovered", "stopped"]);
  const pretty = await startServer({ args: ["--log-format", "pretty"], folder: json.folder });
  await pretty.kill("SIGTERM");
  const lines = pretty.stderr.trimEnd().split("\n");
  const shape = /^\d\d:\d\d:\d\d\.\d{3} INFO  (\w+.*?)(  |$)/;
  const shown = lines.map((line) => shape.exec(line)?.[1]);
  expect([shown.at(0), shown.at(-1)]).toEqual(["recovered", "stopped"]);
  expect(shown).not.toContain(undefined);
});

test.each([
  ["/a/fro_12_secret-code_1/b", "/a/fro_12_***/b"],
  ["/frt_3_secret?x=1", "/frt_3_***?x=1"],
  ["/fro%5F12%5fsecret%2Dcode", "/fro%5F12%5f***"],
  ["/from/a_1_b", "/from/a_1_b"],
  ["/door/e1/visitors/v1SdkD2K_x-y/enter", "/door/e1/visitors/***/enter"],
  ["/events/e1/admission/visitors/v1Sdk%44?x=1", "/events/e1/admission/visitors/***?x=1"],
  ["/events/e1/admission/visitors/", "/events/e1/admission/visitors/"],
])("the path %s is logged as %s", (path, logged) => {
  expect(withoutKeys(path)).toBe(logged);
});
