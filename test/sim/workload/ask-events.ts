/** Random requests about events, their layouts, and the settings of organizations. */
import type { EventRow } from "../../../engine/catalog.ts";
import { EMPTY_DOCUMENT } from "../../../engine/layout/layout.ts";
import type { State } from "../../../engine/state.ts";
import { guidOf } from "../../support/layout.ts";
import type { ModelEvent, ModelRules } from "../model/facts.ts";
import type { Model } from "../model/model.ts";
import { callerFor, priced } from "./ask-booking.ts";
import { anyOf, type Ask, commandOf, eventsOf, type House, type Scene } from "./ask.ts";
import { modelAreasOf, modelEventOf, modelSeatsOf, SEATS_OF_ROW_MAX } from "./houses.ts";

const EVENTS_OF_HOUSE_MAX = 4;
const ORPHAN_MODES = ["off", "strict", "lenient"] as const;
const TIMES = { start: "2026-05-01T20:00", endDate: "2026-05-01T23:00" };
const NEXT_STATUS = { DRAFT: "PUBLISHED", PUBLISHED: "ARCHIVED", ARCHIVED: "DRAFT" } as const;

export function askEvents(scene: Scene, house: House): Ask | null {
  const { random, model } = scene;
  const own = eventsOf(model, house.caller.organizationId);
  const choice = random.below(10);
  if (own.length === 0 || (choice < 2 && own.length < EVENTS_OF_HOUSE_MAX)) {
    return askCreateEvent(scene, house);
  }
  const eventId = random.pick(own);
  if (scene.hasGuards && random.once(6)) return askRules(scene, house, eventId);
  if (choice < 4) return askPricesOf(scene, house, eventId);
  if (choice < 6) return askUpdate(scene, house, eventId);
  if (choice < 9) return askStatus(scene, house, eventId);
  const { caller, isForeign } = callerFor(scene, house, 4);
  return {
    command: commandOf("deleteEvent", caller, { eventId }),
    isForeign,
    twin: () => ({ effect: (twin) => void twin.events.delete(eventId) }),
  };
}

export function askCreateEvent(scene: Scene, house: House): Ask {
  const { caller, schemaId } = house;
  const name = scene.nextName();
  const eventId = `00000000-0000-4000-8000-${name.padStart(12, "0")}`;
  const { organizationId: organization } = caller;
  return {
    command: commandOf("createEvent", caller, { eventId, body: { name, ...TIMES, schemaId } }),
    twin: (state) => {
      const document = documentOf(state, schemaId);
      return {
        effect: (model, row: EventRow, nowMs) => {
          const event = { organization, schema: schemaId, nowMs };
          const { status } = row;
          model.events.set(eventId, { ...modelEventOf(document, event), status });
        },
      };
    },
  };
}

/** Creates the prices of a new event. */
function askPricesOf({ model }: Scene, { caller }: House, eventId: string): Ask | null {
  if (model.events.get(eventId)!.prices.size > 0) return null;
  const body = ["Full", "Half"].map((name) => ({ name, eventId }));
  return {
    command: commandOf("createPrices", caller, { eventId, body }),
    twin: () => ({ effect: priced(eventId) }),
  };
}

