/** The bytes of a request on the wire. */
import type { ByteDamage, Recipe, Request } from "./recipe.ts";
import { jsonOf, type Pools, textOf, type Value } from "./values.ts";

const HOST_LINE = "Host: fuzz\r\n";

/** The bytes that are sent. */
export function bytesOf(
  { request, damages }: Pick<Recipe, "request" | "damages">,
  pools: Pools,
): Buffer {
  let bytes = wireOf(request, pools);
  for (const damage of damages) bytes = damagedBytes(bytes, damage);
  return bytes;
}

function wireOf({ method, path, params, query, headers, body }: Request, pools: Pools): Buffer {
  const target = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encoded(textOf(params[name] ?? "", pools)),
  );
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? (value as readonly Value[]) : [value]).map(
      (item) => `${name}=${encoded(textOf(item, pools))}`,
    ),
  );
  const text = body === undefined ? Buffer.alloc(0) : Buffer.from(jsonOf(body, pools));
  const lines = headers.map(([name, value]) => `${name}: ${lineOf(textOf(value, pools))}\r\n`);
  const type = body === undefined ? "" : "Content-Type: application/json\r\n";
  const length = body === undefined ? "" : `Content-Length: ${text.length}\r\n`;
  const search = pairs.length === 0 ? "" : `?${pairs.join("&")}`;
  const start = `${method.toUpperCase()} ${target}${search} HTTP/1.1\r\n`;
  const head = [start, HOST_LINE, ...lines, type, length, "\r\n"].join("");
  return Buffer.concat([Buffer.from(head, "utf8"), text]);
}

/** As a client encodes it, but text that begins like an encoding is sent as it is. */
function encoded(text: string): string {
  return text.startsWith("%") ? text : encodeURIComponent(Buffer.from(text).toString());
}

/** A header has no control characters: the library waits for the end of such a request in vain. */
function lineOf(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[\x00-\x1f\x7f]/g, " ");
}

/** @returns Other bytes; those that were given stay. */
export function damagedBytes(bytes: Buffer, { kind, at, length, text }: ByteDamage): Buffer {
  const from = Math.floor(at * bytes.length);
  const to = Math.min(bytes.length, from + length);
  const [before, part, after] = [
    bytes.subarray(0, from),
    bytes.subarray(from, to),
    bytes.subarray(to),
  ];
  switch (kind) {
    case "flip": {
      const copy = Buffer.from(bytes);
      copy[from] = copy[from]! ^ (1 << (length % 8));
      return copy;
    }
    case "cut":
      return before;
    case "remove":
      return Buffer.concat([before, after]);
    case "repeat":
      return Buffer.concat([before, part, part, after]);
    case "insert":
      return Buffer.concat([before, Buffer.from(text, "latin1"), bytes.subarray(from)]);
    case "double":
      return Buffer.concat([bytes, bytes]);
    default:
      return kind satisfies never;
  }
}
