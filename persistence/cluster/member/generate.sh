#!/bin/sh
# Makes etcd_pb.ts from etcd.proto; run it when that changes. The packages come from the npm registry.
set -eu
cd "$(dirname "$0")"
plugin='{"version":"v2","plugins":[{"local":"protoc-gen-es","out":".","opt":["target=ts"]}]}'
npx --yes --package @bufbuild/buf@1.75.0 --package @bufbuild/protoc-gen-es@2.13.0 \
  buf generate --template "$plugin" --path etcd.proto .
# The comments are in etcd.proto.
sed -i -e '1,/^$/d' -e '/^ *\/\*\*/,/\*\//d' -e '/^$/d' etcd_pb.ts
npx oxfmt etcd_pb.ts
