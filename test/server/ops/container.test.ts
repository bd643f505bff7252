/** The container: what the Dockerfile and the compose file name exists, pinned and without root. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { sqlitePackage } from "../../../persistence/disk/sqlite.ts";
import { version } from "../../../server/program.ts";
import { startServer } from "../../support/server-process.ts";

const DOCKERFILE = readFileSync("Dockerfile", "utf8");
const IGNORED = readFileSync(".dockerignore", "utf8").split("\n");
/** Instructions, with their continuation lines joined. */
const INSTRUCTIONS = DOCKERFILE.replaceAll(/^#.*\n/gm, "")
  .replaceAll("\\\n", "")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => /^([A-Z]+) +(.*)$/.exec(line)!.slice(1) as [name: string, rest: string]);
const only = (name: string) =>
  INSTRUCTIONS.filter(([each]) => each === name).map(([, rest]) => rest);

interface Service {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly environment?: readonly string[];
  readonly ports: readonly string[];
  readonly volumes: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
}
const { services, volumes } = parse(readFileSync("server/ops/compose.yaml", "utf8")) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, null>>;
};

test("the image is pinned, has a Node that needs no compiler, and runs without root", () => {
  const [node = ""] = only("ARG").map((argument) => argument.split("=")[1]!);
  expect(node).toMatch(/^24\.\d+\.\d+$/);
  expect(sqlitePackage(node)).toBe("better-sqlite3-node-api");
  for (const from of only("FROM")) expect(from).toMatch(/^node:\$\{NODE_VERSION\}-trixie-slim/);
  expect(only("USER")).toEqual(["node"]);
  const last = INSTRUCTIONS.map(([name]) => name);
  expect(last.indexOf("USER")).toBeLessThan(last.indexOf("ENTRYPOINT"));
  expect(last.lastIndexOf("RUN")).toBeLessThan(last.indexOf("USER"));
  expect(only("VOLUME")).toEqual(["/data"]);
  expect(only("ENV").join(" ")).toContain("FRONTROW_DATA=/data");
});

test("the check of health needs only Node, and tells a server from none", async () => {
  const [health] = only("HEALTHCHECK");
  const [command, flag, script] = JSON.parse(/CMD (\[.*\])$/.exec(health!)![1]!) as string[];
  expect([command, flag]).toEqual(["node", "-e"]);
  const { url } = await startServer();
  const check = (port: string) => {
    return spawnSync(process.execPath, ["-e", script!.replace("8080", port)]).status;
  };
  expect([check(new URL(url).port), check("1")]).toEqual([0, 1]);
  for (const instruction of ["ENTRYPOINT", "CMD"]) {
    for (const list of only(instruction)) expect(Array.isArray(JSON.parse(list))).toBe(true);
  }
});

test("what the build copies exists and is sent to the builder, and secrets are not", () => {
  expect(IGNORED).toContain("*");
  const sent = IGNORED.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
  for (const name of sent) expect(existsSync(name), name).toBe(true);
  const { include } = JSON.parse(readFileSync("tsconfig.build.json", "utf8")) as {
    include: string[];
  };
  const { files } = JSON.parse(readFileSync("package.json", "utf8")) as { files: string[] };
  const needed = [...include, ...files.filter((file) => !file.startsWith("dist/"))];
  for (const name of needed) expect(sent).toContain(name.split("/")[0]);
  for (const name of ["data", "demo-data", "node_modules", "dist", ".git"]) {
    expect(sent).not.toContain(name);
  }
});

test("every path, volume and image of the compose file exists or is pinned", () => {
  for (const [name, { image, build, ports, volumes: mounts }] of Object.entries(services)) {
    expect(image, name).toMatch(/:v?\d+\.\d+\.\d+$/);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    for (const mount of mounts) {
      const [source = "", , mode] = mount.split(":");
      if (!source.startsWith(".")) expect(Object.keys(volumes)).toContain(source);
      else
        expect([mount, existsSync(path.join("server/ops", source)), mode]).toEqual([
          mount,
          true,
          "ro",
        ]);
    }
    if (build === undefined) continue;
    expect(existsSync(path.join("server/ops", build.context, build.dockerfile))).toBe(true);
    expect(image).toBe(`frontrow:${version}`);
  }
  expect(services["frontrow"]).toMatchObject({ read_only: true, cap_drop: ["ALL"] });
});

test("the compose file has no secret, and takes them from the shell", () => {
  const own = services["frontrow"]!.environment!;
  for (const variable of own) expect(variable).toMatch(/^FRONTROW_[A-Z_]+$/);
});

test("Grafana finds the dashboard and the data source where they are mounted", () => {
  const { providers } = parse(readFileSync("server/ops/grafana-dashboards.yml", "utf8")) as {
    readonly providers: readonly { readonly options: { readonly path: string } }[];
  };
  const { environment = [], volumes: mounts } = services["grafana"]!;
  const mounted = mounts.map((mount) => mount.split(":")[1]!);
  expect(mounted).toContain(`${providers[0]!.options.path}/frontrow.json`);
  const home = environment.find((variable) => variable.includes("HOME_DASHBOARD"))!.split("=")[1];
  expect(mounted).toContain(home);
  const prometheus = readFileSync("server/ops/prometheus.yml", "utf8");
  expect(prometheus).toContain("frontrow:8080");
  expect(only("EXPOSE")).toEqual(["8080"]);
});