/** Changes the name, or moves to another schema of the organization. */
function askUpdate(scene: Scene, house: House, eventId: string): Ask {
  const { random, state } = scene;
  const { caller, isForeign } = callerFor(scene, house, 8);
  const organization = house.caller.organizationId;
  const schemas = [...state.catalog.schemas.values()].filter(
    ({ organizationId }) => organizationId === organization,
  );
  const before = scene.model.events.get(eventId)!.schema;
  const schemaId = random.once(3) ? (anyOf(random, schemas)?.id ?? before) : before;
  const force = random.once(3);
  const body = { name: scene.nextName(), ...TIMES, schemaId };
  return {
    command: commandOf("updateEvent", caller, { eventId, body, force }),
    isForeign,
    twin: (now) => {
      const document = documentOf(now, schemaId);
      // Asked again after a crash, it undoes a move that came between.
      const isMoved = now.catalog.events.get(eventId)?.schemaId !== schemaId;
      if (!isMoved || isForeign || !now.catalog.schemas.has(schemaId)) return {};
      const schemaGaCapacity = now.catalog.schemas.get(schemaId)!.gaCapacity;
      const expect = (model: Model, nowMs: number) => {
        const [seats, areas] = [modelSeatsOf(document, nowMs), modelAreasOf(document, nowMs)];
        const to = { schema: schemaId, schemaGaCapacity, seats, areas };
        return model.moveEvent(eventId, to, force);
      };
      return { expect };
    },
  };
}

function askStatus(scene: Scene, house: House, eventId: string): Ask {
  const { caller, isForeign } = callerFor(scene, house, 10);
  const before = scene.model.events.get(eventId)!.status;
  const status = scene.random.once(8) ? "DRAFT" : NEXT_STATUS[before];
  return {
    command: commandOf("changeEventStatus", caller, { eventId, body: { status } }),
    isForeign,
    twin: () => ({
      effect: (model, row: EventRow) => {
        model.events.get(eventId)!.status = row.status;
      },
    }),
  };
}

export function askSettings(
  { random, hasLimits, hasGuards }: Scene,
  { caller, tenant }: House,
): Ask {
  const { organizationId } = caller;
  if (random.once(3)) {
    const body = [
      { name: "SHORT", ttlSeconds: 1 + random.below(60) },
      { name: "LONG", ttlSeconds: random.once(2) ? null : 3_600 },
      { name: "CART", ttlSeconds: 300 },
    ];
    // Most holds are carts, and only those of the organization can be extended.
    if (hasGuards) body.reverse();
    body.length = hasGuards ? 1 + random.below(3) : random.below(4);
    const maxSeconds = new Map<string, number>();
    for (const { name, ttlSeconds } of hasGuards ? body : []) {
      if (ttlSeconds !== null && !random.once(4)) {
        maxSeconds.set(name, ttlSeconds + random.below(2 * ttlSeconds));
      }
    }
    const types = body.map((type) => {
      const max = maxSeconds.get(type.name);
      return max === undefined ? type : { ...type, maxSeconds: max };
    });
    return {
      command: commandOf("replaceHoldTypes", caller, { body: types }),
      twin: () => ({
        effect: (model) => {
          const holdTypes = new Map(body.map(({ name, ttlSeconds }) => [name, ttlSeconds]));
          Object.assign(model.organizations.get(organizationId)!, { holdTypes, maxSeconds });
        },
      }),
    };
  }
  const isOfOrphans = hasGuards && random.once(3);
  const body: Settings = isOfOrphans ? orphanSettings(random) : settingsOf(random, hasLimits);
  return {
    command: commandOf("changeSettings", tenant, { organizationId, body }),
    twin: () => ({
      effect: (model) => {
        const { orphanPrevention, ...rest } = body;
        const organization = model.organizations.get(organizationId)!;
        Object.assign(organization, rest);
        if (orphanPrevention === false) organization.orphanMode = "off";
        if (orphanPrevention === true && organization.orphanMode === "off") {
          organization.orphanMode = "strict";
        }
      },
    }),
  };
}

interface Settings extends Readonly<Partial<ModelRules>> {
  readonly salesControl?: boolean;
  readonly bookingEnabled?: boolean;
  readonly orphanPrevention?: boolean;
}

function orphanSettings(random: Scene["random"]): Settings {
  if (random.once(2)) return { orphanMode: random.pick(ORPHAN_MODES) };
  return { orphanUntilSold: random.once(2) ? null : 1 + random.below(100) };
}

