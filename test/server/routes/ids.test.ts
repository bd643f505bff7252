/** Rows that name objects in their path, called with unknown, foreign and malformed ids. */
import { expect, test } from "vitest";
import { type House, MANAGEMENT, TestServer, V2 } from "../../support/server.ts";
import { DENIED, expectProblem, invalid, NO_ID, NOT_FOUND, NOWHERE } from "../wire/wire.ts";

/** The ids of one organization, by the word that stands for them in a path. */
type Ids = Readonly<Record<string, string | number>>;

const UNKNOWN: Ids = {
  event: NOWHERE,
  clone: NOWHERE,
  venue: NO_ID,
  schema: NO_ID,
  series: NO_ID,
  webhook: NO_ID,
  price: NO_ID,
  zone: NO_ID,
  organization: NO_ID,
};

/** Method, path, the errors for malformed ids, and a body that would be accepted. */
const ROWS: readonly (readonly [string, string, string, unknown])[] = [
  ["GET", `${V2}/events/{event}`, "id FORMAT", undefined],
  ["DELETE", `${V2}/events/{event}`, "id FORMAT", undefined],
  ["GET", `${V2}/events/{event}/seats/`, "id FORMAT", undefined],
  ["GET", `${V2}/events/{event}/areas/`, "id FORMAT", undefined],
  ["GET", `${V2}/events/{event}/summary/`, "id FORMAT", undefined],
  ["GET", `${V2}/events/{event}/holds/`, "id FORMAT", undefined],
  ["GET", `${V2}/events/{event}/audit/`, "id FORMAT", undefined],
  ["GET", `${V2}/events/{event}/map/`, "id FORMAT", undefined],
  ["GET", `${V2}/events/{event}/changes/?since=0`, "id FORMAT", undefined],
  ["POST", `${V2}/events/{event}/stream-tickets`, "id FORMAT", undefined],
  ["POST", `${V2}/events/{event}/status`, "id FORMAT", { status: "ARCHIVED" }],
  ["PUT", `${V2}/events/{event}/series`, "id FORMAT", { seriesId: null }],
  ["DELETE", `${V2}/series/{series}`, "id TYPE", undefined],
  ["GET", `${V2}/webhooks/{webhook}`, "id TYPE", undefined],
  ["DELETE", `${V2}/webhooks/{webhook}`, "id TYPE", undefined],
  ["POST", `${V2}/webhooks/{webhook}/rotate`, "id TYPE", {}],
  ["POST", `${V2}/webhooks/{webhook}/retry`, "id TYPE", undefined],
  ["POST", `${V2}/webhooks/{webhook}/test`, "id TYPE", undefined],
  ["GET", `${V2}/webhooks/{webhook}/deliveries/`, "id TYPE", undefined],
  ["GET", `${V2}/event/{event}/prices/{price}`, "eventId FORMAT, id TYPE", undefined],
  ["DELETE", `${V2}/event/{event}/prices/{price}`, "eventId FORMAT, id TYPE", undefined],
  ["GET", `${V2}/venues/{venue}`, "id TYPE", undefined],
  ["DELETE", `${V2}/venues/{venue}`, "id TYPE", undefined],
  ["GET", `${V2}/schemas/{schema}`, "id TYPE", undefined],
  ["DELETE", `${V2}/schemas/{schema}`, "id TYPE", undefined],
  ["POST", `${V2}/schemas/clone/{schema}`, "id TYPE", undefined],
  ["GET", `${V2}/schemas/clone/{clone}`, "id FORMAT", undefined],
  ["GET", `${V2}/schemas/{schema}/seatmaps/`, "schemaId TYPE", undefined],
  ["GET", `${V2}/schemas/{schema}/layout`, "id TYPE", undefined],
  ["PUT", `${V2}/schemas/{schema}/layout`, "id TYPE", {}],
  ["GET", "/api/seatmap/{schema}/", "id TYPE", undefined],
  ["PUT", "/api/seatmap/{schema}/", "id TYPE", {}],
  ["GET", `${V2}/schemas/{schema}/pricing_zones/{zone}`, "schemaId TYPE, id TYPE", undefined],
  ["DELETE", `${V2}/schemas/{schema}/pricing_zones/{zone}`, "schemaId TYPE, id TYPE", undefined],
  ["GET", `${MANAGEMENT}/organizations/{organization}`, "id TYPE", undefined],
  ["DELETE", `${MANAGEMENT}/organizations/{organization}`, "id TYPE", undefined],
  ["PUT", `${MANAGEMENT}/organizations/{organization}/settings`, "id TYPE", {}],
];

const server = new TestServer();
const { a, b, c, world } = server;

/** Adds a zone, a series, a webhook and a clone to the organization. */
function idsOf({ caller, eventId, venueId, schemaId, priceId, id }: House): Ids {
  const zones = [{ name: "Gold", schemaId }];
  const [zone] = world.must("createZones", caller, { schemaId, body: zones });
  const series = world.must("createSeries", caller, { body: { name: "Ring" } }).id;
  const clone = world.must("cloneSchema", caller, { schemaId, cloneId: eventId }).id;
  const hook = { url: "https://odeon.example/hook", events: ["change" as const] };
  const webhook = world.must("createWebhook", caller, { body: hook }).id;
  const own = { event: eventId, venue: venueId, schema: schemaId, price: priceId, zone: zone!.id };
  return { ...own, clone, series, webhook, organization: id };
}

const [idsOfB, idsOfC] = [idsOf(b), idsOf(c)];
const MALFORMED: Ids = Object.fromEntries(Object.keys(UNKNOWN).map((name) => [name, "x"]));

test.each(ROWS)(
  "%s %s is 404 for unknown ids, 403 for those of others, 400 for malformed ones",
  async (method, template, errors, body) => {
    const isManaged = template.startsWith(MANAGEMENT);
    const by = isManaged ? { key: server.tenantToken } : a;
    const send = (ids: Ids) => {
      const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(ids[name]));
      return server.call(method, path, { ...by, body });
    };
    const before = server.digest;
    expectProblem(await send(UNKNOWN), NOT_FOUND);
    // B belongs to the same tenant as the caller.
    for (const ids of isManaged ? [idsOfC] : [idsOfB, idsOfC]) {
      expectProblem(await send(ids), DENIED);
    }
    expectProblem(await send(MALFORMED), invalid(...errors.split(", ")));
    expect(server.digest).toBe(before);
  },
);
