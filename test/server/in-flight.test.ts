/** A request gets 409 while an earlier one with its `Idempotency-Key` has not been answered. */
import { expect, test } from "vitest";
import { actingFor, MANAGEMENT, TestServer, V2 } from "../support/server.ts";
import { expectProblem } from "./wire/wire.ts";

const TIMES = { start: "2026-05-01T20:00", endDate: "2026-05-01T23:00" };

interface Ids {
  readonly eventId: string;
  readonly schemaId: number;
  readonly venueId: number;
  readonly priceId: number;
  readonly zoneId: number;
  readonly pitId: number;
}

/** The rows with a documented 409, each with a request that is granted: its path and its body. */
const CHANGES: Readonly<Record<string, (ids: Ids) => readonly [string, unknown?]>> = {
  "POST /events/": ({ schemaId }) => ["/events/", { name: "N", schemaId, ...TIMES }],
  "DELETE /events/{id}": ({ eventId }) => [`/events/${eventId}`],
  "POST /event/{eventId}/prices/": ({ eventId }) => [
    `/event/${eventId}/prices/`,
    [{ name: "N", eventId }],
  ],
  "PUT /event/{eventId}/prices/": ({ eventId, priceId }) => [
    `/event/${eventId}/prices/`,
    [{ id: priceId, name: "N", eventId }],
  ],
  "POST /schemas/": ({ venueId }) => ["/schemas/", { name: "N", venueId }],
  "POST /schemas/clone/{id}": ({ schemaId }) => [`/schemas/clone/${schemaId}`],
  "POST /schemas/{schemaId}/pricing_zones/": ({ schemaId }) => [
    `/schemas/${schemaId}/pricing_zones/`,
    [{ name: "N", schemaId }],
  ],
  "PUT /schemas/{schemaId}/pricing_zones/": ({ schemaId, zoneId }) => [
    `/schemas/${schemaId}/pricing_zones/`,
    [{ id: zoneId, name: "N", schemaId }],
  ],
  "DELETE /schemas/{schemaId}/pricing_zones/{id}": ({ schemaId, zoneId }) => [
    `/schemas/${schemaId}/pricing_zones/${zoneId}`,
  ],
  "POST /schemas/{schemaId}/pricing_zones/assignments/": ({ schemaId, zoneId, pitId }) => [
    `/schemas/${schemaId}/pricing_zones/assignments/`,
    { groupOfSeats: [{ objectId: pitId, assignmentId: zoneId }] },
  ],
  "PUT /session-config/": () => ["/session-config/", { publicSessionsEnabled: true }],
};

test.each(Object.entries(CHANGES))("%s is 409 while its key is in flight", async (row, change) => {
  const server = new TestServer();
  const { world, a, tenantToken } = server;
  const zones = [{ name: "Gold", schemaId: a.schemaId }];
  const [zone] = world.must("createZones", a.caller, { schemaId: a.schemaId, body: zones });
  const [path, body] = change({ ...a, zoneId: zone!.id, pitId: a.labels.idOf("Pit") });
  const isManaged = path.startsWith("/session");
  const by = isManaged ? actingFor(tenantToken, a) : { key: a.key };
  const headers = { ...by.headers, "idempotency-key": "once" };
  const target = (isManaged ? MANAGEMENT : V2) + path;
  const send = () => server.call(row.split(" ", 1)[0]!, target, { ...by, body, headers });
  server.journal.withholds = true;
  const first = send();
  const second = send();
  server.journal.withholds = false;
  server.journal.sync();
  expectProblem(await second, { status: 409, errorCode: "IDEMPOTENCY_IN_PROGRESS" });
  const { status, text } = await first;
  expect(status).toBeLessThan(300);
  const again = await send();
  expect([again.status, again.text]).toEqual([status, text]);
});
