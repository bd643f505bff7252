/** Requests whose end is not certain: whoever reads another end than this server could hide one. */
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { HANDSHAKE } from "../../support/gateway/raw.ts";

const LOGOUT = "/api/auth/logout";
const BODY = '{"refreshToken":"x"}';
const END = "0\r\n\r\n";
const CHUNKED = `14\r\n${BODY}\r\n${END}`;
const ENCODING = "Transfer-Encoding: chunked";

export const post = (lines: readonly string[], body = BODY) =>
  [`POST ${LOGOUT} HTTP/1.1`, "Host: x", ...lines, "", body].join("\r\n");
export const get = (line: string, ...headers: readonly string[]) =>
  [line, ...headers, "", ""].join("\r\n");
export const length = (value: string) => post([`Content-Length: ${value}`]);
const encoded = (value: string) => post([`Transfer-Encoding: ${value}`], CHUNKED);
const chunked = (body: string, ...lines: readonly string[]) => post([...lines, ENCODING], body);
/** A body in one chunk whose size is written like this. */
const sized = (size: string) => chunked(`${size}\r\n${BODY}\r\n${END}`);

/** The core is later than 2024-10-27: on Node 22 and 24, and in a build of one's own. */
export const HAS_LATER_CORE =
  process.env["FRONTROW_LIBRARY"] === "own" || Number(process.versions.modules) > 115;

type Shape = readonly [request: string, status: number];

/** A status of the library: a core of 2024 sees what it takes for the next request first. */
export const byCore = (of2024: number, later: number) => (HAS_LATER_CORE ? later : of2024);

/** The request, and the status of its answer; 0 when it may have none. */
const WITH_LENGTH: Readonly<Record<string, Shape>> = {
  "two equal lengths": [post(["Content-Length: 20", "Content-Length: 20"]), 400],
  "two lengths, the shorter first": [
    post(["Content-Length: 0", "Content-Length: 20"]),
    byCore(505, 400),
  ],
  "two lengths, the longer first": [post(["Content-Length: 20", "content-length: 0"]), 400],
  "an empty length before a length": [
    post(["Content-Length:", "Content-Length: 20"]),
    byCore(505, 400),
  ],
  "an empty length": [post(["Content-Length:"], ""), 400],
  "an empty length on a read": [get("GET /healthz HTTP/1.1", "Host: x", "Content-Length:"), 400],
  "a list of lengths": [length("20, 20"), 400],
  "two numbers as a length": [length("20 20"), 400],
  "a length with a plus": [length("+20"), 400],
  "a negative length": [length("-20"), 400],
  "a hexadecimal length": [length("0x14"), 400],
  "a length with a fraction": [length("20.0"), 400],
  "a length with an exponent": [length("2e1"), 400],
  "a length beyond 64 bits": [length("18446744073709551636"), 400],
  "a length of thirty digits": [length("20".padStart(30, "0")), 400],
  "a length that is too large": [length("999999999999999999"), 413],
  "a length with a control character": [length("\u000b20"), 0],
  "a folded header": [post(["X: a", " b", "Content-Length: 20"]), 0],
  "a space before the colon": [post(["Content-Length : 20"]), 0],
  "an underscore in the name": [post(["Content_Length: 20"]), 0],
  "a NUL in a name": [post(["X\0Y: a", "Content-Length: 20"]), 0],
  "a NUL in a value": [post(["X: a\0b", "Content-Length: 20"]), 0],
  "a control character in a value": [post(["X: a\u0001b", "Content-Length: 20"]), 0],
  "a bare CR in a value": [post(["X: a\rContent-Length: 0", "Content-Length: 20"]), 0],
  "a bare LF after a header": [post(["Content-Length: 20\nX: y"]), 0],
  "lines that end with LF only": [length("20").replaceAll("\r\n", "\n"), 505],
  "a line before the request": [`\r\n${length("20")}`, byCore(505, 0)],
  "two spaces in the request line": [get("GET  /healthz HTTP/1.1", "Host: x"), 505],
  "tabs in the request line": [get("GET\t/healthz\tHTTP/1.1", "Host: x"), 505],
  "a control character in the path": [get("GET /heal\u0001thz HTTP/1.1", "Host: x"), 505],
  "an absolute address": [get("GET http://x/healthz HTTP/1.1", "Host: x"), 505],
  "an asterisk for a path": [get("OPTIONS * HTTP/1.1", "Host: x"), 505],
  "a host for a path": [get("CONNECT x:80 HTTP/1.1", "Host: x"), 505],
  "HTTP/1.0": [get("GET /healthz HTTP/1.0", "Host: x"), 505],
  "HTTP/1.10": [get("GET /healthz HTTP/1.10", "Host: x"), 505],
  "the opening of HTTP/2": ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505],
  "a method in lower case": [get("get /healthz HTTP/1.1", "Host: x"), 400],
  "a method in mixed case": [length("20").replace("POST", "PosT"), 400],
  "a method with a digit": [get("G3T /healthz HTTP/1.1", "Host: x"), 400],
  "no host": [get("GET /healthz HTTP/1.1"), 0],
  "two hosts": [get("GET /healthz HTTP/1.1", "Host: x", "Host: x"), 400],
  "an empty host before a host": [get("GET /healthz HTTP/1.1", "Host:", "Host: x"), 400],
  "more headers than are read": [
    get("GET /healthz HTTP/1.1", "Host: x", ...Array.from({ length: 120 }, (_, i) => `X-${i}: a`)),
    0,
  ],
};

