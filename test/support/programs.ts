/** Tests with programs of the machine, such as etcd. */
import { spawnSync } from "node:child_process";
import { describe } from "vitest";

/** The Debian package of each program whose package has another name. */
const PACKAGES: Readonly<Record<string, string>> = {
  etcd: "etcd-server",
  ip: "iproute2",
  kubectl: "kubernetes-client",
  losetup: "mount",
  "mkfs.ext4": "e2fsprogs",
  nginx: "nginx-light",
  nsenter: "util-linux",
  prlimit: "util-linux",
  promtool: "prometheus",
  setpriv: "util-linux",
  "systemd-analyze": "systemd",
};

/** @returns Why the programs cannot be used; null if all exist. */
export function missingPrograms(...names: readonly string[]): string | null {
  if (process.platform !== "linux") return "needs Linux";
  const isThere = (name: string) => spawnSync("which", [name]).status === 0;
  const gone = names.filter((name) => !isThere(name));
  if (gone.length === 0) return null;
  const packages = gone.map((name) => PACKAGES[name] ?? name);
  return `needs ${gone.join(", ")} (Debian: apt-get install ${packages.join(" ")})`;
}

export function missingRoot(): string | null {
  return process.getuid?.() === 0 ? null : "needs root";
}

/** A group of tests, skipped where a program is missing; see {@link describeUnless}. */
export function describeWith(programs: readonly string[], title: string, tests: () => void): void {
  describeUnless(missingPrograms(...programs), title, tests);
}

/**
 * A group of tests, skipped where something is missing; its title then names it. In CI,
 * with everything installed, the tests run, so they fail.
 */
export function describeUnless(missing: string | null, title: string, tests: () => void): void {
  const isSkipped = missing !== null && process.env["CI"] === undefined;
  const why = isSkipped ? ` (skipped: ${missing})` : "";
  describe.skipIf(isSkipped)(`${title}${why}`, () => {
    tests();
  });
}
