/**
 * The binary of uWebSockets.js as it is, without Frontrow: what SECURITY.md says of it. A fact that
 * changes with another binary fails here, so that the page is corrected with it.
 *
 * `FRONTROW_LIBRARY=own` expects the build of `server/ops/build-uws.sh` instead.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import uws, { type TemplatedApp, type us_listen_socket } from "uWebSockets.js";

interface Facts {
  /** Functions of the library that came after 2024. */
  readonly later: readonly string[];
  /** Lengths of a first segment, within the request line, after which the request is refused. */
  readonly segments: readonly number[];
  readonly twoHosts: string;
  readonly twoLengths: string;
  /** Bytes above 0x7f that are trimmed like blanks. */
  readonly trimmed: readonly string[];
  readonly unmasked: string;
  /** The status of a whole head of more than 4 KiB in one segment. */
  readonly longHead: string;
  /** How a string of Latin-1 leaves. */
  readonly beyondAscii: "utf8" | "latin1";
}

const LATER = ["adoptSocket", "collectBody", "getRemotePort", "onDataV2"];
const REQUEST = "GET /abcdefghij?x=1 HTTP/1.1\r\nHost: x\r\n\r\n";
const TEXT = "Théâtre";
const HIGH_BYTES = ["80", "a0", "ff"];
/** From the first byte after the method up to the end of the line. */
const WITHIN_LINE = Array.from({ length: 26 }, (_, i) => i + 4);
/** A `char` has a sign on x64 alone. */
const TRIMMED = process.arch === "x64" ? HIGH_BYTES : [];

const OF_2024: Facts = {
  later: [],
  segments: WITHIN_LINE,
  twoHosts: "200",
  twoLengths: "200",
  trimmed: TRIMMED,
  unmasked: "taken",
  longHead: "200",
  beyondAscii: "utf8",
};
const OF_2026: Facts = {
  ...OF_2024,
  later: LATER,
  segments: [],
  twoHosts: "400",
  longHead: "431",
};
const OWN: Facts = {
  later: LATER,
  segments: [],
  twoHosts: "400",
  twoLengths: "400",
  trimmed: [],
  unmasked: "closed without a code",
  longHead: "431",
  beyondAscii: "utf8",
};
/** By version of the interface for addons: Node 20, 22, 24. */
const BY_MODULES: Readonly<Record<string, Facts>> = {
  115: OF_2024,
  127: OF_2026,
  137: { ...OF_2026, beyondAscii: "latin1" },
};
const FACTS =
  process.env["FRONTROW_LIBRARY"] === "own" ? OWN : BY_MODULES[process.versions.modules]!;

let app: TemplatedApp;
let port = 0;
/** Functions of the app and its responses. */
const functions = new Set<string>();

beforeAll(async () => {
  app = uws.App();
  for (const name in app) functions.add(name);
  app.ws("/socket", {
    message: (socket, message, isBinary) => void socket.send(message, isBinary),
  });
  app.get("/text", (res) => void res.end(TEXT));
  app.any("/*", (res, req) => {
    for (let own: unknown = res; own !== null; own = Object.getPrototypeOf(own)) {
      for (const name of Object.getOwnPropertyNames(own)) functions.add(name);
    }
    const value = req.getHeader("x-value");
    res.onAborted(() => {});
    res.onData((_, isLast) => {
      if (isLast) res.end(value);
    });
  });
  const listening = await new Promise<us_listen_socket | false>((resolve) => {
    app.listen("127.0.0.1", 0, resolve);
  });
  port = uws.us_socket_local_port(listening);
});

afterAll(() => void app.close());

async function opened(): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.setNoDelay(true).on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** Next bytes; null when the connection is closed. */
function next(socket: Socket): Promise<Buffer | null> {
  return new Promise((resolve) => {
    socket.once("data", resolve).once("close", () => resolve(null));
  });
}

/** The library has read what was sent before on other connections. */
async function settled(): Promise<void> {
  const socket = await opened();
  for (let i = 0; i < 2; i++) {
    socket.write(REQUEST);
    await next(socket);
  }
  socket.destroy();
}

async function statusOf(...segments: readonly (string | Buffer)[]): Promise<string> {
  const socket = await opened();
  const answer = next(socket);
  for (const [i, segment] of segments.entries()) {
    if (i > 0) await settled();
    socket.write(segment);
  }
  const status = String((await answer) ?? "closed").slice(9, 12);
  socket.destroy();
  return status;
}

const HANDSHAKE = [
  "GET /socket HTTP/1.1",
  "Host: x",
  "Upgrade: websocket",
  "Connection: Upgrade",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  "\r\n",
].join("\r\n");
const MASK = [1, 2, 3, 4];

