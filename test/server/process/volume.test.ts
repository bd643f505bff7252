/** A server on a volume of Kubernetes: the folder belongs to root, and to a group of the server. */
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { missingPrograms, missingRoot } from "../../support/programs.ts";
import {
  CLI,
  type ServerProcess,
  startServer,
  temporaryFolder,
} from "../../support/server-process.ts";

const USER = 65_001;
const GROUP = 65_002;
/** Words before the command: another user, and a umask that hides nothing. */
const OTHER_USER = ["setpriv", `--reuid=${USER}`, `--regid=${GROUP}`, "--clear-groups"];
const ENTER = OTHER_USER.concat("sh", "-c", 'umask 0 && exec "$@"', "sh");

/**
 * @returns The reason why that user cannot run the program, for example a private folder; null if
 * it can.
 */
function missingUser(): string | null {
  const missing = missingRoot() ?? missingPrograms("setpriv");
  if (missing !== null) return missing;
  const [command, ...args] = [...ENTER, process.execPath, CLI, "--version"];
  return spawnSync(command, args).status === 0 ? null : "needs a clone that every user may read";
}

/** Paths in the folder, itself included, on which others have rights. */
function openPaths(folder: string): string[] {
  const names = ["", ...readdirSync(folder, { recursive: true, encoding: "utf8" })];
  return names.filter((name) => (statSync(path.join(folder, name)).mode & 0o077) !== 0);
}

const warnings = ({ logLines }: ServerProcess) =>
  logLines.filter(({ level }) => level === "warn" || level === 40).map(({ msg }) => String(msg));

const missing = missingUser();
const why = missing === null ? "" : ` (skipped: ${missing})`;
describe.skipIf(missing !== null)(`a volume with fsGroup${why}`, () => {
  test("it is used with private files and a warning, and again after the kubelet opened them", async () => {
    const place = temporaryFolder();
    chmodSync(place, 0o755);
    const folder = path.join(place, "data");
    mkdirSync(folder);
    chownSync(folder, 0, GROUP);
    chmodSync(folder, 0o2775);
    const first = await startServer({
      folder,
      args: ["--demo", "--snapshot-every", "0.001"],
      enter: ENTER,
    });
    const sale = `/api/private/v2.0/booking/directsale?eventId=${first.eventId}`;
    const list = `/api/private/v2.0/events/${first.eventId}/seats/?size=1`;
    const page = (await (await first.request("GET", list)).json()) as {
      readonly content: readonly { readonly seatId: number }[];
    };
    const seats = [{ id: page.content[0]!.seatId }];
    expect(await (await first.request("POST", sale, { seats })).text()).toBe("true");
    expect(warnings(first)).toEqual([expect.stringMatching(/new files are private/)]);
    expect(openPaths(folder)).toEqual([""]);
    expect((await first.kill("SIGTERM")).code).toBe(0);
    expect(openPaths(folder)).toEqual([""]);
    expect(readdirSync(path.join(folder, "snapshots"))).not.toEqual([]);

    // As the kubelet does at each start of a pod with fsGroupChangePolicy Always.
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      const file = path.join(folder, name);
      const { mode } = statSync(file);
      chmodSync(file, mode | (statSync(file).isDirectory() ? 0o2770 : 0o660));
    }
    const second = await startServer({ folder, args: ["--demo"], enter: ENTER });
    expect(warnings(second).toSorted()).toEqual([
      expect.stringMatching(/could read the data folder; it is private now/),
      expect.stringMatching(/new files are private/),
    ]);
    expect(await (await second.request("POST", sale, { seats })).text()).toBe("false");
    expect((await second.kill("SIGTERM")).code).toBe(0);
    const inner = openPaths(folder).filter((name) => !name.includes("/"));
    expect([inner, statSync(folder).mode & 0o7777]).toEqual([[""], 0o2775]);
  });
});
