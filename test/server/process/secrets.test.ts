/** No secret is ever on standard output, on standard error, or in the log, but the demo's key. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test, vi } from "vitest";
import {
  CLI,
  collect,
  exitOf,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from "../../support/server-process.ts";

const ORGANIZATIONS = "/api/private/management/v2.0/organizations/";
const GIVEN = {
  FRONTROW_METRICS_TOKEN: "metrics-token-of-this-test",
  FRONTROW_PLATFORM_TOKEN: "platform-token-of-this-test",
};
const WORDS = "two words of a person";

/** The secrets that a first start generated. */
function generatedIn(folder: string): readonly (readonly [string, string])[] {
  const lines = readFileSync(path.join(folder, "first-credentials"), "utf8").trimEnd().split("\n");
  return lines
    .map((line) => line.split(": ") as [string, string])
    .filter(([name]) => name !== "admin email");
}

/** Uses every kind of secret, well and badly. @returns The secrets that the answers held. */
async function useSecrets(server: ServerProcess, tenantToken: string): Promise<string[]> {
  const person = { firstName: "Ann", lastName: "Lee", email: "ann@x.example", password: WORDS };
  const created = await server.request(
    "POST",
    ORGANIZATIONS,
    { name: "X", ...person },
    tenantToken,
  );
  expect(created.status).toBe(201);
  const { secretKey } = (await created.json()) as { readonly secretKey: string };
  const login = { username: person.email, password: WORDS };
  const answer = await server.request("POST", "/api/auth/login", login, "");
  const { token, refreshToken } = (await answer.json()) as {
    readonly token: string;
    readonly refreshToken: string;
  };
  const wrong = { username: person.email, password: `${WORDS}!` };
  expect((await server.request("POST", "/api/auth/login", wrong, "")).status).toBe(401);
  const listed = [
    await server.request("GET", "/api/private/v2.0/events/", undefined, secretKey),
    await server.request("GET", "/api/private/v2.0/events/", undefined, `${secretKey}!`),
    await server.request("GET", `/api/private/v2.0/events/?key=${secretKey}`, undefined, ""),
    await server.request("GET", `/${secretKey}`, undefined, ""),
  ];
  expect(listed.map(({ status }) => status)).toEqual([200, 403, 403, 404]);
  return [secretKey, token, refreshToken, WORDS];
}

test("no secret is in the output of a server, whatever it logs", async () => {
  const args = ["--demo", "--log-level", "trace", "--access-log", "-"];
  const first = await startServer({ args, env: GIVEN });
  const generated = generatedIn(first.folder);
  expect(generated.map(([name]) => name)).toEqual(["tenant token", "admin password"]);
  const used = await useSecrets(first, first.generated("tenant token"));
  await first.kill("SIGTERM");
  const second = await startServer({ args, env: GIVEN, folder: first.folder });
  await second.kill("SIGTERM");
  const master = readFileSync(path.join(first.folder, "secret"), "utf8").trim();
  const secrets = [master, ...generated.map(([, value]) => value), ...used];
  secrets.push(...Object.values(GIVEN));
  expect(secrets.length).toBe(9);
  for (const { stdout, stderr } of [first, second]) {
    // The key of the demo is printed for its reader, and is in no log.
    expect(stdout.split(first.key)).toHaveLength(2);
    expect(stderr).not.toContain(first.key);
    expect(stdout).toContain("frontrow listening on");
    expect(stderr).toContain("recovered");
    for (const secret of secrets) {
      expect(secret.length).toBeGreaterThan(15);
      expect(stdout + stderr).not.toContain(secret);
    }
  }
});

/** Starts a server on a pseudo-terminal and stops it. @returns What the terminal received. */
async function startOnTerminal(folder: string, args: readonly string[]): Promise<string> {
  const pidFile = `${folder}.pid`;
  const serve = [process.execPath, CLI, "serve", "--port", "0", "--data", folder, ...args];
  const child = spawn("sh", ["-c", 'script --quiet --return --command "$COMMAND" /dev/null'], {
    env: { PATH: process.env["PATH"], COMMAND: `echo $$ > ${pidFile}; exec ${serve.join(" ")}` },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const output = collect(child);
  await vi.waitUntil(() => output.stdout.includes("frontrow listening on"), { timeout: 60_000 });
  process.kill(Number(readFileSync(pidFile, "utf8")), "SIGTERM");
  expect(await exitOf(child)).toEqual({ code: 0, signal: null });
  return output.stdout;
}

test("a first start on a terminal prints where the credentials are, and none of them", async () => {
  const folder = path.join(temporaryFolder(), "data");
  const output = await startOnTerminal(folder, []);
  expect(output).toContain(`The first credentials are in ${folder}/first-credentials`);
  for (const [, secret] of generatedIn(folder)) expect(output).not.toContain(secret);
});
