#!/usr/bin/env bash
# Sells out the sample arena on a server of its own, which is removed afterwards:
#
#   npm run demo:onsale
#   npm run demo:onsale -- --buyers 200 --think-ms 500
#
# Flags are passed to `frontrow onsale`.
set -euo pipefail
cd "$(dirname "$0")/../.."
frontrow=dist/frontrow
folder=$(mktemp -d "${TMPDIR:-/tmp}/frontrow-demo-XXXXXX")
processes=()

# Runs at the end, however the demo ends.
clean_up() {
  kill "${processes[@]}" 2> /dev/null || true
  wait
  rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

$frontrow serve --demo --port 0 --data "$folder/data" > "$folder/out" 2> "$folder/log" &
processes+=($!)
until grep -q '^curl ' "$folder/out"; do
  kill -0 "${processes[0]}" 2> /dev/null || { cat "$folder/log" >&2; exit 1; }
  sleep 0.1
done
key=$(sed 's/^X-API-Key: //' "$folder/data/demo-key")
url=$(sed -n 's/^frontrow listening on //p' "$folder/out")

# In the background, because the shell handles a signal only while it waits.
FRONTROW_KEY=$key $frontrow onsale --url "$url" --layout server/examples/arena.json.gz "$@" &
processes+=($!)
wait "${processes[1]}"