/** @param first - Its first byte: end of the message, reserved bits, kind. */
function frame(first: number, text: string, isMasked = true): Buffer {
  const bytes = Buffer.from(text).map((byte, i) => (isMasked ? byte ^ MASK[i % 4]! : byte));
  const length = bytes.length < 126 ? [bytes.length] : [126, bytes.length >> 8, bytes.length & 255];
  length[0]! |= isMasked ? 128 : 0;
  return Buffer.from([first, ...length, ...(isMasked ? MASK : []), ...bytes]);
}

async function fateOf(...frames: readonly Buffer[]): Promise<string> {
  const socket = await opened();
  socket.write(HANDSHAKE);
  await next(socket);
  const answer = next(socket);
  socket.write(Buffer.concat(frames));
  const bytes = await answer;
  socket.destroy();
  if (bytes === null) return "closed without a code";
  return bytes[0] === 0x81 ? "taken" : bytes.toString("hex");
}

test("functions of later versions are there or missing, as SECURITY.md says of this binary", async () => {
  await settled();
  expect(LATER.filter((name) => functions.has(name))).toEqual(FACTS.later);
});

test("a request in two segments is refused where SECURITY.md says so", async () => {
  const lengths = Array.from({ length: REQUEST.length - 1 }, (_, i) => i + 1);
  const statuses = lengths.map((i) => statusOf(REQUEST.slice(0, i), REQUEST.slice(i)));
  const answers = await Promise.all(statuses);
  expect(lengths.filter((_, i) => answers[i] === "505")).toEqual(FACTS.segments);
  expect(answers.filter((status) => status === "200").length).toBe(
    lengths.length - FACTS.segments.length,
  );
});

test("two hosts and two lengths get what SECURITY.md says", async () => {
  const withHeaders = (...headers: string[]) =>
    statusOf(`${["POST / HTTP/1.1", ...headers].join("\r\n")}\r\n\r\n`);
  expect(await withHeaders("Host: x", "Host: y")).toBe(FACTS.twoHosts);
  const lengths = ["Content-Length: 0", "Content-Length: 2"];
  expect(await withHeaders("Host: x", ...lengths)).toBe(FACTS.twoLengths);
});

test("a head of more than four kibibytes in one segment gets what SECURITY.md says", async () => {
  const head = (bytes: number) => {
    const lines = ["GET / HTTP/1.1", "Host: x", "X-Value: "];
    const before = lines.join("\r\n");
    return `${before}${"a".repeat(bytes - before.length - 4)}\r\n\r\n`;
  };
  expect(await statusOf(head(4_096))).toBe("200");
  expect(await statusOf(head(4_097))).toBe(FACTS.longHead);
});

test("a string of Latin-1 leaves in the encoding that SECURITY.md says", async () => {
  const socket = await opened();
  socket.write("GET /text HTTP/1.1\r\nHost: x\r\n\r\n");
  const answer = (await next(socket))!;
  socket.destroy();
  expect(answer.subarray(answer.indexOf("\r\n\r\n") + 4)).toEqual(
    Buffer.from(TEXT, FACTS.beyondAscii),
  );
});

test("bytes above 0x7f around a value are trimmed where SECURITY.md says so", async () => {
  const trimmed: string[] = [];
  for (const hex of HIGH_BYTES) {
    const byte = Buffer.from(hex, "hex");
    const socket = await opened();
    socket.write(Buffer.concat([Buffer.from("GET / HTTP/1.1\r\nHost: x\r\nX-Value: "), byte]));
    socket.write(Buffer.concat([Buffer.from("v"), byte, Buffer.from("\r\n\r\n")]));
    const answer = String(await next(socket));
    socket.destroy();
    if (answer.endsWith("\r\n\r\nv")) trimmed.push(hex);
  }
  expect(trimmed).toEqual(FACTS.trimmed);
});

test("frames that RFC 6455 forbids end the connection, but for those without a mask", async () => {
  expect(await fateOf(frame(0x81, "hello"))).toBe("taken");
  // Its first four bytes are taken for the mask that is missing, and four are missing at the end.
  const unmasked = [frame(0x81, "unmasked", false), Buffer.from("next")];
  expect(await fateOf(...unmasked)).toBe(FACTS.unmasked);
  const forbidden: Readonly<Record<string, readonly Buffer[]>> = {
    "reserved bit 1": [frame(0xc1, "x")],
    "reserved bit 2": [frame(0xa1, "x")],
    "reserved bit 3": [frame(0x91, "x")],
    "an unknown kind of data": [frame(0x83, "x")],
    "an unknown kind of control": [frame(0x8b, "x")],
    "a continuation of nothing": [frame(0x80, "x")],
    "a message within another": [frame(0x01, "x"), frame(0x81, "x")],
    "a long ping": [frame(0x89, "x".repeat(126))],
    "a ping in parts": [frame(0x09, "x")],
    "a long close": [frame(0x88, "\u0003" + "x".repeat(125))],
    "text that is not UTF-8": [Buffer.concat([Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0xff])])],
  };
  for (const [what, frames] of Object.entries(forbidden)) {
    expect([what, await fateOf(...frames)]).toEqual([what, "closed without a code"]);
  }
});
