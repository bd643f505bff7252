/** The option `--cluster`. */
import { expect, test } from "vitest";
import { parseCellAddress } from "../../../server/config.ts";

test.each([
  ["etcd://127.0.0.1:2379/main", { etcd: "127.0.0.1:2379", cell: "main" }],
  ["etcd://localhost/cell-2", { etcd: "localhost:2379", cell: "cell-2" }],
  ["etcd://[::1]:23790/a", { etcd: "[::1]:23790", cell: "a" }],
])("%s names a member of etcd and a cell", (text, address) => {
  expect(parseCellAddress(text)).toEqual(address);
});

test.each([
  "127.0.0.1:2379",
  "http://127.0.0.1:2379/main",
  "etcd://127.0.0.1:2379",
  "etcd://127.0.0.1:2379/a/b",
  "etcd://127.0.0.1:2379/-a",
  "etcd://name@127.0.0.1:2379/a",
  "etcd://127.0.0.1:2379/a?b",
  "etcd:///a",
  "etcd://127.0.0.1:0/a",
  "etcd://127.0.0.1:65536/a",
])("%s is refused", (text) => {
  expect(parseCellAddress(text)).toBeNull();
});
