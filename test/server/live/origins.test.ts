/** Web origins of tickets. */
import { expect, test } from "vitest";
import { replyOf, requestOf } from "../../support/answers/exchange.ts";
import { TestServer, V2 } from "../../support/server.ts";

const ALLOWED = "https://tickets.example.com";

/** Asks for the map with a new ticket, as a page of an origin. */
async function mapFor(server: TestServer, origin: string, host = "api.example.com") {
  const path = `${V2}/events/${server.a.eventId}`;
  const { body } = await server.post<{ ticket: string }>(`${path}/stream-tickets`);
  const request = requestOf("GET", `${path}/map/?ticket=${body.ticket}`, {});
  return replyOf(await server.send({ ...request, origin, host }));
}

test.each([
  ["an allowed origin", ALLOWED, 200],
  ["no web page", "", 200],
  ["the server's own origin", "https://api.example.com", 200],
  ["another origin", "https://evil.example.com", 403],
  ["another port of an allowed host", `${ALLOWED}:8443`, 403],
])("a ticket from %s", async (_, origin, status) => {
  const server = new TestServer({ allowedOrigins: [ALLOWED] });
  expect((await mapFor(server, origin)).status).toBe(status);
});

test("a page of an allowed origin may read the answer and its sequence", async () => {
  const server = new TestServer({ allowedOrigins: [ALLOWED] });
  expect((await mapFor(server, ALLOWED)).headers).toMatchObject({
    "Access-Control-Allow-Origin": ALLOWED,
    "Access-Control-Expose-Headers": "X-Sequence",
    Vary: "Accept, Accept-Encoding, Origin",
  });
  const own = await mapFor(server, "https://api.example.com");
  expect(Object.keys(own.headers)).not.toContain("Access-Control-Allow-Origin");
  expect(own.headers["Vary"]).toBe("Accept, Accept-Encoding, Origin");
});

test("a refused origin uses up no ticket", async () => {
  const server = new TestServer({ allowedOrigins: [ALLOWED] });
  await mapFor(server, "https://evil.example.com");
  expect(server.services.live.stats.tickets).toBe(1);
});
