/**
 * Requests reuse the objects of earlier ones on the side of the socket. Nothing of one request may
 * reach another.
 */
import { expect, test } from "vitest";
import { StartingFront } from "../../../server/http/front.ts";
import { V2 } from "../../support/server.ts";
import { Listening, until } from "./connection.ts";
import { BODY_BYTES } from "../../../server/http/limits.ts";

test("the answer for a closed connection reaches no other connection", async () => {
  const listening = await Listening.start();
  const { journal } = listening.server;
  journal.withholds = true;
  const closed = await listening.connection();
  closed.socket.write(listening.lockRequest("A1"));
  await listening.settled();
  closed.socket.destroy();
  await listening.settled();
  // The object of the closed connection is still in use, so these get others.
  const [first, second] = [await listening.connection(), await listening.connection()];
  first.socket.write(listening.lockRequest("A1"));
  await listening.settled();
  second.socket.write(listening.lockRequest("A2"));
  await listening.settled();
  const answers = Promise.all([first.answer(), second.answer()]);
  journal.withholds = false;
  journal.sync();
  const [refused, taken] = await answers;
  expect(refused).toMatch(/^HTTP\/1\.1 400 .*INVENTORY_NOT_AVAILABLE/s);
  expect(taken).toMatch(/^HTTP\/1\.1 200 .*true$/s);
  // Afterwards all three objects are used again.
  for (const label of ["A3", "A4", "B1", "B2"]) {
    expect(await first.statusOf(listening.lockRequest(label))).toBe(200);
  }
  expect(listening.broken).toEqual([]);
});

test("the headers of a request are not those of the next one", async () => {
  const listening = await Listening.start();
  const connection = await listening.connection();
  const { a } = listening.server;
  const read = (...headers: string[]) =>
    connection.statusOf(
      [`GET ${V2}/events/${a.eventId} HTTP/1.1`, "Host: x", ...headers, "", ""].join("\r\n"),
    );
  const lock = (label: string, ...headers: string[]) =>
    connection.statusOf(listening.lockRequest(label, ...headers));
  expect(await read(`X-API-Key: ${a.key}`)).toBe(200);
  expect(await read()).toBe(403);
  expect(await read(`Authorization: Bearer ${a.key}`)).toBe(200);
  expect(await read()).toBe(403);
  expect(await lock("A1", "Content-Type: text/csv")).toBe(415);
  expect(await lock("A1", "Idempotency-Key: one")).toBe(200);
  // With the same Idempotency-Key it would get the first answer again.
  expect(await lock("A1")).toBe(400);
  // Nor has the answer to that request become the one of the key.
  expect(await lock("A1", "Idempotency-Key: one")).toBe(200);
  expect(await lock("A2", "X-Organization-ID: 999")).toBe(403);
  expect(await lock("A2")).toBe(200);
});

test("a connection that is reset while its answer is being sent disturbs no other", async () => {
  const listening = await Listening.start();
  const { journal } = listening.server;
  for (const label of ["A1", "A2", "A3", "A4"]) {
    const impatient = await listening.connection();
    impatient.socket.pause();
    // More than a socket takes at once: it is answered, but not sent.
    impatient.get("/docs/reference.js");
    await listening.settled();
    // The object of that request now serves this one, and this one waits.
    journal.withholds = true;
    const patient = await listening.connection();
    patient.socket.write(listening.lockRequest(label));
    await listening.settled();
    impatient.socket.resetAndDestroy();
    await listening.settled();
    const waiting = patient.answer();
    journal.withholds = false;
    journal.sync();
    expect(await waiting).toMatch(/^HTTP\/1\.1 200 .*true$/s);
  }
  await listening.http.drain();
  expect(listening.broken).toEqual([]);
});

