/** The bounds of gateways and links. */
import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { BOOKINGS_WAITING_MAX } from "../../../server/gateway/front.ts";
import { CALLS, Command, Handles as EngineHandles } from "../../../server/commands/command.ts";
import { InnerExchange } from "../../../server/commands/decider.ts";
import { FrameWriter } from "../../../server/gateway/engine-link.ts";
import { GatewayProtocol, LINK_BYTES_MAX, LINKS_MAX } from "../../../server/gateway/link.ts";
import {
  LINK_BODY_BYTES_MAX,
  LINK_LIMITS,
  LINK_PATH,
  makeProof,
} from "../../../server/gateway/link-layout.ts";
import { NodeSocket } from "../../../server/client/node-socket.ts";
import type { Answer } from "../../../server/http/answers.ts";
import type { Peer } from "../../../server/http/sockets.ts";
import { requestOf } from "../../support/answers/exchange.ts";
import { GatewayStage, until } from "../../support/gateway/stage.ts";
import { TEST_SECRET, TestServer } from "../../support/server.ts";
import { byCore } from "../wire/shapes.ts";

/** The engine's end of a link to a gateway that reads or does not. */
function newLink(reads: boolean) {
  const server = new TestServer();
  const authorization = `Bearer ${makeProof(TEST_SECRET)}`;
  const head = requestOf("GET", LINK_PATH, { headers: { authorization } });
  const link = (server.services.gateways!.open(head) as Answer).opening!.handler;
  const codes: number[] = [];
  const peer: Peer = {
    waitingBytes: 0,
    send: () => reads,
    close: (code) => void codes.push(code),
    keep: () => true,
    release: () => {},
  };
  link.opened(peer);
  onTestFinished(() => link.closed());
  return { server, link, codes };
}

/** A frame with a command in each of these numbers of requests. */
function frameOf(commands: number, bodyBytes = 0): ArrayBuffer {
  const writer = new FrameWriter();
  const head = Buffer.from(JSON.stringify({ method: "get", path: "/healthz", from: "" }));
  for (let n = 1; n <= commands; n++) writer.request(n, head, Buffer.alloc(bodyBytes));
  return Uint8Array.from(writer.frame).buffer;
}

test("above the bound of waiting requests a gateway refuses locks, and sales later", async () => {
  const stage = await GatewayStage.start();
  const { server } = stage;
  const { waiting } = stage.gateway.front;
  const sale = () => stage.post(server.bookingPath("sale"), server.selection("s", "A1"));
  waiting.count = BOOKINGS_WAITING_MAX;
  expect((await stage.lock("s", ["A1"])).status).toBe(429);
  expect((await sale()).status).toBe(400);
  waiting.count = 2 * BOOKINGS_WAITING_MAX;
  expect((await sale()).status).toBe(429);
  waiting.count = 0;
  expect((await stage.lock("s", ["A1"])).status).toBe(200);
});

test("a link with more requests than it may have is closed with 4009", async () => {
  const { server, link, codes } = newLink(true);
  server.journal.withholds = true;
  void server.book("block", null, "A1");
  const { commands, commandsInFrame } = LINK_LIMITS;
  const frame = frameOf(commandsInFrame);
  for (let sent = 0; sent <= commands; sent += commandsInFrame) {
    link.message(frame, true);
    await new Promise(setImmediate);
    await new Promise(setImmediate);
  }
  server.journal.withholds = false;
  server.journal.sync();
  await until(() => codes.length > 0);
  expect(codes).toEqual([4009]);
});

test("a link whose frames wait for a gateway that does not read is closed with 1013", async () => {
  const { link, codes } = newLink(false);
  const frame = frameOf(1, LINK_BODY_BYTES_MAX);
  link.message(frame, true);
  await new Promise(setImmediate);
  for (let bytes = 0; bytes <= LINK_BYTES_MAX; bytes += frame.byteLength) link.message(frame, true);
  await until(() => codes.length > 0);
  expect(codes).toEqual([1013]);
});

test("more bytes than the credit: the gateway refuses with 503, and the link stays", async () => {
  const stage = await GatewayStage.start();
  const { server, gateway } = stage;
  let breaks = 0;
  const lost = vi.spyOn(gateway.front, "lost").mockImplementation(() => void (breaks += 1));
  onTestFinished(() => lost.mockRestore());
  server.journal.withholds = true;
  const body = { ...server.selection("s", "Pit:1"), padding: " ".repeat(30_000) };
  const prefer = { prefer: "return=representation" };
  const count = Math.ceil((1.2 * LINK_LIMITS.bytes) / 30_000);
  let refused = 0;
  const lock = async () => {
    const { status } = await stage.post(server.bookingPath("lock"), body, prefer);
    if (status === 503) refused += 1;
    return status;
  };
  const answers = Promise.all(Array.from({ length: count }, lock));
  await until(() => refused > 0 && refused + gateway.front.waiting.count === count);
  server.journal.withholds = false;
  server.journal.sync();
  const statuses = await answers;
  // There are 100 places.
  expect(new Set(statuses)).toEqual(new Set([200, 400, 503]));
  expect((count - refused) * 30_000).toBeLessThan(LINK_LIMITS.bytes);
  expect([breaks, gateway.link.isOpen]).toEqual([0, true]);
});

