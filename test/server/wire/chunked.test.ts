/** Chunked bodies: read as those with a length, by the same limits, and the last of a connection. */
import { once } from "node:events";
import { request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { eventStream, NO_CONTENT, page } from "../../../server/http/answers.ts";
import type { Exchange, Front } from "../../../server/http/front.ts";
import { BODY_BYTES, BodyPieces } from "../../../server/http/limits.ts";
import type { Peer } from "../../../server/http/sockets.ts";
import { headOf } from "../../support/gateway/raw.ts";
import { newGateway } from "../../support/gateway/stage.ts";
import { V2 } from "../../support/server.ts";
import { type Connection, Listening, until } from "./connection.ts";

const KIB = 1_024;
const LOGIN = "/api/auth/login";
const END = "0\r\n\r\n";
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const headOfPost = (path: string, headers: readonly string[] = [], encoding = "chunked") =>
  headOf(`POST ${path}`, [...headers, `Transfer-Encoding: ${encoding}`]);

/** The ports of a server and of a gateway before it. */
const FRONTS: readonly (readonly [string, (listening: Listening) => Promise<Listening>])[] = [
  ["a server", (listening) => Promise.resolve(listening)],
  [
    "a gateway",
    async (listening) => {
      const gateway = await newGateway(listening.port);
      onTestFinished(() => gateway.stop());
      return Object.assign(Object.create(listening) as Listening, { port: gateway.port });
    },
  ],
];

async function send(listening: Listening, segments: readonly string[]): Promise<Connection> {
  const connection = await listening.connection();
  connection.socket.setNoDelay(true);
  for (const [i, segment] of segments.entries()) {
    if (i > 0) await pause(5);
    connection.socket.write(segment, "latin1");
  }
  return connection;
}

async function closed({ socket }: Connection): Promise<void> {
  await until(() => socket.closed);
}

/** The segments in which a client sends a request. */
type Framing = (head: (encoding?: string) => string, body: string) => readonly string[];

const FRAMINGS: readonly (readonly [string, Framing])[] = [
  [".NET: head, chunk and end apart", (head, body) => [head(), chunk(body), END]],
  [
    "Java: the size, the bytes and the end apart",
    (head, body) => [head(), `${body.length.toString(16)}\r\n`, body, "\r\n", END],
  ],
  ["Go: all in one", (head, body) => [head() + chunk(body) + END]],
  [
    "a head with a part of the body",
    (head, body) => [(head() + chunk(body)).slice(0, -9), chunk(body).slice(-9) + END],
  ],
  [
    "Python: a chunk for each character",
    (head, body) => [head(), body.replaceAll(/./g, chunk), END],
  ],
  ["an encoding in other letters", (head, body) => [head("Chunked") + chunk(body) + END]],
  ["the end cut in two", (head, body) => [head() + chunk(body) + END.slice(0, 3), END.slice(3)]],
];

test.each(
  FRONTS.flatMap(([front, of]) =>
    FRAMINGS.map(([client, framing]) => [`${front}, ${client}`, of, framing] as const),
  ),
)("%s: a chunked body → the answer as with a length, then the end", async (_, of, framing) => {
  const listening = await of(await Listening.start());
  const { server } = listening;
  const headers = [`X-API-Key: ${server.a.key}`, "Content-Type: application/json"];
  const head = (encoding?: string) => headOfPost(server.bookingPath("lock"), headers, encoding);
  const connection = await send(listening, framing(head, listening.lockBody("A1")));
  await closed(connection);
  expect(connection.text).toMatch(
    /^HTTP\/1\.1 200 OK\r\n[^]*\r\nConnection: close\r\n[^]*\r\ntrue$/,
  );
  expect(connection.text).not.toMatch(/keep-alive/i);
  expect(await server.states("A1")).toEqual(["LOCKED"]);
  expect(listening.http.stats.bodyBudget.bytes).toBe(0);
  expect(listening.http.stats.bodies.count).toBe(0);
});

/** Headers of the same clients where they know the length: the lines of the guide. */
const WITH_LENGTH: readonly (readonly [string, readonly string[]])[] = [
  [".NET StringContent", ["Content-Type: application/json; charset=utf-8"]],
  [
    "Java ofString, which offers HTTP/2",
    [
      "Content-Type: application/json",
      "Connection: Upgrade, HTTP2-Settings",
      "Upgrade: h2c",
      "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
    ],
  ],
  [
    "Go strings.NewReader",
    ["Content-Type: application/json", "User-Agent: Go-http-client/1.1", "Accept-Encoding: gzip"],
  ],
];

test.each(
  FRONTS.flatMap(([front, of]) =>
    WITH_LENGTH.map(([client, headers]) => [`${front}, ${client}`, of, headers] as const),
  ),
)("%s: a body with a length → the connection takes the next request", async (_, of, headers) => {
  const listening = await of(await Listening.start());
  const { server } = listening;
  const requestTo = (call: "lock" | "unlock") => {
    const body = listening.lockBody("A1");
    const own = [`X-API-Key: ${server.a.key}`, `Content-Length: ${body.length}`, ...headers];
    return headOf(`POST ${server.bookingPath(call)}`, own) + body;
  };
  const connection = await send(listening, [requestTo("lock")]);
  await until(() => connection.text.endsWith("true"));
  connection.socket.write(requestTo("unlock"));
  await until(() => connection.text.split("HTTP/1.1 200 OK").length === 3);
  expect(connection.text).not.toMatch(/HTTP\/2|Connection: close/i);
  expect(await server.states("A1")).toEqual(["ACTIVE"]);
});

/** Sends a body of unknown length as Node does. @returns The status, and the body. */
async function stream(
  { base }: { readonly base: string },
  {
    method,
    path,
    headers,
    body,
  }: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  },
) {
  const sent = request(base + path, { method, headers });
  for (let from = 0; from < body.length; from += 50_000)
    sent.write(body.slice(from, from + 50_000));
  sent.end();
  const [response] = (await once(sent, "response")) as [
    AsyncIterable<Buffer> & { statusCode: number },
  ];
  let text = "";
  for await (const part of response) text += String(part);
  return [response.statusCode, text] as const;
}