/** The body of the valid ones is read as with a length, and the connection ends. */
const CHUNKS: Readonly<Record<string, Shape>> = {
  chunks: [chunked(CHUNKED), 401],
  "chunks in capital letters": [encoded("CHUNKED"), 401],
  "chunks in mixed letters": [encoded("Chunked"), 401],
  "a tab before the encoding": [post(["Transfer-Encoding:\tchunked"], CHUNKED), 401],
  "blanks after the encoding": [encoded("chunked \t"), 401],
  "many chunks": [chunked(BODY.replaceAll(/./g, "1\r\n$&\r\n") + END), 401],
  "chunks, and a connection that closes": [chunked(CHUNKED, "Connection: close"), 401],
  "chunks, and a connection that stays": [chunked(CHUNKED, "Connection: keep-alive"), 401],
  "chunks, and two wishes for the connection": [
    chunked(CHUNKED, "Connection: keep-alive", "Connection: close"),
    401,
  ],
  "chunks on a GET": [get("GET /healthz HTTP/1.1", "Host: x", ENCODING) + CHUNKED, 200],
  "chunks on a HEAD": [get("HEAD /healthz HTTP/1.1", "Host: x", ENCODING) + CHUNKED, 200],
  "chunks on an OPTIONS": [get("OPTIONS /healthz HTTP/1.1", "Host: x", ENCODING) + CHUNKED, 405],
  "chunks on a DELETE": [get("DELETE /healthz HTTP/1.1", "Host: x", ENCODING) + CHUNKED, 405],
  "an empty chunked body": [chunked(END), 400],
  "chunks on a handshake": [
    get("GET /healthz HTTP/1.1", "Host: x", ...HANDSHAKE, ENCODING) + CHUNKED,
    400,
  ],
  "chunks in HTTP/1.0": [chunked(CHUNKED).replace("HTTP/1.1", "HTTP/1.0"), 505],
  "a request in a chunk": [chunked(`23\r\nPOST /api HTTP/1.1\r\nHost: localhost\r\n\r\n${END}`), 0],

  "a length and chunks": [post(["Content-Length: 20", ENCODING], CHUNKED), 400],
  "chunks and a length": [post([ENCODING, "Content-Length: 20"], CHUNKED), 400],
  "chunks and a length of 0": [post([ENCODING, "Content-Length: 0"], CHUNKED), 400],
  "chunks and an empty length": [post([ENCODING, "Content-Length:"], CHUNKED), 400],
  "a length and an empty encoding": [post(["Content-Length: 20", "Transfer-Encoding:"]), 400],
  "a length and identity": [post(["Content-Length: 20", "Transfer-Encoding: identity"]), 400],
  "an empty encoding": [post(["Transfer-Encoding:"], ""), 400],
  "an empty encoding, and chunks": [post(["Transfer-Encoding:"], CHUNKED), byCore(505, 400)],
  "an empty encoding before another": [
    post(["Transfer-Encoding:", ENCODING], CHUNKED),
    byCore(505, 400),
  ],
  "an empty encoding after another": [post([ENCODING, "Transfer-Encoding:"], CHUNKED), 400],
  "two encodings": [post([ENCODING, "Transfer-Encoding: x"], CHUNKED), 400],
  "two equal encodings": [post([ENCODING, ENCODING], CHUNKED), 400],
  "chunks twice": [encoded("chunked, chunked"), 400],
  "chunks after compression": [encoded("gzip, chunked"), 400],
  "chunks before compression": [encoded("chunked, gzip"), 400],
  "chunks after identity": [encoded("identity, chunked"), 400],
  "chunks and a comma": [encoded("chunked,"), 400],
  "a comma and chunks": [encoded(", chunked"), 400],
  "chunks with a parameter": [encoded("chunked;q=1"), 400],
  "an encoding that ends like chunks": [encoded("xchunked"), 400],
  "an encoding that begins like chunks": [encoded("chunkedx"), 400],
  "an encoding in quotes": [encoded('"chunked"'), 400],
  "an encoding with a blank": [encoded("chun ked"), 400],
  "an encoding with a Kelvin sign": [encoded("chun\xe2\x84\xaaed"), 400],
  "an encoding with a vertical tab": [encoded("\u000bchunked"), 0],
  "an encoding with a NUL": [encoded("chunked\0"), 0],
  "the encoding identity": [post(["Transfer-Encoding: identity"]), 0],
  "a folded encoding": [post(["Transfer-Encoding:", " chunked"], CHUNKED), 0],
  "an encoding folded by a tab": [post(["Transfer-Encoding:", "\tchunked"], CHUNKED), 0],
  "an encoding in a folded line": [post(["X: a", ` ${ENCODING}`], CHUNKED), 0],
  "a blank before the colon of the encoding": [post(["Transfer-Encoding : chunked"], CHUNKED), 0],
  "a tab before the colon of the encoding": [post(["Transfer-Encoding\t: chunked"], CHUNKED), 0],
  "an underscore in the name of the encoding": [post(["Transfer_Encoding: chunked"], CHUNKED), 0],
  "an encoding after a bare LF": [post([`X: a\n${ENCODING}`], CHUNKED), 0],
  "an encoding after a bare CR": [post([`X: a\r${ENCODING}`], CHUNKED), 0],

  // uWS takes a semicolon for a digit, and waits for more.
  "a chunk with an extension": [sized("14;a=b"), 0],
  "a chunk with an extension in quotes": [sized('14;a="\r\n0\r\n\r\n"'), 0],
  "a chunk with a blank and an extension": [sized("14 ;a=b"), 401],
  "an extension with a bare LF": [sized("14;a\nb"), 0],
  "a last chunk with an extension": [chunked(`14\r\n${BODY}\r\n0;a\r\n\r\n`), 0],
  "a last chunk with a blank and an extension": [chunked(`14\r\n${BODY}\r\n0 ;a\r\n\r\n`), 401],
  "a trailer": [chunked(`14\r\n${BODY}\r\n0\r\nX: y\r\n\r\n`), 505],
  "a trailer that names a length": [
    chunked(`14\r\n${BODY}\r\n0\r\nContent-Length: 5\r\n\r\n`),
    505,
  ],
  // uWS drops two bytes after the last chunk: what follows is a whole request.
  "a trailer that contains a request": [
    chunked(`14\r\n${BODY}\r\n0\r\nX:${get("GET /healthz HTTP/1.1", "Host: x")}`),
    0,
  ],
  "no line after the last chunk": [chunked(`14\r\n${BODY}\r\n0\r\n`), 401],
  "another line after the last chunk": [chunked(`14\r\n${BODY}\r\n0\r\nxx`), 401],
  "a byte after the body": [chunked(`${CHUNKED}x`), 401],
  "an empty line after the body": [chunked(`${CHUNKED}\r\n`), 401],
  "a line after the body": [chunked(`${CHUNKED}hello\r\n\r\n`), byCore(505, 401)],
  "a chunk after the last one": [chunked(`0\r\n${CHUNKED}`), byCore(505, 400)],
  "a body without its last chunk": [chunked(`14\r\n${BODY}\r\n`), 0],

  "a size after a bare LF": [chunked(`14\n${BODY}\r\n${END}`), 401],
  "chunks that end with LF only": [chunked(`14\n${BODY}\n0\n\n`), 401],
  "a chunk without its line break": [chunked(`14\r\n${BODY}xx${END}`), 401],
  "a size with a plus": [sized("+14"), 400],
  "a negative size": [sized("-14"), 400],
  "a size with a prefix": [sized("0x14"), 400],
  "a size with an underscore": [sized("1_4"), 400],
  "a size with a letter after F": [sized("1h"), 400],
  "a size with a colon": [sized("1:4"), 0],
  "a blank before the size": [sized(" 14"), byCore(505, 400)],
  "a tab before the size": [sized("\t14"), byCore(505, 400)],
  "an empty size": [sized(""), byCore(505, 400)],
  "a size with zeros before it": [sized("14".padStart(3_000, "0")), 401],
  "a size with blanks after it": [sized("14".padEnd(3_000)), 401],
  "a size that is one too small": [sized("13"), 400],
  "a size that is one too large": [sized("15"), 401],
  "a size beyond 32 bits": [sized("100000014"), 0],
  "a size of 60 bits": [sized("0fffffffffffffff"), 0],
  "a size of 62 bits": [sized("4000000000000014"), 400],
  "a size of 63 bits": [sized("8000000000000014"), 400],
  "a size of 64 bits": [sized("ffffffffffffffff"), 400],
  "a size beyond 64 bits": [sized("10000000000000014"), 400],
  "a size of thirty digits": [sized("f".repeat(30)), 400],
};

export const SHAPES = { ...WITH_LENGTH, ...CHUNKS };

/** The statuses of all answers to these bytes, sent as Latin-1 on a connection of their own. */
export async function statusesOf(port: number, ...segments: readonly string[]) {
  const socket = connect(port, "127.0.0.1").setNoDelay(true).setEncoding("latin1");
  onTestFinished(() => void socket.destroy());
  let text = "";
  const closed = new Promise((resolve) => void socket.once("close", resolve));
  socket.on("error", () => {}).on("data", (data: string) => (text += data));
  await once(socket, "connect");
  for (const [i, segment] of segments.entries()) {
    if (i > 0) await pause(SEGMENT_MS);
    socket.write(segment, "latin1");
  }
  await closed;
  return (text.match(/HTTP\/1\.1 \d+/g) ?? []).map((line) => Number(line.slice(-3)));
}

/** Time for a server to read and answer. */
const SEGMENT_MS = 20;
