#!/bin/sh
# Compares uWebSockets.js as it is installed with the hashes in binaries.sha256: its binaries for the
# platforms that Frontrow names, and the files that load them.
#
#   npm run binaries
#
# Another folder may be named. Exits with 1 when a file differs or is missing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$here/../../node_modules/uWebSockets.js}"
sha256sum --check --strict --quiet "$here/binaries.sha256"
echo "uWebSockets.js: all $(wc -l < "$here/binaries.sha256") files are as listed"
