/** The versions of Node: the SQLite of each, and a start on an unfit one. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { sqlitePackage } from "../../../persistence/disk/sqlite.ts";
import { explainServer, loadServer, refuseNode } from "../../../server/program.ts";
import { runCli, temporaryFolder } from "../../support/server-process.ts";

const GLIBC =
  "This version of uWS.js supports only Node.js versions 16, 18.\n\nError: libc.so.6: version `GLIBC_2.38' not found";

test.each([
  ["20.19.0", "better-sqlite3"],
  ["20.20.2", "better-sqlite3"],
  ["22.12.0", "better-sqlite3-node-api"],
  ["24.18.0", "better-sqlite3-node-api"],
  ["24.21.0", "better-sqlite3-node-api"],
  ["26.10.0", "better-sqlite3-node-api"],
])("Node %s → the package %s, which npm installs there", (node, name) => {
  expect(sqlitePackage(node)).toBe(name);
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    readonly packages: Readonly<
      Record<string, { readonly version: string; readonly optional?: boolean }>
    >;
  };
  const { version, optional = false } = packages[`node_modules/${name}`]!;
  const expected = name === "better-sqlite3" ? ["12", false] : ["13", true];
  expect([version.split(".")[0], optional]).toEqual(expected);
});

test.each(["16.20.2", "18.20.8", "20.0.0", "20.18.3"])(
  "Node %s is too old → what to use",
  (node) => {
    expect(refuseNode(node)).toBe(`Node ${node} is too old: use Node 24, or 20.19 or a later 20`);
  },
);

test.each(["20.19.0", "20.20.2", "22.12.0", "24.0.0", "24.21.0"])(
  "Node %s is not refused",
  (node) => {
    expect(refuseNode(node)).toBeNull();
  },
);

test.each([
  ["24.21.0", "2.36", "Node 24.21.0 with glibc 2.36"],
  ["24.21.0", undefined, "Node 24.21.0 with no glibc"],
  ["26.10.0", "2.41", "Node 26.10.0 with glibc 2.41"],
])(
  "uWebSockets.js fails on Node %s with glibc %s → one line with what works",
  (node, glibc, here) => {
    const text = explainServer(node, glibc, GLIBC);
    expect(text).toBe(
      `the server does not run on ${here}: use Node 22.12 to 24 on Linux with glibc 2.38 or later, ` +
        "such as Debian 13, or Node 20 on Linux with any glibc (libc.so.6: version `GLIBC_2.38' not found)",
    );
  },
);

test("another error of a module is not explained away", async () => {
  const other = new Error("out of order");
  await expect(loadServer(() => Promise.reject(other))).rejects.toBe(other);
  await expect(loadServer(() => Promise.reject(new Error(GLIBC)))).rejects.toThrow(
    /^the server does not/,
  );
});

test("the binary of SQLite is missing → the start ends with 1 and one line with the remedy", async () => {
  const args = ["serve", "--port", "0", "--data", `${temporaryFolder()}/data`];
  // Another program in the place of the module, as where it was compiled for another Node.
  const preload = `data:text/javascript,${encodeURIComponent(
    'import { Module } from "node:module"; const load = Module._load;' +
      'Module._load = (name, ...rest) => { if (/^better-sqlite3/.test(name)) throw new Error("no binary\\nof it");' +
      "return load(name, ...rest); };",
  )}`;
  const finished = await runCli({ args, env: { NODE_OPTIONS: `--import=${preload}` } });
  expect(finished).toMatchObject({ code: 1, stdout: "" });
  expect(finished.stderr).toMatch(
    /^frontrow: Node \S+ cannot load better-sqlite3\S*: run npm ci with this Node, .* \(no binary\)\n$/,
  );
});
