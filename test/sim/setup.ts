/** The initial state: two tenants, three organizations, and events on sale. */
import type { Caller } from "../../engine/bodies.ts";
import type { State } from "../../engine/state.ts";
import { organizationOf } from "../support/engine.ts";
import { layoutOf } from "../support/layout.ts";
import { askPriceAll, priced } from "./workload/ask-booking.ts";
import { createTenant } from "./workload/ask-catalog.ts";
import { askCreateEvent } from "./workload/ask-events.ts";
import { type Ask, commandOf, type House, type Scene, type Twin } from "./workload/ask.ts";
import { PARTS, SCHEMA_GA_CAPACITY } from "./workload/houses.ts";
import type { Plan } from "./workload/plan.ts";

const TENANT = 2;
const ORGANIZATION = 1;
const BIG_EVENTS = 6;

/** Sends requests and expects them to be granted. */
export interface Builder {
  readonly must: (ask: Ask) => void;
  readonly scene: Omit<Scene, "houses">;
}

export function openHouses(builder: Builder, plan: Pick<Plan, "seed" | "isBig">): House[] {
  const tenants = ["first", "second"].map((name) => openTenant(builder, name));
  return [tenants[0]!, tenants[0]!, tenants[1]!].map((tenant, i) => {
    const house = openHouse(builder, tenant, `house${i}`);
    const events = plan.isBig ? BIG_EVENTS : 1 + ((i + plan.seed) % 2);
    for (let n = 0; n < events; n++) openEvent(builder, house);
    return house;
  });
}

function openTenant({ must, scene }: Builder, name: string): Caller {
  must(createTenant(name));
  const { id } = newest(scene.state, "tenants");
  return { actor: { kind: TENANT, id }, tenantId: id, organizationId: 0 };
}

function openHouse({ must, scene }: Builder, tenant: Caller, name: string): House {
  must({
    command: commandOf("createOrganization", tenant, organizationOf(name)),
    twin: (): Twin => ({
      effect: (model, { id }: { readonly id: number }) => {
        model.organizations.set(id, {
          salesControl: true,
          bookingEnabled: true,
          orphanMode: "off",
          orphanUntilSold: null,
          heldPerSession: 0,
          heldPerEvent: 0,
          holdTypes: new Map(),
          maxSeconds: new Map(),
        });
      },
    }),
  });
  const { id } = newest(scene.state, "organizations");
  const actor = { kind: ORGANIZATION, id } as const;
  const caller: Caller = { actor, tenantId: tenant.tenantId, organizationId: id };
  must({ command: commandOf("createVenue", caller, { body: { name } }) });
  const venueId = newest(scene.state, "venues").id;
  const plan = { name, venueId, gaCapacity: SCHEMA_GA_CAPACITY };
  must({ command: commandOf("createSchema", caller, { body: plan }) });
  const schemaId = newest(scene.state, "schemas").id;
  const body = layoutOf(...PARTS);
  must({ command: commandOf("putLayout", caller, { schemaId, body, forceDelete: false }) });
  return { caller, tenant, venueId, schemaId };
}

function openEvent({ must, scene }: Builder, house: House): void {
  const whole: Scene = { ...scene, houses: [house] };
  must(askCreateEvent(whole, house));
  const eventId = [...scene.state.catalog.events.keys()].at(-1)!;
  const body = ["Full", "Half"].map((name) => ({ name, eventId }));
  must({
    command: commandOf("createPrices", house.caller, { eventId, body }),
    twin: () => ({ effect: priced(eventId) }),
  });
  must(askPriceAll(whole, house, eventId));
}

type Named = "tenants" | "organizations" | "venues" | "schemas";

function newest(state: State, table: Named): { readonly id: number } {
  const rows: ReadonlyMap<number, { readonly id: number }> = state.catalog[table];
  return [...rows.values()].at(-1)!;
}
