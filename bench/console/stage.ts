/** An event on the stadium with part of its seats sold, and a proxy that sends it many changes. */
import http from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { call, TENANT_TOKEN } from "../contenders/venue.ts";
import { EVENT_TIMES } from "../harness/event-data.ts";
import { stadiumLayout } from "./stadium.ts";

const PRICES = ["Category 1", "Category 2", "Category 3", "Standing"];
const SOLD_EVERY = 3;
const SEATS_PER_SALE = 100;
const BEAT_MS = 10;

export interface StagedEvent {
  readonly url: URL;
  readonly key: string;
  readonly eventId: string;
  readonly seatIds: readonly number[];
}

interface Created {
  readonly id: number;
}

/** @param name - Of the organization and its venue. @param rowCount - Of each block. */
export async function stageEvent(url: URL, name: string, rowCount: number): Promise<StagedEvent> {
  const tenant = { url, key: TENANT_TOKEN };
  const { secretKey: key } = await call<{ secretKey: string }>(
    tenant,
    "POST management/v2.0/organizations/",
    {
      name,
      email: `${name}@example.org`,
      firstName: "A",
      lastName: "B",
      password: "bench-password",
    },
  );
  const to = { url, key };
  const venue = await call<Created>(to, "POST v2.0/venues/", { name });
  const plan = { name, venueId: venue.id };
  const schema = await call<Created>(to, "POST v2.0/schemas/", plan);
  const layout = await call<{ sectors: (Created & { ga: boolean })[]; seats: Created[] }>(
    to,
    `PUT v2.0/schemas/${schema.id}/layout`,
    stadiumLayout(rowCount),
  );
  const show = { name: "Aurora Tour", schemaId: schema.id, ...EVENT_TIMES };
  const { id: eventId } = await call<{ id: string }>(to, "POST v2.0/events/", show);
  const path = `POST v2.0/event/${eventId}/prices/`;
  const prices = await call<Created[]>(
    to,
    path,
    PRICES.map((category) => ({ name: category, eventId })),
  );
  const groupOfSeats = layout.sectors.map(({ id, ga }, i) => {
    const assignmentId = prices[ga ? 3 : Math.floor(i / 48) % 3]!.id;
    return ga ? { objectId: id, assignmentId, capacity: 8_000 } : { objectId: id, assignmentId };
  });
  await call(to, `${path}assignments/`, { groupOfSeats });
  const seatIds = layout.seats.map(({ id }) => id);
  for (let from = 0; from < seatIds.length; from += SEATS_PER_SALE * SOLD_EVERY) {
    const seats = seatIds.slice(from, from + SEATS_PER_SALE).map((id) => ({ id }));
    // oxlint-disable-next-line no-await-in-loop -- in order, so that every run has the same seats
    await call(to, `POST v2.0/booking/directsale?eventId=${eventId}`, {
      sessionId: "bench",
      seats,
    });
  }
  return { ...to, eventId, seatIds };
}

export interface Proxy {
  readonly url: URL;
  /** Changes of one seat per second; 0 for those of the server alone. */
  rate: number;
  /** Changes that were sent. */
  readonly sent: number;
  readonly stop: () => Promise<void>;
}

/**
 * Passes everything on, but makes up the changes: a load generator that books so fast would take
 * the processor from the browser that is measured.
 */
export async function startProxy({ url, seatIds }: StagedEvent): Promise<Proxy> {
  const listeners = new Set<http.ServerResponse>();
  const proxy = { url, rate: 0, sent: 0, stop: () => Promise.resolve() };
  let sequence = 1e6;
  let due = 0;
  const timer = setInterval(() => {
    due += (proxy.rate * BEAT_MS) / 1_000;
    let text = "";
    for (; due >= 1; due--) {
      sequence += 1;
      proxy.sent += 1;
      text += changeText(sequence, seatIds[(sequence * 7_919) % seatIds.length]!);
    }
    if (text !== "") for (const listener of listeners) listener.write(text);
  }, BEAT_MS);
  const server = http.createServer((request, response) => {
    if (request.url!.includes("/changes/")) {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write(":\n\n");
      listeners.add(response);
      response.on("close", () => listeners.delete(response));
      return;
    }
    const { method = "GET", headers } = request;
    const target = new URL(request.url!, url);
    const passed = http.request(target, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    request.pipe(passed);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  proxy.url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  proxy.stop = async () => {
    clearInterval(timer);
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return proxy;
}

const STATES = ["ACTIVE", "LOCKED", "SOLD"];

function changeText(sequence: number, id: number): string {
  const seat = { id, state: STATES[sequence % STATES.length], priceId: null };
  const about = { sequence, previous: sequence - 1, time: "2026-12-12T20:00:00.000" };
  const change = { ...about, call: "lock", sessionId: `web-${sequence}`, seats: [seat], areas: [] };
  return `id: ${sequence}\nevent: change\ndata: ${JSON.stringify(change)}\n\n`;
}