test.each(FRONTS)(
  "%s: streamed bodies of any length → the answers as with a length",
  async (_, of) => {
    const listening = await of(await Listening.start());
    const { a } = listening.server;
    const headers = { "x-api-key": a.key, "content-type": "application/json" };
    const lock = { method: "POST", path: listening.server.bookingPath("lock"), headers };
    // Up to 32 KiB go over the link of a gateway.
    for (const [label, bytes] of [
      ["A1", 200],
      ["A2", 33 * KIB],
      ["A3", BODY_BYTES.booking],
    ] as const) {
      const body = listening.lockBody(label).padEnd(bytes);
      expect(await stream(listening, { ...lock, body })).toEqual([200, "true"]);
    }
    const path = `${V2}/schemas/${a.schemaId}/layout/`;
    const shown = await fetch(listening.base + path, { headers });
    const layout = (await shown.text()).padEnd(3_000 * KIB);
    expect((await stream(listening, { method: "PUT", path, headers, body: layout }))[0]).toBe(200);
    expect((await stream(listening, { ...lock, body: "{" }))[0]).toBe(400);
    const wrong = { ...lock, headers: { ...headers, "x-api-key": "wrong" }, body: "x".repeat(KIB) };
    expect((await stream(listening, wrong))[0]).toBe(403);
    expect(listening.http.stats.bodyBudget.bytes).toBe(0);
    expect(listening.broken).toEqual([]);
  },
);

test.each(FRONTS)("%s: the same request chunked and with a length → one effect", async (_, of) => {
  const listening = await of(await Listening.start());
  const { server } = listening;
  const json = { "x-api-key": server.a.key, "content-type": "application/json" };
  const headers = { ...json, "idempotency-key": "k" };
  const lock = { method: "POST", path: server.bookingPath("lock"), headers };
  const body = listening.lockBody("A1");
  const first = await stream(listening, { ...lock, body });
  const again = await fetch(listening.base + lock.path, { method: "POST", headers, body });
  expect(first).toEqual([200, "true"]);
  expect([again.status, await again.text()]).toEqual(first);
});

