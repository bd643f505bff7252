/** Files of SQLite: what the store needs beyond SQL. */
import { chmodSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSqlWriter } from "../../../persistence/disk/sqlite.ts";
import { folderOf } from "../store/store-fixture.ts";

test("a new database and the files beside it are private, in a folder that is not", () => {
  const folder = folderOf();
  chmodSync(folder, 0o777);
  const sql = openSqlWriter(join(folder, "audit.sqlite"));
  sql.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY)");
  const names = readdirSync(folder).toSorted();
  expect(names).toEqual(["audit.sqlite", "audit.sqlite-shm", "audit.sqlite-wal"]);
  const modes = names.map((name) => statSync(join(folder, name)).mode & 0o777);
  sql.close();
  expect(modes).toEqual([0o600, 0o600, 0o600]);
});

test("a database in memory makes no file", () => {
  const before = readdirSync(".");
  openSqlWriter(":memory:").close();
  expect(readdirSync(".")).toEqual(before);
});