test("an engine has so many links, and no more", async () => {
  const stage = await GatewayStage.start();
  const server = new URL(`http://127.0.0.1:${stage.engine.port}`);
  const open = () =>
    new Promise<number>((resolve) => {
      const headers = {
        Authorization: `Bearer ${makeProof(TEST_SECRET)}`,
        "Sec-WebSocket-Protocol": "frontrow.gateway.v1",
      };
      const socket = new NodeSocket(
        { server, path: LINK_PATH, headers },
        {
          opened: () => resolve(101),
          message: () => {},
          refused: (response) => resolve(response.resume().statusCode!),
          closed: () => {},
        },
      );
      onTestFinished(() => socket.destroy());
    });
  for (let links = 1; links < LINKS_MAX; links++) expect(await open()).toBe(101);
  expect(await open()).toBe(503);
});

const FEW = 3;
const SMALL = fc.nat(2 * FEW);
const CALLS_DRAWN = fc.array(
  fc.record({
    key: SMALL,
    kind: fc.integer({ min: 1, max: 7 }),
    event: SMALL,
    session: fc.option(SMALL),
    holdType: fc.option(SMALL),
    seats: fc.array(fc.constantFrom(1, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER)),
    places: fc.array(fc.constantFrom(1, 2 ** 32 - 1)),
    idempotencyKey: fc.option(fc.constantFrom("k", "a longer key")),
    isForgotten: fc.boolean(),
  }),
  { minLength: 1, maxLength: 50 },
);
const eventOf = (n: number) => `6f1c8f0e-58a5-4b0e-9a5d-0b8f3c1d2e${40 + n}`;
const exchangeOf = (key: number) => {
  const client = { apiKey: `key ${key}`, authorization: "", organizationId: "" };
  return new InnerExchange({ ...client, address: () => `host ${key}` }, Buffer.alloc(0));
};

test("calls with more keys, events and texts than handles arrive as they were sent", () => {
  const property = fc.property(CALLS_DRAWN, (drawn) => {
    const handles = { key: FEW, event: FEW, session: FEW, holdType: FEW };
    const writer = new FrameWriter(handles);
    const sent = drawn.map((one, n) => {
      const exchange = exchangeOf(one.key);
      writer.key(exchange);
      const eventId = eventOf(one.event);
      const sessionId = one.session === null ? null : `session ${one.session}`;
      const holdType = one.holdType === null ? null : `T${one.holdType}`;
      const seats = one.seats.map((id) => ({ id, capacity: null }));
      const groupOfSeats = one.places.map((capacity) => ({ id: 7, capacity }));
      const selection = { sessionId, holdType, seats, groupOfSeats };
      const { kind, idempotencyKey } = one;
      const call = { kind, eventId, selection, idempotencyKey };
      writer.call(n, writer.keys.find(exchange.apiKey), call);
      if (one.isForgotten) writer.keys.delete(exchange.apiKey);
      return {
        n,
        apiKey: exchange.apiKey,
        from: `host ${one.key}`,
        call: CALLS[kind - 1],
        ...call,
      };
    });
    const opened = new EngineHandles({ keep: () => true, release: () => {} });
    const commands = sent.map(() => new Command());
    const frame = Uint8Array.from(writer.frame).buffer;
    expect(new GatewayProtocol().readFrame(frame, opened, commands)).toBe(sent.length);
    const read = commands.map(({ number, client, call, eventId, body, idempotencyKey }) => {
      const { apiKey } = client!;
      const said = {
        kind: CALLS.findIndex((known) => known === call) + 1,
        eventId,
        selection: body,
        idempotencyKey,
      };
      return { n: number, apiKey, from: client!.address(), call, ...said };
    });
    expect(read).toEqual(sent);
  });
  fc.assert(property);
});

test("a request with a long query or header goes over HTTP if the library takes it, and the link stays", async () => {
  const stage = await GatewayStage.start();
  const { link } = stage.gateway;
  await stage.lock("s", ["A1"]);
  const { requests } = link;
  const target = stage.server.bookingPath("lock");
  const long = "%7F".repeat(12_000);
  const body = { ...stage.server.selection("s", "A2"), padding: " ".repeat(30_000) };
  const { status } = await stage.post(`${target}&unknown=${long}`, body);
  expect([status, link.isOpen, link.requests]).toEqual([byCore(200, 431), true, requests]);
  const prefer = { prefer: "return=minimal; ".repeat(500) };
  expect((await stage.lock("s", ["A3"], prefer)).status).toBe(byCore(200, 431));
  expect([link.isOpen, link.requests]).toEqual([true, requests]);
});

test("head of almost 4 KiB with a long body → booked over the link", async () => {
  const stage = await GatewayStage.start();
  const { link } = stage.gateway;
  await stage.lock("s", ["A1"]);
  const { requests } = link;
  const body = { ...stage.server.selection("s", "A2"), padding: " ".repeat(30_000) };
  const target = `${stage.server.bookingPath("lock")}&unknown=${"%7F".repeat(1_150)}`;
  const { status } = await stage.post(target, body);
  expect([status, link.isOpen, link.requests]).toEqual([200, true, requests + 1]);
});