/** Rules of an event, each of them its own or that of the organization. */
function askRules(scene: Scene, house: House, eventId: string): Ask {
  const { random } = scene;
  const { caller, isForeign } = callerFor(scene, house, 10);
  const own = <T>(value: T) => (random.once(2) ? value : null);
  const rules: ModelRules = {
    orphanMode: own(random.pick(ORPHAN_MODES)),
    orphanUntilSold: own(1 + random.below(100)),
    heldPerSession: own(random.once(4) ? 0 : 4 + random.below(20)),
    heldPerEvent: own(random.once(4) ? 0 : 10 + random.below(40)),
  };
  return {
    command: commandOf("changeEventRules", caller, { eventId, body: rules }),
    isForeign,
    twin: () => ({
      effect: (model) => {
        model.events.get(eventId)!.rules = rules;
      },
    }),
  };
}

function settingsOf(random: Scene["random"], hasLimits: boolean): Settings {
  const switches = ["salesControl", "bookingEnabled", "orphanPrevention"] as const;
  const limits = { heldPerSession: 8, heldPerEvent: 30 };
  const limited = ["heldPerSession", "heldPerEvent"] as const;
  const setting = random.pick(hasLimits ? [...switches, ...limited] : switches);
  if (setting === "heldPerSession" || setting === "heldPerEvent") {
    return { [setting]: random.once(2) ? 0 : 1 + random.below(limits[setting]) };
  }
  return { [setting]: setting === "orphanPrevention" ? random.once(2) : !random.once(5) };
}

/** Removes a seat, or adds one at the end of a row. */
export function askLayout(scene: Scene, house: House): Ask | null {
  const { random, state } = scene;
  const { schemaId } = house;
  const { seats, rows } = documentOf(state, schemaId);
  const seat = anyOf(random, seats);
  if (seat === undefined) return null;
  const ofRow = seats.filter(({ rowGuid }) => rowGuid === seat.rowGuid);
  const isFull = ofRow.length >= SEATS_OF_ROW_MAX;
  if (isFull || (ofRow.length > 2 && random.once(2))) return askRemoveSeat(scene, house, seat.id);
  const row = rows.find(({ guid }) => guid === seat.rowGuid)!;
  const x = Math.max(...ofRow.map((other) => other.x!)) + 1;
  const name = scene.nextName();
  const added = { guid: guidOf(name), rowGuid: row.guid, name, x, y: seat.y };
  const body = { seats: [added] };
  return {
    command: commandOf("putLayout", house.caller, { schemaId, body, forceDelete: false }),
    twin: (before) => {
      const { nextId } = before.catalog;
      return {
        effect: (model, document: ReturnType<typeof documentOf>, nowMs) => {
          const all = modelSeatsOf(document, nowMs);
          for (const event of eventsOn(model, schemaId)) {
            for (const [id, fresh] of all) if (id >= nextId) event.seats.set(id, { ...fresh });
          }
        },
      };
    },
  };
}

function askRemoveSeat(scene: Scene, { caller, schemaId }: House, id: number): Ask {
  const { guid, rowGuid, name } = documentOf(scene.state, schemaId).seats.find(
    (seat) => seat.id === id,
  )!;
  const forceDelete = scene.random.once(3);
  const body = { seats: [{ id, guid, rowGuid, name, toRemove: true }] };
  return {
    command: commandOf("putLayout", caller, { schemaId, body, forceDelete }),
    twin: (before) => {
      // Another client may have removed it meanwhile; then the rules of layouts apply.
      if (!documentOf(before, schemaId).seats.some((seat) => seat.id === id)) return {};
      return {
        expect: (model) => model.removeSeat(eventsOn(model, schemaId), id, forceDelete),
      };
    },
  };
}

function eventsOn(model: Model, schemaId: number): ModelEvent[] {
  return [...model.events.values()].filter(({ schema }) => schema === schemaId);
}

function documentOf(state: State, schemaId: number) {
  return state.catalog.layouts.get(schemaId)?.document ?? EMPTY_DOCUMENT;
}
