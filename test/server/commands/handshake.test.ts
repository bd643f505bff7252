/** Handshakes of the command socket. */
import { expect, test } from "vitest";
import type { Connection } from "../wire/connection.ts";
import { requestOf } from "../../support/answers/exchange.ts";
import { TestServer } from "../../support/server.ts";
import { expectProblem, invalid } from "../wire/wire.ts";
import { SOCKET_PATH } from "./client.ts";
import { HANDSHAKE } from "../../support/gateway/raw.ts";
import { CommandStage } from "./stage.ts";

const offer = (names: string) => `Sec-WebSocket-Protocol: ${names}`;
const BINARY = "frontrow.commands.v1+binary";
const JSON_NAME = "frontrow.commands.v1+json";

/** A handshake with a valid key and a missing header. */
function incomplete(missing: RegExp): readonly string[] {
  return ["X-API-Key: KEY", ...without(missing)];
}

function without(missing: RegExp): readonly string[] {
  return HANDSHAKE.filter((header) => !missing.test(header));
}

/** The status of the answer, and the error code or the chosen subprotocol. */
async function answerTo(connection: Connection, headers: readonly string[]): Promise<string> {
  connection.get(SOCKET_PATH, ...headers);
  const text = await connection.answer();
  const status = /^HTTP\/1\.1 (\d+)/.exec(text)![1]!;
  const said = /"errorCode":"(\w+)"/.exec(text) ?? /Sec-WebSocket-Protocol: (\S+)/.exec(text);
  return [status, said?.[1] ?? ""].join(" ").trim();
}

test.each([
  ["a request that is no handshake", ["X-API-Key: KEY"], "400 MALFORMED_REQUEST"],
  ["one without Upgrade", incomplete(/^Upgrade/), "400 MALFORMED_REQUEST"],
  ["one that keeps the connection", incomplete(/^Connection/), "400 MALFORMED_REQUEST"],
  ["one without a version", incomplete(/Version/), "400 MALFORMED_REQUEST"],
  [
    "one of another version",
    [...incomplete(/Version/), "Sec-WebSocket-Version: 8"],
    "400 MALFORMED_REQUEST",
  ],
  ["a handshake without a key", HANDSHAKE, "403 ACCESS_DENIED"],
  ["a handshake with a wrong key", [...HANDSHAKE, "X-API-Key: x"], "403 ACCESS_DENIED"],
  [
    "a handshake with unknown subprotocols",
    [...HANDSHAKE, "X-API-Key: KEY", offer("soap, x")],
    "400 VALIDATION_FAILED",
  ],
])("%s is refused with a problem document", async (_, headers, expected) => {
  const stage = await CommandStage.start();
  const connection = await stage.listening.connection();
  const own = headers.map((header) => header.replace("KEY", stage.server.a.key));
  expect(await answerTo(connection, own)).toBe(expected);
  if (expected.endsWith("MALFORMED_REQUEST")) {
    expect(connection.text).toMatch(/^Sec-WebSocket-Version: 13\r$/m);
  }
  expect(stage.listening.http.stats.sockets.count).toBe(0);
  connection.get("/healthz");
  expect(await connection.answer()).toMatch(/^HTTP\/1\.1 200 /);
});

const ANY_CASE = [
  "Upgrade: WebSocket",
  "Connection: keep-alive, UPGRADE",
  ...without(/^Upgrade|^Connection/),
];

test.each([
  ["no subprotocol", HANDSHAKE, "101"],
  ["both", [...HANDSHAKE, offer(`${BINARY}, ${JSON_NAME}`)], `101 ${BINARY}`],
  ["an unknown one first", [...HANDSHAKE, offer(`soap,${JSON_NAME}`)], `101 ${JSON_NAME}`],
  ["names in any case, beside other options", ANY_CASE, "101"],
])("a handshake with %s opens with the first known subprotocol", async (_, headers, expected) => {
  const stage = await CommandStage.start();
  const connection = await stage.listening.connection();
  const key = `X-API-Key: ${stage.server.a.key}`;
  expect(await answerTo(connection, [...headers, key])).toBe(expected);
  expect(connection.text).toContain('{"type":"credit","commands":1024');
});

test("the answer to a handshake is that of the reference", async () => {
  const server = new TestServer();
  const handshake = requestOf("GET", SOCKET_PATH, { key: server.a.key });
  expect((await server.send({ ...handshake, protocols: "" })).status).toBe(101);
});

test("a handshake for an organization that is no id is refused", async () => {
  const server = new TestServer();
  const by = { key: server.a.key, headers: { "x-organization-id": "-1" } };
  expectProblem(await server.get(SOCKET_PATH, by), invalid("X-Organization-ID TYPE"));
});

test("a handshake on another path is an ordinary request", async () => {
  const stage = await CommandStage.start();
  const connection = await stage.listening.connection();
  connection.get("/healthz", ...HANDSHAKE);
  expect(await connection.answer()).toMatch(/^HTTP\/1\.1 200 /);
});
