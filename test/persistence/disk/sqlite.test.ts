/** Files of SQLite: what the store needs beyond SQL. */
import { chmodSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { inTransaction, openSqlWriter } from "../../../persistence/disk/sqlite.ts";
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

test("SQLite has rolled a transaction back by itself → the error names the cause, and the file goes on", () => {
  const sql = openSqlWriter(":memory:");
  sql.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY)");
  const add = () => {
    sql.run("INSERT INTO rows VALUES (1)");
    sql.run("INSERT OR ROLLBACK INTO rows VALUES (1)");
  };
  expect(() => inTransaction(sql, add)).toThrow("UNIQUE constraint failed");
  expect(sql.list("SELECT * FROM rows")).toEqual([]);
  expect(inTransaction(sql, () => sql.list("SELECT 1 AS one"))).toEqual([{ one: 1 }]);
  sql.close();
});