test.each(FRONTS)(
  "%s: another request after a chunked one → it is not carried out",
  async (_, of) => {
    const listening = await of(await Listening.start());
    const { server } = listening;
    const headers = [`X-API-Key: ${server.a.key}`];
    const requestOf = (label: string) =>
      headOfPost(server.bookingPath("lock"), headers) + chunk(listening.lockBody(label)) + END;
    const next = listening.lockRequest("A5");
    const chunkedNext = requestOf("A5");
    const before = server.digest;
    // uWS closes the connection of those at once, and the first is dropped, too.
    for (const segments of [
      [requestOf("A1") + next],
      [requestOf("A1") + chunkedNext],
      [requestOf("A1").slice(0, -2) + "xx" + next],
      [requestOf("A1").slice(0, -9), requestOf("A1").slice(-9) + next],
    ]) {
      const connection = await send(listening, segments);
      await closed(connection);
      expect(connection.text).not.toContain("true");
    }
    expect(server.digest).toBe(before);
    for (const [label, segments] of [
      ["A1", [requestOf("A1"), next]],
      ["A2", [requestOf("A2"), chunkedNext]],
      ["A3", [requestOf("A3").slice(0, -2), `\r\n${next}`]],
      ["A4", [requestOf("A4") + next.slice(0, 1), next.slice(1)]],
      ["B1", [requestOf("B1") + next.slice(0, 99), next.slice(99)]],
    ] as const) {
      const connection = await send(listening, segments);
      await closed(connection);
      expect(connection.answers.length).toBeLessThanOrEqual(1);
      expect([label, await server.states("A5")]).toEqual([label, ["ACTIVE"]]);
    }
    expect(listening.broken).toEqual([]);
  },
);

test.each(FRONTS)("%s: a request inside a chunk → it is not carried out", async (_, of) => {
  const listening = await of(await Listening.start());
  const { server } = listening;
  const before = server.digest;
  const inside = chunk(listening.lockRequest("A1")) + END;
  for (const method of ["GET", "HEAD", "DELETE", "OPTIONS", "POST", "PUT", "PATCH"]) {
    const headers = [`X-API-Key: ${server.a.key}`, "Transfer-Encoding: chunked"];
    const head = headOf(`${method} ${V2}/venues/${server.a.venueId}/`, headers);
    const connection = await send(listening, [head, inside]);
    await until(() => connection.answers.length > 0 || connection.socket.closed);
    expect([method, connection.answers]).toEqual([method, [expect.any(String)]]);
  }
  await listening.settled();
  expect(server.digest).toBe(before);
});

test("a chunked body beyond the limit of its path → 413 as soon as it is", async () => {
  const listening = await Listening.start();
  const { server } = listening;
  const head = headOfPost(LOGIN, ["Content-Type: application/json"]);
  const login = JSON.stringify({ username: "x", password: "y" });
  const whole = await send(listening, [head, chunk(login.padEnd(4 * KIB)), END]);
  await closed(whole);
  expect(whole.answers).toEqual(["HTTP/1.1 401 Unauthorized"]);
  for (const segments of [
    [head, chunk(login.padEnd(4 * KIB)), chunk(" ")],
    [head + chunk(login.padEnd(4 * KIB + 1))],
    // Its size alone is no reason yet.
    [`${head}ffff\r\n`, login.padEnd(4 * KIB + 1)],
    [
      head +
        chunk(login.padEnd(4 * KIB)) +
        chunk(" ").repeat(500) +
        END +
        listening.lockRequest("A1"),
    ],
  ]) {
    const connection = await send(listening, segments);
    await closed(connection);
    expect(connection.answers.filter((line) => !line.includes(" 413 "))).toEqual([]);
    expect(connection.answers.length).toBeLessThanOrEqual(1);
    if (!segments.at(-1)!.includes(END)) expect(connection.text).toMatch(/^connection: close\r$/im);
  }
  const path = server.bookingPath("lock");
  const long = await send(listening, [
    headOfPost(path, [`X-API-Key: ${server.a.key}`]),
    ...Array.from({ length: 17 }, () => chunk(" ".repeat(64 * KIB))),
  ]);
  await closed(long);
  expect(long.answers).toEqual(["HTTP/1.1 413 Payload Too Large"]);
  expect(listening.http.stats.bodyBudget.bytes).toBe(0);
  expect(await server.states("A1")).toEqual(["ACTIVE"]);
});

