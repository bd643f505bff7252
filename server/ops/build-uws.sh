#!/bin/bash
# Builds uWebSockets.js for the Node that runs it, from pinned commits of upstream, stricter than the
# binaries that are published: SECURITY.md says what differs. Only Linux.
#
#   ADDON=…/uWebSockets.js/src server/ops/build-uws.sh FOLDER
#
# ADDON names the folder src of a clone of uWebSockets.js, the binding; the source in the installed
# package is older than its binaries and lacks a function that Frontrow needs.
# It needs git, gcc and g++ 12 or later, and the headers of Node (NODE_HEADERS names another folder).
# FOLDER gets the binary. UWEBSOCKETS and USOCKETS name other places of the two repositories, such as
# clones on this machine. TLS is that of Node itself; HTTP/3 and compression are left out.
set -euo pipefail

UWEBSOCKETS=${UWEBSOCKETS:-https://github.com/uNetworking/uWebSockets.git}
USOCKETS=${USOCKETS:-https://github.com/uNetworking/uSockets.git}
# 2026-08-18, and the commit of uSockets that it names.
readonly UWEBSOCKETS_COMMIT=66dcff3dd48f0c19dd1703426365d062039321d0
readonly USOCKETS_COMMIT=86097c490263ab662d62e8e7b541390bdec7d149

fail() {
  echo "build-uws.sh: $*" >&2
  exit 1
}

[ $# -eq 1 ] || fail "name the folder for the binary: server/ops/build-uws.sh FOLDER"
[ -f "${ADDON:-}/AppWrapper.h" ] || fail "ADDON names no folder src of a clone of uWebSockets.js"
grep -q uWS_App_filter "$ADDON/AppWrapper.h" || fail "the binding in $ADDON is too old: it has no App.filter"
[ "$(uname -s)" = Linux ] || fail "this system is not Linux"
for program in git gcc g++ node sha256sum; do
  command -v "$program" > /dev/null || fail "$program is missing; on Debian: apt-get install git g++"
done
[ "$(gcc -dumpversion | cut -d. -f1)" -ge 12 ] || fail "gcc is older than 12"
headers=${NODE_HEADERS:-$(node -p 'require("node:path").join(process.execPath, "../../include/node")')}
for header in node.h uv.h v8.h openssl/ssl.h; do
  [ -f "$headers/$header" ] || fail "$headers has no $header: set NODE_HEADERS to the headers of this Node"
done
# The binary uses the TLS of Node, so its headers must be those of this very version.
version=$(sed -n 's/^#define NODE_\(MAJOR\|MINOR\|PATCH\)_VERSION //p' "$headers/node_version.h" | paste -sd.)
[ "v$version" = "$(node -p process.version)" ] || fail "$headers is of Node $version"

mkdir -p "$1"
target=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

checkout() { # repository, commit, folder
  git clone --quiet "$1" "$work/$3"
  git -C "$work/$3" checkout --quiet "$2" || fail "$1 has no commit $2"
}
checkout "$UWEBSOCKETS" "$UWEBSOCKETS_COMMIT" core
checkout "$USOCKETS" "$USOCKETS_COMMIT" sockets
[ "$(git -C "$work/core" rev-parse HEAD:uSockets)" = "$USOCKETS_COMMIT" ] ||
  fail "uWebSockets does not name this commit of uSockets"

cp -r "$ADDON" "$work/addon"
# Node 24 has no `Holder`; for these functions it is the same.
sed -i 's/\.Holder()/.This()/g' "$work"/addon/*.h "$work/addon/addon.cpp"

# Refuse frames without a mask, as RFC 6455, section 5.1, asks of a server.
protocol=$work/core/src/WebSocketProtocol.h
before='if ((rsv1(src) \&\& !Impl::setCompressed(wState, user))'
after='if ((isServer \&\& (((unsigned char *) src)[1] \& 128) == 0) || (rsv1(src) \&\& !Impl::setCompressed(wState, user))'
[ "$(grep -c "${before//\\/}" "$protocol")" -eq 1 ] || fail "the check of frames has changed upstream"
sed -i "s/$before/$after/" "$protocol"
grep -q 'isServer && (((unsigned char' "$protocol" || fail "the check of masks was not put in"

# A `char` without a sign, as on arm64: bytes above 0x7f are then not trimmed like blanks.
flags=(-funsigned-char -DUWS_WITH_PROXY -DLIBUS_USE_LIBUV -DLIBUS_USE_OPENSSL -DUWS_NO_ZLIB)
flags+=(-O3 -fPIC -pthread -w -I "$work/sockets/src" -I "$work/core/src" -I "$headers")
cpp=(g++ "${flags[@]}" -std=c++20 -c)
objects=$work/objects
mkdir "$objects"
for source in "$work"/sockets/src/{,eventing/,crypto/}*.c; do
  gcc "${flags[@]}" -c "$source" -o "$objects/$(basename "$source").o"
done
"${cpp[@]}" "$work/sockets/src/crypto/sni_tree.cpp" -o "$objects/sni_tree.o"
# The declarations of HTTP/3 are needed; its functions are never called.
"${cpp[@]}" -DLIBUS_USE_QUIC -I "$work/addon" "$work/addon/addon.cpp" -o "$objects/addon.o"

name=$(node -p '`uws_linux_${process.arch}_${process.versions.modules}.node`')
g++ -shared -s -pthread -static-libstdc++ -static-libgcc "$objects"/*.o -o "$work/$name"

# What Frontrow uses must be there.
node - "$work/$name" << 'END'
const uws = require(process.argv[2]);
const names = ["App", "SSLApp", "us_listen_socket_close", "us_socket_local_port"];
const app = uws.App();
const missing = names.filter((name) => typeof uws[name] !== "function");
for (const name of ["any", "close", "filter", "get", "listen", "post", "ws"]) {
  if (typeof app[name] !== "function") missing.push(`App.${name}`);
}
if (missing.length > 0) throw new Error(`missing: ${missing.join(", ")}`);
process.exit();
END
cp "$work/$name" "$target/"
echo "$target/$name"
