/** The operator's commands as processes, on the folder of a server that runs, or ran. */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { expect, test } from "vitest";
import {
  CLI,
  type Finished,
  runCli,
  type ServerProcess,
  startServer,
  temporaryFolder,
  V2,
} from "../../support/server-process.ts";

/** Every one of these starts processes; a busy machine takes its time. */
const SLOW = { timeout: 120_000 };

/** Added by a busy machine, when the work takes longer than a second. */
const PROGRESS = /^[a-z ]+: \d+ of \d+\n/gm;

async function run(...args: readonly string[]): Promise<Finished> {
  const finished = await runCli({ args });
  return { ...finished, stderr: finished.stderr.replaceAll(PROGRESS, "") };
}

/** One line on standard error that has all the words, and nothing else. */
function expectRefused(finished: Finished, code: number, ...words: readonly (string | RegExp)[]) {
  expect(finished.code, finished.stderr).toBe(code);
  expect(finished.stdout).toBe("");
  expect(finished.stderr.trimEnd().split("\n")).toHaveLength(1);
  for (const word of words) expect(finished.stderr).toMatch(word);
}

/** Locks a seat and gives it back, again and again, until told to stop. */
async function bookOnAndOn(server: ServerProcess, seatId: number, isEnough: () => boolean) {
  const body = { seats: [{ id: seatId }], sessionId: "ann" };
  let booked = 0;
  while (!isEnough()) {
    for (const call of ["lock", "unlock"]) {
      const target = `${V2}/booking/${call}?eventId=${server.eventId}`;
      expect(await (await server.request("POST", target, body)).text()).toBe("true");
    }
    booked += 1;
  }
  return booked;
}

test("a running server is copied and looked into, neither checked nor repaired", SLOW, async () => {
  const server = await startServer({ args: ["--demo", "--snapshot-every", "0.02"] });
  const { folder } = server;
  const [seatId = 0] = await server.freeSeats();
  let isDone = false;
  const booking = bookOnAndOn(server, seatId, () => isDone);
  const place = temporaryFolder();
  const sequences: number[] = [];
  for (const name of ["first", "second"]) {
    const target = path.join(place, name);
    const copied = await run("backup", folder, target);
    expect([copied.code, copied.stderr]).toEqual([0, ""]);
    expect(copied.stdout).toMatch(/identical for every way of recovery/);
    expect(copied.stdout).toContain(`copied to ${target} and checked`);
    sequences.push(Number(/records up to (\d+)/.exec(copied.stdout)![1]));
    expect(fs.statSync(target).mode & 0o777).toBe(0o700);
    expect((await run("verify", target)).code).toBe(0);
  }
  expect(sequences[1]).toBeGreaterThan(sequences[0]!);
  expectRefused(await run("verify", folder), 75, /another process uses it/);
  expectRefused(await run("repair", folder, "--yes"), 75, /another process uses it/);
  const seen = await run("inspect", folder, "--seat", String(seatId));
  expect(seen.code).toBe(0);
  const moves = seen.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as object);
  expect(moves.at(-1)).toMatchObject({ type: "move", eventId: server.eventId });
  isDone = true;
  expect(await booking).toBeGreaterThan(10);
  await server.kill("SIGKILL");

  const restored = path.join(place, "restored");
  expect((await run("restore", path.join(place, "second"), restored)).code).toBe(0);
  const next = await startServer({ folder: restored, args: ["--demo"] });
  expect([next.key, next.eventId]).toEqual([server.key, server.eventId]);
  const recovered = next.logLines.find(({ msg }) => msg === "recovered");
  expect(recovered).toMatchObject({ sequence: sequences[1], tornBytes: 0 });
  expect(await bookOnAndOn(next, seatId, () => true)).toBe(0);
  await next.kill("SIGTERM");
  const told = await run("history", restored, "--event", server.eventId.toUpperCase());
  expect(told.code).toBe(0);
  const [first] = told.stdout.split("\n");
  expect(JSON.parse(first!)).toMatchObject({ eventId: server.eventId, call: "prices" });
  const sound = await run("verify", restored);
  expect([sound.code, sound.stdout]).toEqual([0, expect.stringContaining("all is well")]);
  fs.writeFileSync(path.join(restored, "audit.sqlite"), "x".repeat(20_000));
  const trail = await run("verify", restored);
  expect(trail.code).toBe(78);
  expect(trail.stdout).toContain("1 finding, nothing was changed: the next start keeps what");
});

