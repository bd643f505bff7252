/** The surroundings of the server: packages at run time, their binaries, and the systemd unit. */
import { execFile, spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { MEMORY_ENVIRONMENT } from "../../faults/support/serving.ts";
import { describeWith } from "../../support/programs.ts";
import { ROOT, temporaryFolder } from "../../support/server-process.ts";

const CHECK = path.join(ROOT, "server/ops/check-binaries.sh");
const INSTALLED = "node_modules/uWebSockets.js";
const LISTED = readFileSync("server/ops/binaries.sha256", "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => line.split("  ")[1]!);

function checkBinaries(folder: string) {
  const args = [folder];
  const { status, stdout } = spawnSync(CHECK, args, { encoding: "utf8" });
  return { status, stdout };
}

test("the binaries that are installed are those of the list", () => {
  const stdout = `uWebSockets.js: all ${LISTED.length} files are as listed\n`;
  expect(checkBinaries(INSTALLED)).toEqual({ status: 0, stdout });
});

test("a changed byte in any file of the list is found, and so is a missing file", () => {
  const folder = temporaryFolder();
  for (const name of LISTED) copyFileSync(`${INSTALLED}/${name}`, `${folder}/${name}`);
  expect(checkBinaries(folder).status).toBe(0);
  for (const name of LISTED) {
    const original = readFileSync(`${folder}/${name}`);
    const changed = Buffer.from(original);
    changed[original.length >> 1]! ^= 1;
    writeFileSync(`${folder}/${name}`, changed);
    expect(checkBinaries(folder)).toEqual({ status: 1, stdout: `${name}: FAILED\n` });
    writeFileSync(`${folder}/${name}`, original);
  }
  rmSync(`${folder}/uws.js`);
  expect(checkBinaries(folder)).toMatchObject({ status: 1, stdout: /^uws.js: FAILED/ });
});

interface Locked {
  readonly name?: string;
  readonly version: string;
  readonly dev?: boolean;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
}

/** Packages at run time, those for other platforms included. */
function packagesAtRunTime() {
  const lock = readFileSync("package-lock.json", "utf8");
  const { packages } = JSON.parse(lock) as { packages: Readonly<Record<string, Locked>> };
  return Object.entries(packages)
    .filter(([place, { dev }]) => place !== "" && dev !== true)
    .map(([place, locked]) => {
      const name = locked.name ?? place.slice(place.lastIndexOf("node_modules/") + 13);
      return { ...locked, name };
    });
}

test("there are at most 62 packages at run time; those for Linux have a hash", () => {
  const packages = packagesAtRunTime();
  expect(packages.length).toBeGreaterThan(40);
  expect(packages.length).toBeLessThanOrEqual(62);
  const forLinux = packages.filter(
    ({ os = ["linux"], cpu = ["x64"] }) =>
      os.includes("linux") && (cpu.includes("x64") || cpu.includes("arm64")),
  );
  expect(forLinux.length).toBeGreaterThan(40);
  for (const { name, integrity = "none" } of forLinux) expect(integrity, name).toMatch(/^sha512-/);
});

test("no package at run time reports home, or downloads a binary, when it is installed", () => {
  const packages = packagesAtRunTime();
  const names = packages.map(({ name }) => name);
  expect(names).toContain("better-sqlite3");
  expect(names).not.toContain("@scarf/scarf");
  expect(names).not.toContain("prebuild-install");
  const withScript = packages.filter(({ hasInstallScript }) => hasInstallScript === true);
  const manifest = readFileSync("package.json", "utf8");
  const { allowScripts } = JSON.parse(manifest) as { allowScripts: Record<string, boolean> };
  expect(withScript.map(({ name }) => name).sort()).toEqual(Object.keys(allowScripts).sort());
  expect(allowScripts).toEqual({ "better-sqlite3": false, "msgpackr-extract": false });
});

test("the list of packages in CycloneDX has every package at run time, and no other", async () => {
  const { stdout } = await promisify(execFile)("npm", ["run", "--silent", "sbom"]);
  const { bomFormat, metadata, components } = JSON.parse(stdout) as {
    readonly bomFormat: string;
    readonly metadata: { readonly component: { readonly name: string } };
    readonly components: readonly { readonly purl: string }[];
  };
  expect([bomFormat, metadata.component.name]).toEqual(["CycloneDX", "@frontrow/server"]);
  const locked = packagesAtRunTime().map(({ name, version }) => `pkg:npm/${name}@${version}`);
  const listed = components.map(({ purl }) => decodeURIComponent(purl));
  expect(listed.sort()).toEqual([...new Set(locked)].sort());
});

test("however the server is started, the C library gives large blocks back to the system", () => {
  const command = readFileSync("server/cli.ts", "utf8").split("\n", 1)[0]!;
  const program = path.join(temporaryFolder(), "program");
  writeFileSync(program, `${command}\nconsole.log(JSON.stringify(process.env))`, { mode: 0o700 });
  const { stdout } = spawnSync(program, { encoding: "utf8" });
  expect(JSON.parse(stdout)).toMatchObject(MEMORY_ENVIRONMENT);
  for (const file of ["package.json", "Dockerfile", "server/ops/frontrow.service"]) {
    const text = readFileSync(file, "utf8");
    expect(text, file).toMatch(
      /"exec dist\/frontrow |ENTRYPOINT \["frontrow"\]|=\S+\/dist\/frontrow /,
    );
    expect(text, file).not.toMatch(/node\S* \S*server\/cli\.js/);
  }
});

describeWith(["systemd-analyze"], "the systemd unit", () => {
  const UNIT = readFileSync("server/ops/frontrow.service", "utf8");

  function analyze(unit: string, ...args: readonly string[]) {
    const file = path.join(temporaryFolder(), "frontrow.service");
    writeFileSync(file, unit.replace("/opt/frontrow", ROOT));
    const { status, stderr } = spawnSync("systemd-analyze", [...args, file], { encoding: "utf8" });
    return { status, stderr };
  }

  test("systemd finds no mistake in it", () => {
    const verify = ["verify", "--man=no"];
    expect(analyze(UNIT, ...verify)).toEqual({ status: 0, stderr: "" });
    const { stderr } = analyze(UNIT.replace("ProtectHome=", "ProtectHomes="), ...verify);
    expect(stderr).toContain("Unknown key 'ProtectHomes'");
  });

  test("its exposure is at most 1.5 of 10", () => {
    const security = ["security", "--offline=true", "--no-pager", "--threshold=15"];
    expect(analyze(UNIT, ...security).status).toBe(0);
    expect(analyze(UNIT.replace(/^(Protect|SystemCall).*\n/gm, ""), ...security).status).toBe(1);
  });
});
