/**
 * A data folder as one compressed file: a line of JSON with paths and sizes, and the bytes of the
 * files one after the other. Segments are mostly zeros, so little remains of them.
 */
import fs from "node:fs";
import path from "node:path";
import { brotliCompressSync, brotliDecompressSync } from "node:zlib";

interface Entry {
  readonly name: string;
  readonly bytes: number;
}

/** Spares and memory shared by processes are no part of a store. */
const LEFT_OUT = /\.tmp$|-shm$/;

export function packStore(folder: string): Buffer {
  const names = fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();
  const files = names
    .filter((name) => !LEFT_OUT.test(name) && fs.statSync(path.join(folder, name)).isFile())
    .map((name) => ({ name, content: fs.readFileSync(path.join(folder, name)) }));
  const entries = files.map(({ name, content }): Entry => ({ name, bytes: content.length }));
  const head = Buffer.from(`${JSON.stringify(entries)}\n`);
  return brotliCompressSync(Buffer.concat([head, ...files.map(({ content }) => content)]));
}

export function unpackStore(packed: Buffer, folder: string): void {
  const bytes = brotliDecompressSync(packed);
  let at = bytes.indexOf("\n") + 1;
  for (const entry of JSON.parse(bytes.toString("utf8", 0, at)) as Entry[]) {
    const file = path.join(folder, entry.name);
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    fs.writeFileSync(file, bytes.subarray(at, at + entry.bytes), { mode: 0o600 });
    at += entry.bytes;
  }
}