test("a body that is cut off leaves nothing to the next one", async () => {
  const listening = await Listening.start();
  const request = listening.lockRequest("A1");
  for (let round = 0; round < 5; round++) {
    const cut = await listening.connection();
    cut.socket.write(request.slice(0, -5));
    await listening.settled();
    cut.socket.destroy();
  }
  await listening.settled();
  const connection = await listening.connection();
  const bodyAt = request.indexOf("\r\n\r\n") + 4;
  const pieces = [request.slice(0, bodyAt), ...request.slice(bodyAt).split(/(?=seats)/)];
  for (const piece of pieces) {
    connection.socket.write(piece);
    await listening.settled();
  }
  await until(() => connection.answers.length === 1);
  expect(connection.text).toMatch(/^HTTP\/1\.1 200 .*true$/s);
});

const LARGE_BYTES = BODY_BYTES.booking;
/** Room for one unfinished body of the largest size, but not for two. */
const KEPT = { bodyLimits: { all: 1.5 * LARGE_BYTES } };

test("large bodies on one connection arrive complete", async () => {
  const listening = await Listening.start(KEPT);
  const connection = await listening.connection();
  for (const label of ["A1", "A2", "A3"]) {
    const body = listening.lockBody(label).padEnd(LARGE_BYTES);
    expect(await connection.statusOf(listening.bookingRequest(body))).toBe(200);
  }
});

/** A request whose body is spaces: it is read to its end, and is not JSON. */
const blank = (listening: Listening, bytes = LARGE_BYTES) =>
  listening.bookingRequest(" ".repeat(bytes));

/**
 * Sends a request on new connections until it gets this status: a connection that is closed while
 * it sends may lose its answer.
 */
async function sendUntil(status: number, listening: Listening, request = blank(listening)) {
  for (let found = 0; found !== status;) {
    const connection = await listening.connection();
    connection.socket.write(request);
    await until(() => connection.answers.length > 0 || connection.socket.closed);
    found = Number(connection.answers[0]?.split(" ")[1] ?? 0);
  }
}

const ENDS_OF_A_BODY: readonly (readonly [string, (listening: Listening) => Promise<void>])[] = [
  ["is answered", (listening) => sendUntil(400, listening)],
  ["is too large", (listening) => sendUntil(413, listening, blank(listening, LARGE_BYTES + 1))],
  [
    "is cut off",
    async (listening) => {
      const { socket } = await listening.connection();
      socket.write(blank(listening).slice(0, -1));
      await sendUntil(503, listening);
      socket.destroy();
    },
  ],
];

test.each(ENDS_OF_A_BODY)("after a body %s, there is room for another one", async (_, end) => {
  const listening = await Listening.start(KEPT);
  await end(listening);
  await sendUntil(400, listening);
  const unfinished = await listening.connection();
  unfinished.socket.write(blank(listening).slice(0, -1));
  await sendUntil(503, listening);
  // A refused body takes no room, either.
  await sendUntil(503, listening);
  expect(await unfinished.statusOf(" ")).toBe(400);
});

test("unfinished bodies may take all of the room", async () => {
  const listening = await Listening.start({ bodyLimits: { all: 1_000 } });
  const connection = await listening.connection();
  const request = blank(listening, 1_000);
  const bodyAt = request.indexOf("\r\n\r\n") + 4;
  for (const piece of [request.slice(0, bodyAt), request.slice(bodyAt, -1)]) {
    connection.socket.write(piece);
    await listening.settled();
  }
  expect(await connection.statusOf(" ")).toBe(400);
});

test("a body is answered by the front that received its head", async () => {
  const listening = await Listening.start();
  const connection = await listening.connection();
  const request = listening.lockRequest("A1");
  const bodyAt = request.indexOf("\r\n\r\n") + 4;
  connection.socket.write(request.slice(0, bodyAt));
  await listening.settled();
  listening.http.front = new StartingFront();
  expect(await connection.statusOf(request.slice(bodyAt))).toBe(200);
  expect(listening.broken).toEqual([]);
});