/** A store in which something was booked, ended in order, and its only snapshot and segment. */
async function bookedStore() {
  const server = await startServer({ args: ["--demo"] });
  const [seatId = 0] = await server.freeSeats();
  let rounds = 0;
  await bookOnAndOn(server, seatId, () => ++rounds > 3);
  const { folder } = server;
  await server.kill("SIGTERM");
  const [snapshot] = fs.readdirSync(path.join(folder, "snapshots"));
  const [segment] = fs.readdirSync(path.join(folder, "wal"));
  return { server, seatId, folder, snapshot, segment };
}

test(
  "damage is listed whole; what can be saved is said, done when told, and kept",
  SLOW,
  async () => {
    const { folder, snapshot, segment } = await bookedStore();
    fs.truncateSync(path.join(folder, "snapshots", snapshot!), 5_000);
    const log = path.join(folder, "wal", segment!);
    const bytes = fs.readFileSync(log);
    const used = bytes.findLastIndex((byte) => byte !== 0);
    // The last move, behind it the marks of an end in order.
    const last = used - (used % 512) - 3 * 512;
    bytes[last + 100]! ^= 4;
    fs.writeFileSync(log, bytes);

    expectRefused(await run("serve", "--port", "0", "--data", folder), 78, /at byte/, /verify/);
    const found = await run("verify", folder);
    expect([found.code, found.stderr]).toEqual([78, ""]);
    expect(found.stdout).toMatch(new RegExp(`damaged: .*${segment}.*\n`));
    expect(found.stdout).toMatch(new RegExp(`damaged: .*${snapshot}.*\n`));
    expect(found.stdout).toContain(`frontrow repair ${folder}`);
    const shown = await run("inspect", folder);
    expect(shown.code).toBe(78);
    expect(shown.stdout.trimEnd().split("\n").length).toBeGreaterThan(3);

    const said = await run("repair", folder);
    expect(said.code).toBe(78);
    expect(said.stdout).toMatch(/keep: all records up to \d+\n/);
    // The times are those of the readable ones.
    const lose = /lose: at least \d records?, in the range \d+ to \d+(, from \S+Z to \S+Z)?\n/;
    expect(said.stdout).toMatch(lose);
    expect(said.stdout).toContain(`frontrow repair ${folder} --yes`);
    expect(fs.readFileSync(log).equals(bytes)).toBe(true);

    const done = await run("repair", folder, "--yes");
    expect([done.code, done.stderr]).toEqual([0, ""]);
    expect(done.stdout).toContain(`kept: ${log}.broken`);
    expect(fs.readFileSync(`${log}.broken`).equals(bytes)).toBe(true);
    expect((await run("verify", folder)).code).toBe(0);
    expect((await run("repair", folder)).stdout).toBe("nothing to repair\n");
    const next = await startServer({ folder, args: ["--demo"] });
    expect(await bookOnAndOn(next, (await next.freeSeats())[0]!, () => true)).toBe(0);
  },
);

test("a rotten log beside a good snapshot: the server goes on and books", SLOW, async () => {
  const { server, seatId, folder, snapshot, segment } = await bookedStore();
  fs.truncateSync(path.join(folder, "wal", segment!), 5_000);
  const said = await run("repair", folder);
  expect([said.code, said.stderr]).toEqual([78, ""]);
  expect(said.stdout).toContain(`keep: the content of snapshot ${snapshot!}`);
  expect(said.stdout).toContain("lose: no known record");
  expect((await run("repair", folder, "--yes")).code).toBe(0);
  expect((await run("verify", folder)).code).toBe(0);
  const next = await startServer({ folder, args: ["--demo"] });
  expect([next.key, next.eventId]).toEqual([server.key, server.eventId]);
  expect(await bookOnAndOn(next, seatId, () => true)).toBe(0);
  let rounds = 0;
  await bookOnAndOn(next, seatId, () => ++rounds > 4);
  await next.kill("SIGTERM");
  expect((await run("verify", folder)).stdout).toContain("all is well");
  const whole = await run("inspect", folder);
  const [, first] = /^the log starts with record (\d+)$/m.exec(whole.stderr)!;
  expect(whole.stdout).toMatch(new RegExp(`^\\{"sequence":${first},`));
  const { code, stdout, stderr } = await run("inspect", folder, "--from", first!);
  expect([code, stdout, stderr.replaceAll(PROGRESS, "")]).toEqual([0, whole.stdout, ""]);
});

