/** An event on the stadium with part of its seats sold, and a proxy that sends it many changes. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import type { LayoutBody, SentRow, SentSeat, SentSector } from "../../engine/bodies.ts";
import { call, TENANT_TOKEN } from "../contenders/venue.ts";
import { EVENT_TIMES } from "../harness/event-data.ts";

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
  readonly stop: () => Promise<void>;
}

/**
 * Passes everything on, but makes up the changes: a load generator at that rate would take the
 * processor from the measured browser.
 */
export async function startProxy({ url, seatIds }: StagedEvent): Promise<Proxy> {
  const listeners = new Set<http.ServerResponse>();
  const proxy = { url, rate: 0, stop: () => Promise.resolve() };
  let sequence = 1e6;
  let due = 0;
  const timer = setInterval(() => {
    due += (proxy.rate * BEAT_MS) / 1_000;
    let text = "";
    for (; due >= 1; due--) {
      sequence += 1;
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

// The layout of a stadium: three tiers of curved blocks, 80,640 seats, and three areas.

const TIERS = [16, 20, 24];
const BLOCKS = 48;
const DEGREES = 6;
const ROW_PITCH = 34;
const RADIUS = 3_000;
const TIER_DEPTH = 1_200;
const AREAS = ["Front", "Middle", "Back"];
const AREA = { left: -1_200, top: -1_000, width: 2_400, height: 700, pitch: 900, places: 8_000 };
const STAGE = { left: -900, top: -1_700, width: 1_800, height: 400 };

/** @param rowCount - Of each block: 28 in the whole stadium. */
export function stadiumLayout(rowCount: number): LayoutBody {
  const sectors: SentSector[] = [];
  const rows: SentRow[] = [];
  const seats: SentSeat[] = [];
  for (const [tier, seatCount] of TIERS.entries()) {
    for (let block = 0; block < BLOCKS; block++) {
      const name = `Block ${(tier + 1) * 100 + block + 1}`;
      const sectorGuid = guidOf(name);
      sectors.push({ guid: sectorGuid, name, ga: false, x: 0, y: 0 });
      for (let line = 0; line < rowCount; line++) {
        const rowGuid = guidOf(name, line);
        const rowNumber = line < 26 ? letter(line) : `A${letter(line - 26)}`;
        rows.push({ guid: rowGuid, sectorGuid, name: "Row", rowNumber });
        const radius = RADIUS + tier * TIER_DEPTH + line * ROW_PITCH;
        for (let seat = 0; seat < seatCount; seat++) {
          const degrees = (block * 360) / BLOCKS - DEGREES / 2 + (DEGREES * seat) / (seatCount - 1);
          const [x, y] = [Math.cos, Math.sin].map((along) =>
            rounded(radius * along(radians(degrees))),
          );
          const label = String(seat + 1);
          seats.push({ guid: guidOf(name, line, seat), rowGuid, name: label, x: x!, y: y! });
        }
      }
    }
  }
  const areas = AREAS.map((name) => {
    return { guid: guidOf(name), name, ga: true, gaCapacity: AREA.places };
  });
  const { left, top, width, height, pitch } = AREA;
  const shapes = areas.map(({ guid }, i) => {
    const place = { left, top: top + i * pitch, width, height };
    return { id: guidOf("shape", i), purpose: "GA" as const, groupOfSeatsGuid: guid, ...place };
  });
  const stage = { id: guidOf("stage"), purpose: "OBJECT" as const, text: "STAGE", ...STAGE };
  return { sectors: [...sectors, ...areas], rows, seats, shapes: [...shapes, stage] };
}

function letter(index: number): string {
  return String.fromCodePoint(65 + index);
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}

/** A UUID (version 8, RFC 9562) that depends on the path alone. */
function guidOf(...path: readonly (string | number)[]): string {
  const hex = createHash("sha256").update(path.join("/")).digest("hex");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-a$4-$5");
}
