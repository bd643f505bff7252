#!/usr/bin/env bash
# Assembles the package @frontrow/client from dist: a few files without dependencies.
# Usage: pack.sh [folder for the packed file]. Fails when client.api.md is out of date.
set -euo pipefail
cd "$(dirname "$0")/../.."

out=dist/client-package
rm -rf "$out"
mkdir -p "$out"
node node_modules/@microsoft/api-extractor/bin/api-extractor run --config server/client/api-extractor.json
for file in dist/server/client/*.js; do
  sed '/^\/\/# sourceMappingURL=/d' "$file" > "$out/${file##*/}"
done
cp dist/api/client/index.d.ts "$out/index.d.ts"
cp dist/api/client/index.d.ts "$out/index.d.cts"
cp LICENSE "$out"
# What the guide says of the client, without the comments for tests and links to pages that are not here.
{
  printf '# @frontrow/client\n\n'
  printf 'A client of Frontrow, the seat inventory engine, for Node and browsers: it books seats over one socket,\n'
  printf 'and follows the changes of an event. The guide of your server, at `/docs`, has the rules and the refusals.\n'
  for page in commands live; do
    title=Bookings
    if [ "$page" = live ]; then title='Changes of an event'; fi
    printf '\n## %s\n' "$title"
    sed -n -e '/^## A client in TypeScript/,/^## /{/^## /!{/^<!-- /!p}}' "server/docs/guide/$page.md" |
      sed -e 's/\[\([^]]*\)\]([^):]*\.md[^)]*)/\1/g' -e '${/^$/d}'
  done
} > "$out/README.md"
echo 'module.exports = require("./client.js");' > "$out/index.cjs"
node > "$out/package.json" <<'SCRIPT'
const { version, license } = require("./package.json");
const manifest = {
  name: "@frontrow/client",
  version,
  description: "A client of Frontrow for Node and browsers: bookings over one socket, and changes of events.",
  license,
  type: "module",
  sideEffects: false,
  // Bundlers for browsers leave it out; it is imported where there is no WebSocket.
  browser: { "./node-socket.js": false },
  exports: {
    ".": {
      import: { types: "./index.d.ts", default: "./client.js" },
      require: { types: "./index.d.cts", default: "./index.cjs" },
    },
    "./package.json": "./package.json",
  },
  engines: { node: ">=20.19.0" },
};
console.log(JSON.stringify(manifest, null, 2));
SCRIPT
npm pack --silent --pack-destination "${1:-.}" "./$out"
