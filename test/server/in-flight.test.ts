/** A change answers 409 while the first request of its `Idempotency-Key` has not been answered. */
import { expect, test } from "vitest";
import { actingFor, type CallOptions, MANAGEMENT, TestServer, V2 } from "../support/server.ts";
import { expectProblem } from "./wire/wire.ts";

interface Change {
  readonly path: string;
  readonly body?: unknown;
  /** With the tenant's token in place of the organization's key. */
  readonly isManagement?: boolean;
}

const TIMES = { start: "2026-05-01T20:00", endDate: "2026-05-01T23:00" };

/** Rows that the interface gives a 409, each with a change that would be granted. */
const CHANGES: Readonly<Record<string, (server: TestServer) => Change>> = {
  "POST /api/private/v2.0/events/": ({ a: { schemaId } }) => {
    return { path: `${V2}/events/`, body: { name: "N", schemaId, ...TIMES } };
  },
  "DELETE /api/private/v2.0/events/{id}": ({ a }) => ({ path: `${V2}/events/${a.eventId}` }),
  "POST /api/private/v2.0/event/{eventId}/prices/": ({ a: { eventId } }) => {
    return { path: `${V2}/event/${eventId}/prices/`, body: [{ name: "N", eventId }] };
  },
  "PUT /api/private/v2.0/event/{eventId}/prices/": ({ a: { eventId, priceId: id } }) => {
    return { path: `${V2}/event/${eventId}/prices/`, body: [{ id, name: "N", eventId }] };
  },
  "POST /api/private/v2.0/schemas/": ({ a: { venueId } }) => {
    return { path: `${V2}/schemas/`, body: { name: "N", venueId } };
  },
  "POST /api/private/v2.0/schemas/clone/{id}": ({ a }) => {
    return { path: `${V2}/schemas/clone/${a.schemaId}` };
  },
  "POST /api/private/v2.0/schemas/{schemaId}/pricing_zones/": ({ a: { schemaId } }) => {
    return { path: `${V2}/schemas/${schemaId}/pricing_zones/`, body: [{ name: "N", schemaId }] };
  },
  "PUT /api/private/v2.0/schemas/{schemaId}/pricing_zones/": (server) => {
    const { schemaId } = server.a;
    const body = [{ id: zoneOf(server), name: "N", schemaId }];
    return { path: `${V2}/schemas/${schemaId}/pricing_zones/`, body };
  },
  "DELETE /api/private/v2.0/schemas/{schemaId}/pricing_zones/{id}": (server) => {
    return { path: `${V2}/schemas/${server.a.schemaId}/pricing_zones/${zoneOf(server)}` };
  },
  "POST /api/private/v2.0/schemas/{schemaId}/pricing_zones/assignments/": (server) => {
    const { schemaId, labels } = server.a;
    const groupOfSeats = [{ objectId: labels.idOf("Pit"), assignmentId: zoneOf(server) }];
    return { path: `${V2}/schemas/${schemaId}/pricing_zones/assignments/`, body: { groupOfSeats } };
  },
  "PUT /api/private/management/v2.0/session-config/": () => {
    const body = { publicSessionsEnabled: true };
    return { path: `${MANAGEMENT}/session-config/`, body, isManagement: true };
  },
};

function zoneOf({ world, a: { caller, schemaId } }: TestServer): number {
  const body = [{ name: "Gold", schemaId }];
  return world.must("createZones", caller, { schemaId, body })[0]!.id;
}

test.each(Object.entries(CHANGES))("%s answers 409 while its key is in flight", async (row, of) => {
  const server = new TestServer();
  const { path, body, isManagement = false } = of(server);
  const by: CallOptions = isManagement ? actingFor(server.tenantToken, server.a) : server.a;
  const headers = { ...by.headers, "idempotency-key": "once" };
  const send = () => server.call(row.split(" ", 1)[0]!, path, { ...by, body, headers });
  server.journal.withholds = true;
  const first = send();
  const second = send();
  server.journal.withholds = false;
  server.journal.sync();
  expectProblem(await second, { status: 409, errorCode: "IDEMPOTENCY_IN_PROGRESS", path });
  const { status, text } = await first;
  expect(status).toBeLessThan(300);
  const again = await send();
  expect([again.status, again.text]).toEqual([status, text]);
});
