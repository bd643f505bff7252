/** The bytes of a request on the wire. */
import type { ByteDamage, Recipe, Request } from "./recipe.ts";
import { isBytes, jsonOf, type Pools, textOf, type Value } from "./values.ts";

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

function wireOf(request: Request, pools: Pools): Buffer {
  const { method, path, params, query, headers, body, version = "HTTP/1.1" } = request;
  const usual = withPort(path, pools).replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encoded(textOf(params[name] ?? "", pools)),
  );
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? (value as readonly Value[]) : [value]).map(
      (item) => `${name}=${encoded(textOf(item, pools))}`,
    ),
  );
  const text = body === undefined ? Buffer.alloc(0) : Buffer.from(jsonOf(body, pools));
  const lines = headers.map(([name, value]) => headerLine(name, value, pools));
  const type = body === undefined ? "" : "Content-Type: application/json\r\n";
  const length = body === undefined ? "" : `Content-Length: ${text.length}\r\n`;
  const search = pairs.length === 0 ? "" : `?${pairs.join("&")}`;
  const { target } = request;
  const odd = target === undefined ? null : withPort(target, pools);
  const start = `${method.toUpperCase()} ${odd ?? `${usual}${search}`} ${version}\r\n`;
  const hasHost = headers.some(([name, value]) => name === "Host" && isBytes(value));
  const host = hasHost ? "" : HOST_LINE;
  const before = Buffer.from(`${start}${host}`);
  const after = Buffer.from(`${type}${length}\r\n`);
  return Buffer.concat([before, ...lines, after, text]);
}

function headerLine(name: string, value: Value, pools: Pools): Buffer {
  if (isBytes(value)) {
    return Buffer.from(`${name}: ${withPort(value.$bytes, pools)}\r\n`, "latin1");
  }
  return Buffer.from(`${name}: ${lineOf(textOf(value, pools))}\r\n`);
}

function withPort(text: string, pools: Pools): string {
  return text.replaceAll("{port}", String(pools("forbiddenPorts")[0]));
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
