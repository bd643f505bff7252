#!/bin/sh
# Compiles better-sqlite3 12 on Node 20: `npm run sqlite`, and with `npm ci`. Later versions of Node use
# better-sqlite3 13, which npm installs there, with a binary that needs no compiler.
set -eu
cd "$(dirname "$0")/../.."
works='try { new (require("better-sqlite3"))(":memory:"); } catch { process.exit(1); }'
if node -e 'process.exit(Number.parseInt(process.versions.node) >= 22 ? 0 : 1)'; then exit; fi
if node -e "$works"; then exit; fi
echo "Compiling better-sqlite3 for Node 20, which takes a minute or two…"
cd node_modules/better-sqlite3
node-gyp rebuild --release > build.log 2>&1 || { tail -n 20 build.log >&2; exit 1; }
