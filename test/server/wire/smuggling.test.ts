/**
 * Requests whose end is not certain. Whoever reads another end than this server could make it
 * handle a request that no one has checked. Each gets one answer at most, and its connection is
 * closed without a look at what follows.
 */
import { expect, onTestFinished, test } from "vitest";
import { type Connection, Listening, until } from "./connection.ts";

const LOGOUT = "/api/auth/logout";
const BODY = '{"refreshToken":"x"}';
const CHUNKED = `14\r\n${BODY}\r\n0\r\n\r\n`;

const post = (lines: readonly string[], body = BODY) =>
  [`POST ${LOGOUT} HTTP/1.1`, "Host: x", ...lines, "", body].join("\r\n");
const get = (line: string, ...headers: readonly string[]) =>
  [line, ...headers, "", ""].join("\r\n");
const length = (value: string) => post([`Content-Length: ${value}`]);
const chunked = (value: string) => post([`Transfer-Encoding: ${value}`], CHUNKED);

/** The request, and the status of its answer; 0 when it may have none. */
const SHAPES: Readonly<Record<string, readonly [request: string, status: number]>> = {
  "two equal lengths": [post(["Content-Length: 20", "Content-Length: 20"]), 400],
  // The library sees the rest of the body first, which is no request.
  "two lengths, the shorter first": [post(["Content-Length: 0", "Content-Length: 20"]), 505],
  "two lengths, the longer first": [post(["Content-Length: 20", "content-length: 0"]), 400],
  "an empty length before a length": [post(["Content-Length:", "Content-Length: 20"]), 505],
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
  "a length and chunks": [post(["Content-Length: 20", "Transfer-Encoding: chunked"], CHUNKED), 400],
  "a length and an empty encoding": [post(["Content-Length: 20", "Transfer-Encoding:"]), 400],
  "an empty encoding": [post(["Transfer-Encoding:"], ""), 400],
  chunks: [chunked("chunked"), 411],
  "chunks in capital letters": [chunked("CHUNKED"), 411],
  "chunks after compression": [chunked("gzip, chunked"), 411],
  "chunks before compression": [chunked("chunked, gzip"), 411],
  "an encoding that ends like chunks": [chunked("xchunked"), 411],
  "an encoding in quotes": [chunked('"chunked"'), 411],
  "the encoding identity": [post(["Transfer-Encoding: identity"]), 0],
  "two encodings": [post(["Transfer-Encoding: chunked", "Transfer-Encoding: x"], CHUNKED), 411],
  "chunks with a trailer": [post(["Transfer-Encoding: chunked"], "0\r\nX: "), 411],
  "chunks with an extension": [post(["Transfer-Encoding: chunked"], "0;a\nb\r\n\r\n"), 0],
  "a folded header": [post(["X: a", " b", "Content-Length: 20"]), 0],
  "a folded encoding": [post(["Transfer-Encoding:", " chunked"], CHUNKED), 0],
  "a space before the colon": [post(["Content-Length : 20"]), 0],
  "a tab before the colon": [post(["Transfer-Encoding\t: chunked"], CHUNKED), 0],
  "an underscore in the name": [post(["Content_Length: 20"]), 0],
  "a NUL in a name": [post(["X\0Y: a", "Content-Length: 20"]), 0],
  "a NUL in a value": [post(["X: a\0b", "Content-Length: 20"]), 0],
  "a control character in a value": [post(["X: a\u0001b", "Content-Length: 20"]), 0],
  "a bare CR in a value": [post(["X: a\rContent-Length: 0", "Content-Length: 20"]), 0],
  "a bare LF after a header": [post(["Content-Length: 20\nX: y"]), 0],
  "lines that end with LF only": [length("20").replaceAll("\r\n", "\n"), 505],
  "a line before the request": [`\r\n${length("20")}`, 505],
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

/** Sends the bytes of a text on a connection of its own, and waits until it is closed. */
async function send(listening: Listening, text: string): Promise<Connection> {
  const connection = await listening.connection();
  connection.socket.write(text, "latin1");
  await until(() => connection.socket.closed);
  return connection;
}

const statusesOf = ({ answers }: Connection) => answers.map((line) => Number(line.split(" ")[1]));

/** The statuses that were answered; where the library decides, it may refuse or only close. */
const judged = (status: number, statuses: readonly number[]) =>
  status === 0 && statuses.length === 1 && statuses[0]! >= 400 ? [] : statuses;

test("a request without a certain end gets its answer, and nothing after it is done", async () => {
  const listening = await Listening.start();
  const before = listening.server.digest;
  const smuggled = listening.lockRequest("A1");
  // Both at once: the library closes some of them only after ten seconds.
  const found = await Promise.all(
    Object.entries(SHAPES).map(async ([name, [request, status]]) => {
      const [alone, followed] = await Promise.all([
        send(listening, request),
        send(listening, request + smuggled),
      ]);
      const isOneAtMost = followed.answers.length <= 1 && !followed.text.endsWith("true");
      return [name, judged(status, statusesOf(alone)), isOneAtMost];
    }),
  );
  const expected = Object.entries(SHAPES).map(([name, [, status]]) => [
    name,
    status === 0 ? [] : [status],
    true,
  ]);
  expect(found).toEqual(expected);
  expect(listening.server.digest).toBe(before);
  // The same request by itself has an effect.
  expect((await listening.lock("A1")).status).toBe(200);
  expect(listening.broken).toEqual([]);
});

test("nothing that follows a request which closes the connection is handled", async () => {
  const listening = await Listening.start();
  const before = listening.server.digest;
  for (const request of [
    get("GET /healthz HTTP/1.1", "Host: x", "Connection: close"),
    post(["Content-Length: 20", "Connection: Close"]),
  ]) {
    const { answers } = await send(listening, request + listening.lockRequest("A1"));
    expect(answers.length).toBeLessThanOrEqual(1);
    expect(await send(listening, request)).toHaveProperty("answers.length", 1);
  }
  expect(listening.server.digest).toBe(before);
});

const LINE = "GET /healthz HTTP/1.1\r\nHost: x\r\n";
const BYTE_MS = 250;

/** The library waits for the rest of a head with a control character, too. */
const NEVER_WHOLE = [
  { answerCount: 0, text: `${LINE}X: a\u0001b\r\n\r\n` },
  { answerCount: 0, text: `${LINE}X\u0001: ab\r\n\r\n` },
  { answerCount: 0, text: `${LINE}X: ` },
  { answerCount: 1, text: `${LINE}\r\n${LINE}X: a\u0001b\r\n\r\n` },
];

test("heads that never come whole are closed, however slowly bytes follow", async () => {
  const listening = await Listening.start();
  const closeOne = async ({ answerCount, text }: (typeof NEVER_WHOLE)[number]) => {
    const connection = await listening.connection();
    const timer = setInterval(() => connection.socket.write("a"), BYTE_MS);
    onTestFinished(() => clearInterval(timer));
    connection.socket.write(text, "latin1");
    await until(() => connection.socket.closed);
    expect(connection.answers).toHaveLength(answerCount);
  };
  await Promise.all(NEVER_WHOLE.map(closeOne));
  expect(listening.http.stats.connections).toBe(0);
  expect(listening.broken).toEqual([]);
});

test("a head of more than four kibibytes is refused before its end", async () => {
  const listening = await Listening.start();
  const { answers } = await send(listening, `${LINE}X: ${"a".repeat(5_000)}`);
  expect(answers).toEqual([expect.stringMatching(/^HTTP\/1\.1 431 /)]);
});
