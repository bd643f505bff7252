/** The bounds of gateways and links. */
import { expect, onTestFinished, test } from "vitest";
import { BOOKINGS_WAITING_MAX } from "../../../server/gateway/front.ts";
import { FrameWriter } from "../../../server/gateway/engine-link.ts";
import { Link, LINKS_MAX, type LinkShared } from "../../../server/gateway/link.ts";
import { LINK_LIMITS, LINK_PATH, makeProof } from "../../../server/gateway/link-layout.ts";
import { UpstreamSocket } from "../../../server/gateway/web-socket.ts";
import type { Peer } from "../../../server/http/sockets.ts";
import { GatewayStage, until } from "../../support/gateway/stage.ts";
import { TEST_SECRET, TestServer } from "../../support/server.ts";

const EVENT = "6f1c8f0e-58a5-4b0e-9a5d-0b8f3c1d2e4f";

/** A link as the engine has it, whose gateway reads or does not. */
function newLink(reads: boolean) {
  const server = new TestServer();
  const links = server.services.gateways as unknown as LinkShared;
  const link = new Link(links);
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

function framed(write: (writer: FrameWriter, number: number) => void): ArrayBuffer {
  const writer = new FrameWriter();
  for (let number = 1; writer.hasRoom(64); number++) write(writer, number);
  return Uint8Array.from(writer.frame).buffer;
}

const call = (writer: FrameWriter, number: number) => {
  const selection = { sessionId: "s", seats: [{ id: 1 }], groupOfSeats: null, holdType: null };
  writer.call(number, { kind: 1, key: 9, event: 9, selection, idempotencyKey: null });
};

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
  const frame = framed(call);
  for (let sent = 0; sent <= LINK_LIMITS.requests; sent += 1_000) {
    link.message(frame, true);
    await new Promise(setImmediate);
    await new Promise(setImmediate);
  }
  server.journal.withholds = false;
  server.journal.sync();
  await until(() => codes.length > 0);
  expect(codes).toEqual([4009]);
});

test("a link whose frames wait for a gateway that does not read is closed with 4009", async () => {
  const { link, codes } = newLink(false);
  const frame = framed(call);
  link.message(frame, true);
  await new Promise(setImmediate);
  for (let bytes = 0; bytes <= LINK_LIMITS.bytes; bytes += frame.byteLength) {
    link.message(frame, true);
  }
  await until(() => codes.length > 0);
  expect(codes).toEqual([4009]);
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
      const socket = new UpstreamSocket(
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

test("beyond its numbers for keys and events a link forgets all of them, and goes on", async () => {
  const stage = await GatewayStage.start();
  const { server } = stage;
  const { link } = stage.gateway;
  const { known } = link;
  await stage.lock("s", ["A1"]);
  for (let i = known.keyCount; i < LINK_LIMITS.keys; i++) {
    known.addKey({ apiKey: `key ${i}`, authorization: "", organizationId: "" }, i + 1);
  }
  expect((await stage.lock("s", ["A2"], { "x-api-key": server.tenantToken })).status).toBe(403);
  expect(link.known.keyCount).toBe(0);
  expect((await stage.lock("s", ["A2"])).status).toBe(200);
  expect(link.known.keyCount).toBe(1);
  while (known.addEvent(`${EVENT}${known.keyCount}${Math.random()}`) !== 0);
  expect((await stage.lock("s", ["A3"])).status).toBe(200);
  expect((await stage.lock("s", ["A4"])).status).toBe(200);
  expect(await server.states("A2", "A3", "A4")).toEqual(["LOCKED", "LOCKED", "LOCKED"]);
  expect(stage.broken).toEqual([]);
});

test("a request with a long query or header goes over HTTP, and the link stays", async () => {
  const stage = await GatewayStage.start();
  const { link } = stage.gateway;
  await stage.lock("s", ["A1"]);
  const { requests } = link;
  const target = stage.server.bookingPath("lock");
  const long = "%7F".repeat(12_000);
  const body = { ...stage.server.selection("s", "A2"), padding: " ".repeat(30_000) };
  const { status } = await stage.post(`${target}&unknown=${long}`, body);
  expect([status, link.isOpen, link.requests]).toEqual([200, true, requests]);
  const prefer = { prefer: "return=minimal; ".repeat(500) };
  expect((await stage.lock("s", ["A3"], prefer)).status).toBe(200);
  expect([link.isOpen, link.requests]).toEqual([true, requests]);
});