test("chunked bodies take the body budget as they come → beyond it 503", async () => {
  const listening = await Listening.start({ bodyLimits: { organization: 300 * KIB } });
  const { server, http } = listening;
  const { bodyBudget } = http.stats;
  const path = `${V2}/schemas/`;
  const begin = ({ key }: { readonly key: string }, bytes: number) =>
    send(listening, [headOfPost(path, [`X-API-Key: ${key}`]), chunk(" ".repeat(bytes))]);
  const first = await begin(server.a, 100 * KIB);
  await until(() => bodyBudget.bytes === 100 * KIB);
  first.socket.write(chunk(" ".repeat(150 * KIB)));
  await until(() => bodyBudget.bytes === 250 * KIB);
  const second = await begin(server.a, 60 * KIB);
  await closed(second);
  expect(second.answers).toEqual(["HTTP/1.1 503 Service Unavailable"]);
  const other = await begin(server.b, 200 * KIB);
  await until(() => bodyBudget.bytes === 450 * KIB);
  other.socket.destroy();
  await until(() => bodyBudget.bytes === 250 * KIB);
  const stranger = await begin({ key: "wrong" }, 200 * KIB);
  await until(() => http.stats.bodies.count === 2);
  expect(bodyBudget.bytes).toBe(250 * KIB);
  stranger.socket.write(END);
  await closed(stranger);
  expect(stranger.answers).toEqual(["HTTP/1.1 403 Forbidden"]);
  first.socket.write(chunk(" ".repeat(51 * KIB)));
  await closed(first);
  expect(first.answers).toEqual(["HTTP/1.1 503 Service Unavailable"]);
  expect(bodyBudget).toMatchObject({ bytes: 0, refused: 2 });
});

test("a chunked body that stalls → its connection closes, later than with fewer bytes", async () => {
  let nowMs = 0;
  const listening = await Listening.start({ nowMs: () => nowMs });
  const { bodies } = listening.http.stats;
  const head = headOfPost(`${V2}/schemas/`, [`X-API-Key: ${listening.server.a.key}`]);
  const slow = await send(listening, [head, chunk("x".repeat(64 * KIB))]);
  const longer = await send(listening, [head, chunk("x".repeat(128 * KIB))]);
  await until(() => listening.http.stats.bodyBudget.bytes === 192 * KIB);
  nowMs = 21_000;
  await pause(1_100);
  expect(bodies).toMatchObject({ count: 2, abandoned: 0 });
  nowMs = 21_025;
  await pause(1_100);
  await closed(slow);
  expect(slow.text).toBe("");
  longer.socket.write(END);
  await closed(longer);
  expect(longer.answers).toEqual(["HTTP/1.1 400 Bad Request"]);
  expect(bodies).toMatchObject({ count: 0, abandoned: 1 });
  expect(listening.http.stats.bodyBudget.bytes).toBe(0);
});

test("a body of one byte a piece → a few shared buffers, each with memory of its own", () => {
  const pieces = new BodyPieces(100 * KIB);
  const whole = Buffer.from(Array.from({ length: 100 * KIB }, (_, i) => i % 251));
  for (const byte of whole) pieces.add(Uint8Array.of(byte));
  const { parts } = pieces;
  expect(parts.length).toBeLessThan(30);
  expect(Buffer.concat(parts).equals(whole)).toBe(true);
  const transfer = parts.map(({ buffer }) => buffer as ArrayBuffer);
  expect(Buffer.concat(structuredClone(parts, { transfer })).equals(whole)).toBe(true);
});

/** Answers the path `/own` by itself. */
function answerOwn(listening: Listening, answer: (exchange: Exchange) => void): void {
  const { front } = listening.http;
  listening.http.front = Object.assign(Object.create(front) as Front, {
    find: (head: Exchange) => front.find(head),
    judge: () => ({ refusal: null, organization: null }),
    handle: (exchange: Exchange) =>
      exchange.path === "/own" ? answer(exchange) : front.handle(exchange),
    leave: (exchange: Exchange) => front.leave(exchange),
  });
}

