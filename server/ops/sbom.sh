#!/bin/sh
# Prints the packages at run time as a CycloneDX document.
#
#   npm run --silent sbom > sbom.json
#
# `npm sbom --omit dev` leaves out packages that the tools for development need as well, so the lock
# file is first reduced to the others.
set -eu
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=$folder/@frontrow/server   # npm names the program after its folder
mkdir -p "$root"
node - "$root" << 'JS'
const { readFileSync, writeFileSync } = require("node:fs");
const [, , folder] = process.argv;
const [manifest, lock] = ["package.json", "package-lock.json"].map((file) => {
  return { file, content: JSON.parse(readFileSync(file, "utf8")) };
});
const { packages } = lock.content;
for (const [path, { dev }] of Object.entries(packages)) if (dev === true) delete packages[path];
for (const root of [manifest.content, packages[""]]) delete root.devDependencies;
for (const { file, content } of [manifest, lock]) {
  writeFileSync(`${folder}/${file}`, JSON.stringify(content));
}
JS
cd "$root"
npm sbom --sbom-format cyclonedx --package-lock-only
