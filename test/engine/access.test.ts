/** A command on a missing object, or on another organization's, is refused. */
import { expect, test } from "vitest";
import { Result } from "../../engine/results.ts";
import { digest } from "../../engine/verify.ts";
import { NO_EVENT, World } from "../support/engine.ts";
import { section } from "../support/layout.ts";

const { ENTITY_NOT_FOUND, ACCESS_DENIED, EVENT_ACCESS_DENIED } = Result;
const id = 999_999;
const WEBHOOK = { url: "https://odeon.example/hook", events: ["change" as const] };
const UNKNOWN = {
  organizationId: id,
  venueId: id,
  schemaId: id,
  zoneId: id,
  eventId: NO_EVENT,
  priceId: id,
  seriesId: id,
  webhookId: id,
};

/** The commands on these objects, by kind. @param venue - A venue of the caller. */
function commandsOn(named: typeof UNKNOWN, world: World, venue: number) {
  const { organizationId, venueId, schemaId, zoneId, eventId, priceId, seriesId, webhookId } =
    named;
  const name = "X";
  const { start, endDate } = world.event;
  const event = { name, start, endDate, schemaId: world.schemaId };
  const booking = { eventId, body: world.selection(null, "A1") };
  return {
    updateVenue: { body: { id: venueId, name } },
    deleteVenue: { venueId },
    updateSchema: { body: { id: schemaId, name, venueId: venue } },
    deleteSchema: { schemaId },
    cloneSchema: { schemaId, cloneId: NO_EVENT },
    putLayout: { schemaId, body: {}, forceDelete: false },
    createZones: { schemaId, body: [{ name, schemaId }] },
    updateZones: { schemaId, body: [{ id: zoneId, name, schemaId }] },
    deleteZone: { schemaId, zoneId },
    assignZones: { schemaId, body: {} },
    updateEvent: { eventId, body: event, force: true },
    cloneEvent: { eventId, cloneId: NO_EVENT, body: {} },
    deleteEvent: { eventId },
    changeEventStatus: { eventId, body: { status: "ARCHIVED" } },
    changeEventRules: { eventId, body: { orphanMode: "lenient" } },
    bindEvent: { eventId, body: { seriesId: null } },
    deleteSeries: { seriesId },
    createPrices: { eventId, body: [{ name, eventId }] },
    updatePrices: { eventId, body: [{ id: priceId, name, eventId }] },
    deletePrice: { eventId, priceId },
    assignPrices: { eventId, body: {} },
    unassignPrices: { eventId, body: {} },
    clearPrices: { eventId },
    updateWebhook: { body: { id: webhookId, ...WEBHOOK } },
    deleteWebhook: { webhookId },
    rotateWebhookSecret: { webhookId, body: {} },
    lock: booking,
    unlock: booking,
    sale: booking,
    revertsale: booking,
    directsale: booking,
    block: booking,
    unblock: booking,
    best: { eventId, body: { quantity: 1 } },
    updateOrganization: { body: { id: organizationId, name } },
    deleteOrganization: { organizationId },
    changeSettings: { organizationId, body: { bookingEnabled: false } },
  };
}

type Kind = keyof ReturnType<typeof commandsOn>;

/** Commands whose refusal does not tell whether the object exists. */
const HIDING: Partial<Record<Kind, Result>> = {
  createZones: ACCESS_DENIED,
  assignZones: ACCESS_DENIED,
  createPrices: EVENT_ACCESS_DENIED,
  assignPrices: EVENT_ACCESS_DENIED,
  unassignPrices: EVENT_ACCESS_DENIED,
  clearPrices: EVENT_ACCESS_DENIED,
  lock: EVENT_ACCESS_DENIED,
  unlock: EVENT_ACCESS_DENIED,
  sale: EVENT_ACCESS_DENIED,
  revertsale: EVENT_ACCESS_DENIED,
  directsale: EVENT_ACCESS_DENIED,
  block: EVENT_ACCESS_DENIED,
  unblock: EVENT_ACCESS_DENIED,
  best: EVENT_ACCESS_DENIED,
};

const world = new World([section("Stalls", { A: "1 2" })]);
const { caller, venueId, schemaId } = world;
const [zone] = world.must("createZones", caller, { schemaId, body: [{ name: "Gold", schemaId }] });
const { id: seriesId } = world.must("createSeries", caller, { body: { name: "Ring" } });
const { eventId, priceId } = world;
const { organizationId } = caller;
const { id: webhookId } = world.must("createWebhook", caller, { body: WEBHOOK });
const inEvent = { eventId, priceId, seriesId, webhookId };
const own = { organizationId, venueId, schemaId, zoneId: zone!.id, ...inEvent };
const sibling = world.createOrganization(world.tenant, "Sibling");
const siblingVenue = world.must("createVenue", sibling, { body: { name: "Other" } }).id;
const elsewhere = world.createTenant("Elsewhere");

test.each(Object.keys(commandsOn(UNKNOWN, world, venueId)) as Kind[])(
  "%s is refused for an object that is unknown or belongs to another organization",
  (kind) => {
    const before = digest(world.engine.state);
    const unknown = commandsOn(UNKNOWN, world, venueId)[kind];
    const refused = HIDING[kind];
    expect(world.submit(kind, caller, unknown as never).refused).toBe(refused ?? ENTITY_NOT_FOUND);
    const stranger = /Organization|Settings/.test(kind) ? elsewhere : sibling;
    const others = commandsOn(own, world, siblingVenue)[kind];
    expect(world.submit(kind, stranger, others as never).refused).toBe(refused ?? ACCESS_DENIED);
    expect(digest(world.engine.state)).toBe(before);
  },
);