test("a server does not start on a folder that is being checked", SLOW, async () => {
  const server = await startServer({ args: ["--demo"] });
  await server.kill("SIGTERM");
  const { shareFolder } = await import("../../../persistence/disk/data-folder.ts");
  const { realDisk } = await import("../../../persistence/disk/disk.ts");
  const release = shareFolder(realDisk, server.folder);
  expect((await run("verify", server.folder)).code).toBe(0);
  expectRefused(await run("serve", "--port", "0", "--data", server.folder), 75, /another process/);
  release();
  await startServer({ folder: server.folder });
});

test("a reader that goes ends inspect quietly", SLOW, async () => {
  const server = await startServer({ args: ["--demo"] });
  let rounds = 0;
  await bookOnAndOn(server, (await server.freeSeats())[0]!, () => ++rounds > 150);
  await server.kill("SIGTERM");
  const inspect = `"${process.execPath}" "${CLI}" inspect "${server.folder}"`;
  const line = `${inspect} | head -n 2; echo \${PIPESTATUS[0]}`;
  const piped = spawnSync("bash", ["-c", line], { encoding: "utf8" });
  expect(piped.stderr.replaceAll(PROGRESS, "")).toBe("");
  const lines = piped.stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(3);
  expect(lines[2]).toBe("0");
});

test(
  "names of sessions that turn the direction of text come escaped out of logs and tools",
  SLOW,
  async () => {
    const folder = temporaryFolder();
    const access = path.join(folder, "access.log");
    const server = await startServer({ args: ["--demo", "--access-log", access] });
    const sessionId = "a\u202eb\u2028c\u2066";
    const seat = { id: (await server.freeSeats())[0]! };
    const lock = await server.request("POST", `${V2}/booking/lock?eventId=${server.eventId}`, {
      sessionId,
      seats: [seat],
    });
    expect(await lock.text()).toBe("true");
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.write(`GET /${sessionId} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    await once(socket.resume(), "close");
    await server.kill("SIGTERM");
    const tools = [
      await run("inspect", server.folder),
      await run("history", server.folder),
      await run("verify", `${folder}/${sessionId}`),
    ];
    const outputs = [
      fs.readFileSync(access, "utf8"),
      ...tools.map((tool) => tool.stdout + tool.stderr),
    ];
    for (const output of outputs) {
      expect(output).not.toMatch(/[\u2028\u2029\u202a-\u202e\u2066-\u2069\u0080-\u009f]/);
      expect(output).toContain(String.raw`a\u202eb\u2028c\u2066`);
    }
    const lines = outputs[1]!
      .trimEnd()
      .split("\n")
      .filter((line) => line.startsWith("{"));
    expect(lines.map((line) => JSON.stringify(JSON.parse(line))).join("\n")).toContain(sessionId);
  },
);

test("wrong usage is 2, a folder of something else 78: one line each", SLOW, async () => {
  const place = temporaryFolder();
  const file = path.join(place, "thesis.txt");
  fs.writeFileSync(file, "years of work");
  const nowhere = path.join(place, "nowhere");
  const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
    [["verify"], 2, /missing required argument/],
    [["verify", nowhere, "more"], 2, /too many arguments/],
    [["inspect", nowhere, "--from", "x"], 2, /an integer/],
    [["inspect", nowhere, "--event", "x"], 2, /UUID/],
    [["inspect", nowhere, "--from", "5", "--to", "2"], 2, /--to 2 is before --from 5/],
    [["history", nowhere, "--event", "x"], 2, /UUID/],
    [["history", place], 78, /store\.json/],
    [["repair", nowhere, "--cut-after", "-1"], 2, /cut-after|whole number/],
    [["verify", nowhere], 78, /does not exist/],
    [["verify", place], 78, /has no store\.json/],
    [["inspect", place], 78, /store\.json/],
    [["repair", place, "--yes"], 78, /store\.json/],
    [["backup", place, nowhere], 78, /store\.json/],
    [["restore", nowhere, place], 78, /does not exist/],
    [["verify", file], 78, /name a folder, not a file/],
    [["inspect", file], 78, /name a folder, not a file/],
    [["repair", file], 78, /name a folder, not a file/],
    [["backup", file, nowhere], 78, /name a folder, not a file/],
  ];
  for (let i = 0; i < cases.length; i += 2) {
    await Promise.all(
      cases.slice(i, i + 2).map(async ([args, code, word]) => {
        expectRefused(await run(...args), code, word);
      }),
    );
  }
  expect(fs.readdirSync(place)).toEqual(["thesis.txt"]);
  const help = await run("repair", "--help");
  expect([help.code, help.stderr]).toEqual([0, ""]);
  for (const word of ["--yes", "--cut-after", ".broken", "Exit codes"]) {
    expect(help.stdout).toContain(word);
  }
});
