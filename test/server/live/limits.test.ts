/** Bounds of everything followers can make grow. */
import { expect, test } from "vitest";
import { EventMaps, MAPS_MAX } from "../../../server/live/map.ts";
import { TenantQuota } from "../../../engine/bounds.ts";
import { TenantSemaphore } from "../../../server/live/changes.ts";
import {
  TICKET_LIFE_MS,
  TICKET_MS,
  Tickets,
  TICKETS_PER_ORGANIZATION_MAX,
} from "../../../server/live/live.ts";
import { TestServer, V2 } from "../../support/server.ts";
import { Listening } from "../wire/connection.ts";
import { HANDSHAKE } from "../../support/gateway/raw.ts";
import { fillUnread } from "./stream-client.ts";

const KEY = { apiKey: "k", authorization: "", organizationId: "" };

test("an organization has so many streams and waiting requests, and no more", () => {
  const quota = new TenantQuota<number>(2);
  expect([quota.take(1), quota.take(1), quota.take(1), quota.take(2)]).toEqual([
    true,
    true,
    false,
    true,
  ]);
  expect(quota).toMatchObject({ used: 3, refused: 1 });
  quota.giveBack(1);
  expect(quota.take(1)).toBe(true);
});

test("an organization has so many tickets, until they end", () => {
  const tickets = new Tickets();
  const facts = { eventId: "e", organizationId: 7, credentials: KEY };
  for (let i = 0; i < TICKETS_PER_ORGANIZATION_MAX; i++) {
    expect(tickets.issue(facts, 1_000)).not.toBeNull();
  }
  expect(tickets.issue(facts, 1_000)).toBeNull();
  expect(tickets.issue({ ...facts, organizationId: 8 }, 1_000)).not.toBeNull();
  expect(tickets.issue(facts, 1_000 + TICKET_MS)).not.toBeNull();
  expect(tickets.count).toBe(1);
});

test("a connection ends while the organization has all its tickets → its ticket may begin again", () => {
  const tickets = new Tickets();
  const facts = { eventId: "e", organizationId: 7, credentials: KEY };
  const ticket = tickets.issue(facts, 1_000)!;
  expect(tickets.begin(ticket)).toBe(true);
  while (tickets.issue(facts, 1_000) !== null);
  tickets.end(ticket, 2_000);
  expect(tickets.count).toBe(TICKETS_PER_ORGANIZATION_MAX + 1);
  const again = tickets.find(ticket.text, 1_999 + TICKET_MS)!;
  expect([tickets.begin(again), tickets.issue(facts, 2_000)]).toEqual([true, null]);
  tickets.end(again, 3_000);
  expect(tickets.issue(facts, 3_000 + TICKET_MS)).not.toBeNull();
  expect(tickets.count).toBe(1);
});

test("a ticket begins another connection within a minute after the last, for twelve hours", () => {
  const tickets = new Tickets();
  const facts = { eventId: "e", organizationId: 7, credentials: KEY };
  let nowMs = 1_000;
  const { text } = tickets.issue(facts, nowMs)!;
  for (let hour = 1; hour < 12; hour++) {
    const ticket = tickets.find(text, nowMs)!;
    expect([tickets.begin(ticket), tickets.begin(ticket)]).toEqual([true, false]);
    expect(tickets.find(text, nowMs)).toBeNull();
    nowMs += 3_600_000;
    tickets.end(ticket, nowMs);
    nowMs += TICKET_MS - 1;
  }
  expect(tickets.find(text, nowMs)).not.toBeNull();
  expect(tickets.find(text, nowMs + 1)).toBeNull();
  const last = tickets.find(text, nowMs)!;
  tickets.begin(last);
  tickets.end(last, 1_000 + TICKET_LIFE_MS);
  expect(tickets.find(text, 1_000 + TICKET_LIFE_MS)).toBeNull();
  expect(tickets.count).toBe(0);
});

test("sixteen maps are kept", () => {
  const { world, engine } = new TestServer();
  const maps = new EventMaps();
  for (let i = 0; i < MAPS_MAX + 4; i++) {
    const event = engine.state.catalog.events.get(world.createEvent())!;
    const map = maps.of(engine.state, event);
    expect(maps.of(engine.state, event)).toBe(map);
  }
  expect(maps.count).toBe(MAPS_MAX);
});

test("an organization has so many snapshots under way, and the others follow", async () => {
  const turns = new TenantSemaphore(2, 60_000);
  const ends: (() => void)[] = [];
  const work = (organizationId: number) =>
    turns.run(organizationId, () => {
      return new Promise<void>((resolve) => {
        ends.push(resolve);
      });
    });
  const all = [work(1), work(1), work(1)];
  expect(ends).toHaveLength(2);
  all.push(work(2));
  expect(ends).toHaveLength(3);
  ends[0]!();
  await expect.poll(() => ends.length).toBe(4);
  for (const end of ends) end();
  await Promise.all(all);
});

test("a client that does not read its snapshot loses its turn after a while", async () => {
  const turns = new TenantSemaphore(1, 5);
  const never = new Promise<void>(() => {});
  void turns.run(1, () => never);
  expect(await turns.run(1, () => Promise.resolve("next"))).toBe("next");
  expect(await turns.run(1, () => Promise.resolve("last"))).toBe("last");
});

test.each([
  ["stream", HANDSHAKE],
  ["changes/", ["Accept: text/event-stream"]],
])("a client that goes before its %s opens is not counted any more", async (path, headers) => {
  const listening = await Listening.start();
  const { a, journal, services } = listening.server;
  journal.withholds = true;
  listening.server.world.book("lock", listening.server.selection("ann", "A1"));
  const connection = await listening.connection();
  connection.get(`${V2}/events/${a.eventId}/${path}`, ...headers, `X-API-Key: ${a.key}`);
  const { live } = services;
  const open = () => live.stats.streams + live.stats.eventStreams;
  await expect.poll(open).toBe(1);
  connection.socket.destroy();
  await listening.settled();
  journal.sync();
  await expect.poll(open).toBe(0);
});

test("slow readers of server-sent events share the memory of slow answers", async () => {
  const listening = await Listening.start({ answerBytesMax: 100_000 });
  const { server, http } = listening;
  const { a, services } = server;
  const connection = await listening.connection();
  const headers = ["Accept: text/event-stream", `X-API-Key: ${a.key}`];
  connection.get(`${V2}/events/${a.eventId}/changes/`, ...headers);
  await expect.poll(() => services.live.stats.eventStreams).toBe(1);
  await fillUnread(listening, connection.socket, () => services.live.stats.eventStreams === 0);
  expect(http.stats.answers).toMatchObject({ heldBytes: 0, abandoned: 1 });
  expect(services.live.stats.slow).toBe(0);
});

test("a reader that is too slow is closed with 4008", async () => {
  const listening = await Listening.start();
  const { server } = listening;
  const connection = await listening.connection();
  const path = `${V2}/events/${server.a.eventId}/stream`;
  connection.get(path, ...HANDSHAKE, `X-API-Key: ${server.a.key}`);
  await expect.poll(() => connection.text.includes("snapshot")).toBe(true);
  const { live } = server.services;
  await fillUnread(listening, connection.socket, () => live.stats.slow > 0);
  expect(live.stats.slow).toBe(1);
  const hasReason = () => connection.text.includes("too much waits to be read");
  await expect.poll(hasReason, { timeout: 10_000 }).toBe(true);
});
