/**
 * Requests whose end is not certain. Whoever reads another end than this server could make it
 * handle a request that no one has checked. Each gets one answer at most, and its connection is
 * closed without a look at what follows.
 */
import { expect, onTestFinished, test } from "vitest";
import { newGateway } from "../../support/gateway/stage.ts";
import { type Connection, Listening, until } from "./connection.ts";
import { get, HAS_LATER_CORE, post, SHAPES, statusesOf } from "./shapes.ts";

/** Sends the bytes of a text on a connection of its own, and waits until it is closed. */
async function send(listening: Listening, text: string): Promise<Connection> {
  const connection = await listening.connection();
  connection.socket.write(text, "latin1");
  await until(() => connection.socket.closed);
  return connection;
}

/** The statuses that were answered; where the library decides, it may refuse or only close. */
const judged = (status: number, statuses: readonly number[]) =>
  status === 0 && statuses.length === 1 && statuses[0]! >= 400 ? [] : statuses;

const gatewayBefore = async (listening: Listening) => {
  const gateway = await newGateway(listening.port);
  onTestFinished(() => gateway.stop());
  return gateway.port;
};

test.each([
  ["the server", ({ port }: Listening) => Promise.resolve(port)],
  ["a gateway", gatewayBefore],
])(
  "a request without a certain end → %s answers it once at most, and does nothing after it",
  async (_, portOf) => {
    const listening = await Listening.start();
    const port = await portOf(listening);
    const before = listening.server.digest;
    const smuggled = listening.lockRequest("A1");
    // All at once: the library closes some of them only after ten seconds.
    const found = await Promise.all(
      Object.entries(SHAPES).map(async ([name, [request, status]]) => {
        const [alone, followed, followedLater] = await Promise.all([
          statusesOf(port, request),
          statusesOf(port, request + smuggled),
          statusesOf(port, request, smuggled),
        ]);
        const mostAnswers = Math.max(followed.length, followedLater.length);
        return [name, judged(status, alone), mostAnswers <= 1];
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
  },
);

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

/** A core of 2024 waits for the rest of a head with a control character, too. */
const REFUSALS = HAS_LATER_CORE ? 1 : 0;
const NEVER_WHOLE = [
  { answerCount: REFUSALS, text: `${LINE}X: a\u0001b\r\n\r\n` },
  { answerCount: REFUSALS, text: `${LINE}X\u0001: ab\r\n\r\n` },
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