const HUGE = page("text/plain", Buffer.alloc(24 * 1_024 * KIB, "x"));

const ANSWERS = [
  ["POST", page("text/plain", "x".repeat(16 * KIB))],
  ["POST", page("text/plain", "x".repeat(16 * KIB + 1))],
  ["POST", HUGE],
  ["POST", NO_CONTENT],
  ["HEAD", page("text/plain", "xyz")],
  ["POST", page("text/plain", "xyz"), "Connection: close"],
  ["POST", HUGE, "Connection: close"],
  // uWS goes by the first one.
  ["POST", page("text/plain", "xyz"), "Connection: keep-alive", "Connection: close"],
] as const;

test("any answer to a chunked request → whole, and its connection takes no other request", async () => {
  const listening = await Listening.start();
  let taken = 0;
  answerOwn(listening, (exchange) => {
    taken += 1;
    exchange.respond(ANSWERS[Number(exchange.query)]![1]);
  });
  // The library closes most of them only after ten seconds.
  await Promise.all(
    ANSWERS.map(async ([method, answer, ...headers], i) => {
      const connection = await listening.connection();
      const head = headOf(`${method} /own?${i}`, [...headers, "Transfer-Encoding: chunked"]);
      connection.socket.write(head + chunk("{}") + END);
      await until(() => connection.text.includes("\r\n\r\n"));
      const next = headOf(`GET /own?${i}`);
      // Before its end, it would close the connection.
      if (answer !== HUGE) connection.socket.write(next);
      const bytes = method === "HEAD" ? 0 : answer.body.length;
      const start = connection.text.indexOf("\r\n\r\n") + 4;
      await until(() => connection.text.length >= start + bytes);
      connection.socket.write(next);
      await closed(connection);
      const top = connection.text.slice(0, start);
      if (headers.length !== 1) expect(top).toMatch(/^connection: close\r$/im);
      expect(top).not.toMatch(/keep-alive/i);
      const length = /^content-length: (\d+)\r$/im.exec(top)?.[1];
      expect(length).toBe(answer === NO_CONTENT ? undefined : String(answer.body.length));
      expect(connection.text.length).toBe(start + bytes);
    }),
  );
  expect(taken).toBe(ANSWERS.length);
  expect(listening.http.stats).toMatchObject({ connections: 0, exchanges: { open: 0 } });
});

test("an event stream that a chunked request opened ends → no other request is taken", async () => {
  const listening = await Listening.start();
  const peers: Peer[] = [];
  const handler = {
    opened: (peer: Peer) => void peers.push(peer),
    message: () => {},
    stop: () => {},
    drained: () => {},
    closed: () => {},
  };
  answerOwn(listening, (exchange) => exchange.respond(eventStream(handler)));
  const head = headOf("GET /own", ["Transfer-Encoding: chunked"]);
  const connection = await send(listening, [head + chunk("x") + END]);
  await until(() => connection.text.includes(":\n\n"));
  peers[0]!.close(1_000, "");
  await until(() => connection.text.endsWith("0\r\n\r\n"));
  connection.socket.write(listening.lockRequest("A1"));
  await closed(connection);
  expect(connection.text).toMatch(/^connection: close\r$/im);
  expect(connection.answers).toHaveLength(1);
  expect(await listening.server.states("A1")).toEqual(["ACTIVE"]);
});

test("a client leaves before or after the end of its chunked body → nothing is left", async () => {
  const listening = await Listening.start();
  const { server, http } = listening;
  const head = headOfPost(server.bookingPath("lock"), [`X-API-Key: ${server.a.key}`]);
  const body = chunk(listening.lockBody("A1"));
  for (const segments of [[head], [head, body], [head, body, "0\r\n"], [head + body + END]]) {
    const { socket } = await send(listening, segments);
    await pause(20);
    socket.resetAndDestroy();
  }
  await until(() => http.stats.exchanges.open === 0);
  expect(http.stats).toMatchObject({ bodies: { count: 0 }, bodyBudget: { bytes: 0 } });
  expect(listening.broken).toEqual([]);
});
