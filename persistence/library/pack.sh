#!/usr/bin/env bash
# Assembles the package @frontrow/engine from dist: the library without the server and its packages.
# Usage: pack.sh [folder for the packed file]. Fails when library.api.md is out of date.
set -euo pipefail
cd "$(dirname "$0")/../.."

api-extractor() { node node_modules/@microsoft/api-extractor/bin/api-extractor "$@"; }
out=dist/package
rm -rf "$out"
mkdir -p "$out"
api-extractor run --config persistence/library/api-extractor.json
# Without comments: those of the public types are in index.d.ts.
bare=dist/package-bare
rm -rf "$bare"
node node_modules/typescript/bin/tsc -p tsconfig.build.json --outDir "$bare" \
  --removeComments --declaration false --sourceMap false
# Few files: the server's parts are left out, and small files do not take whole blocks of the disk.
npm run --silent bundle:engine -- "$bare/persistence/library/library.js" \
  "$bare"/persistence/store/{snapshot-worker,history-worker}.js \
  "$bare/persistence/cluster/worker.js" --dir "$out" >&2
rm -r "$bare"
cp dist/api/index.d.ts "$out/index.d.ts"
# Once with comments is enough.
sed -e '/^ *\/\*\*.*\*\/$/d' -e '/^ *\/\*\*/,/\*\//d' dist/api/index.d.ts > "$out/index.d.cts"
cp LICENSE "$out"
# The client of etcd contains @bufbuild/protobuf, whose licence asks for this.
sed -n -e '/^\/\//!q' -e 's/^\/\/ *//p' node_modules/@bufbuild/protobuf/dist/esm/wire/varint.js > "$out/NOTICE"
cp server/docs/guide/library.md "$out/README.md"
echo 'module.exports = require("./library.js");' > "$out/index.cjs"
node > "$out/package.json" <<'SCRIPT'
const { version, license, engines, dependencies, optionalDependencies } = require("./package.json");
const needed = ["ajv", "msgpackr"];
const { "better-sqlite3": compiled } = dependencies;
const manifest = {
  name: "@frontrow/engine",
  version,
  description: "The seat inventory engine of Frontrow, for embedding.",
  license,
  type: "module",
  exports: {
    ".": {
      import: { types: "./index.d.ts", default: "./library.js" },
      require: { types: "./index.d.cts", default: "./index.cjs" },
    },
    "./package.json": "./package.json",
  },
  engines,
  dependencies: Object.fromEntries(needed.map((name) => [name, dependencies[name]])),
  // One of them is for the Node that runs, and the other may fail to install.
  optionalDependencies: { "better-sqlite3": compiled, ...optionalDependencies },
};
console.log(JSON.stringify(manifest, null, 2));
SCRIPT
npm pack --silent --pack-destination "${1:-.}" "./$out"
