/** Texts of Latin-1 beyond ASCII: on Node 24 the library writes them in one byte a character. */
import { once } from "node:events";
import { type CloseEvent, type MessageEvent, WebSocket } from "undici";
import { expect, test } from "vitest";
import { eventStream, page, upgrade } from "../../../server/http/answers.ts";
import { type Exchange, StartingFront } from "../../../server/http/front.ts";
import type { SocketHandler } from "../../../server/http/sockets.ts";
import { V2 } from "../../support/server.ts";
import { Listening } from "./connection.ts";

const NAME = "Théâtre · Saal 1 für ÿ";
/** Throws on bytes that are not UTF-8. */
const STRICT = new TextDecoder("utf-8", { fatal: true });

async function textOf(answer: Promise<Response>): Promise<string> {
  return STRICT.decode(await (await answer).arrayBuffer());
}

test("name of Latin-1 → its listing is UTF-8", async () => {
  const { server, base } = await Listening.start();
  await server.post(`${V2}/venues/`, { name: NAME });
  const answer = fetch(`${base}${V2}/venues/`, { headers: { "X-API-Key": server.a.key } });
  expect(await textOf(answer)).toContain(`"name":"${NAME}"`);
});

test.each([1, 5, 6, 20_000, 8_000_000])(
  "page of %d Latin-1 characters → all as UTF-8, also with the last answer, and its length to HEAD",
  async (count) => {
    const text = "é".repeat(count);
    const listening = await Listening.start();
    class PageFront extends StartingFront {
      override handle(exchange: Exchange): void {
        exchange.respond(page("text/plain; charset=utf-8", text));
      }
    }
    listening.http.front = new PageFront();
    const target = `${listening.base}/healthz`;
    for (const headers of [{}, { Connection: "close" }]) {
      // oxlint-disable-next-line no-await-in-loop -- one connection each
      expect((await textOf(fetch(target, { headers }))) === text).toBe(true);
    }
    const head = await fetch(target, { method: "HEAD" });
    expect(head.headers.get("content-length")).toBe(String(2 * count));
  },
);

/** Sends a text and closes. */
const SPEAKING: SocketHandler = {
  opened: (peer) => {
    peer.send(`data: ${NAME}\n\n`, false);
    peer.close(4000, NAME);
  },
  message: () => {},
  drained: () => {},
  closed: () => {},
  stop: () => {},
};

class SpeakingFront extends StartingFront {
  override handle(exchange: Exchange): void {
    const sender = { name: "", hasKey: false };
    const opening = { protocol: "", sender, handler: SPEAKING };
    exchange.respond(exchange.path === "/socket" ? upgrade(opening) : eventStream(SPEAKING));
  }
}

test("text of Latin-1 → UTF-8 on an event stream and a WebSocket, also as the reason of its end", async () => {
  const listening = await Listening.start();
  listening.http.front = new SpeakingFront();
  expect(await textOf(fetch(`${listening.base}/events`))).toContain(`data: ${NAME}\n\n`);
  const socket = new WebSocket(`${listening.base.replace("http", "ws")}/socket`);
  const closed = once(socket, "close") as Promise<[CloseEvent]>;
  const [message] = (await once(socket, "message")) as [MessageEvent];
  expect(message.data).toBe(`data: ${NAME}\n\n`);
  const [{ code, reason }] = await closed;
  expect([code, reason]).toEqual([4000, NAME]);
});
