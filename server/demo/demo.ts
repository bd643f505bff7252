/** `--demo`: an organization with a theatre and a priced event, and commands to try them. */
import { randomUUID } from "node:crypto";
import { assert } from "../../engine/assert.ts";
import type { EventRow, OrganizationRow } from "../../engine/catalog.ts";
import { NONE } from "../../engine/constants.ts";
import type { CommandKind, CommandOf } from "../../engine/commands.ts";
import type { AnswerOf } from "../../engine/decide.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import { ActorKind } from "../../engine/records.ts";
import { isGranted } from "../../engine/results.ts";
import type { Caller } from "../../engine/shapes/caller.ts";
import { localDateTime } from "../wire/moments.ts";
import { demoLayout } from "./layout.ts";

const ORGANIZATION = "Frontrow demo";
const DAY_MS = 24 * 3_600_000;
const SHOW_MS = 3 * 3_600_000;

/** Creates the demo data in a store that has only its tenant. */
export function createDemo(engine: Engine, tenantId: number): void {
  const submit = <K extends CommandKind>(command: CommandOf<K>): AnswerOf<K> => {
    const outcome = engine.submit(command);
    assert(isGranted(outcome), "the demo breaks no rule");
    return outcome.value;
  };
  const system = { kind: ActorKind.SYSTEM, id: 0 };
  const organization = submit({
    kind: "createOrganization",
    caller: { actor: system, tenantId, organizationId: 0 },
    body: { name: ORGANIZATION },
    administrator: null,
    publicKey: randomUUID(),
  });
  const caller: Caller = { actor: system, tenantId, organizationId: organization.id };
  const venue = submit({ kind: "createVenue", caller, body: { name: "Demo theatre" } });
  const hall = { name: "Main hall", venueId: venue.id };
  const { id: schemaId } = submit({ kind: "createSchema", caller, body: hall });
  submit({ kind: "putLayout", caller, schemaId, body: demoLayout(), forceDelete: false });
  const eventId = randomUUID();
  const startMs = engine.nowMs() + DAY_MS;
  const times = { start: localDateTime(startMs), endDate: localDateTime(startMs + SHOW_MS) };
  const show = { name: "Opening night", schemaId, ...times };
  const event = submit({ kind: "createEvent", caller, eventId, body: show });
  const names = ["Seated", "Standing"].map((name) => ({ name, eventId }));
  const [seated, standing] = submit({ kind: "createPrices", caller, eventId, body: names });
  const { sections, areas } = engine.state.partitionOf(event).layout;
  const groupOfSeats = [
    ...sections.map(({ id }) => ({ objectId: id, assignmentId: seated!.id })),
    ...areas.map(({ id }) => ({ objectId: id, assignmentId: standing!.id })),
  ];
  submit({ kind: "assignPrices", caller, eventId, body: { groupOfSeats } });
}

/** The demo of a store. */
export interface Demo {
  readonly organization: OrganizationRow;
  readonly event: EventRow;
}

/** @returns Null when the store has no demo. */
export function findDemo({ state }: Engine): Demo | null {
  const { organizations, events } = state.catalog;
  const organization = [...organizations.values()].find(isDemo);
  const event = [...events.values()].find((one) => one.organizationId === organization?.id);
  return organization === undefined || event === undefined ? null : { organization, event };
}

/** Where the demo is served, and the file with the header `X-API-Key` of its organization. */
export interface DemoAccess {
  readonly baseUrl: string;
  /** The key of the demo organization, the only secret that is printed. */
  readonly key: string;
  /** Its path; curl reads the key from it as a header. */
  readonly keyFile: string;
}

/** The text to print: URL, key, event and three commands. @param onSale - That is being sold. */
export function describeDemo(
  { state }: Engine,
  { event }: Demo,
  { onSale, ...access }: DemoAccess & { readonly onSale?: EventRow | undefined },
): string {
  const { baseUrl, key } = access;
  const known = [
    "",
    `  console    ${baseUrl}/console`,
    `  base URL   ${baseUrl}`,
    `  API key    ${key}`,
    `  event id   ${event.id}`,
    ...(onSale === undefined ? [] : [`  on sale    ${onSale.id}, which the demo's buyers buy`]),
    `  guide      ${baseUrl}/docs`,
    "",
  ];
  const seats = twoFreeSeats(state.partitionOf(event));
  const lines = seats.length < 2 ? [SOLD_OUT] : commandsToPaste({ ...access, event, seats });
  return [...known, ...lines, ""].join("\n");
}

const SOLD_OUT = "No two adjacent seats are left: start on another data folder to try again.";

interface Trial extends DemoAccess {
  readonly event: EventRow;
  /** Seat ids. */
  readonly seats: readonly number[];
}

function commandsToPaste({ baseUrl, keyFile, event, seats }: Trial): string[] {
  const selection = JSON.stringify({ sessionId: "demo", seats: seats.map((id) => ({ id })) });
  const api = `${baseUrl}/api/private/v2.0`;
  const key = `-H ${quoted(`@${keyFile}`)}`;
  const post = (call: string) =>
    `curl -s -X POST '${api}/booking/${call}?eventId=${event.id}' ${key} ` +
    `-H 'Content-Type: application/json' -d '${selection}'`;
  return [
    "Lock two seats, buy them, and list the latest changes:",
    "",
    post("lock"),
    post("sale"),
    `curl -s '${api}/events/${event.id}/seats/?size=2&sort=updatedAt,desc' ${key}`,
  ];
}

/** As a word of the shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function isDemo({ name }: OrganizationRow): boolean {
  return name === ORGANIZATION;
}

/** Ids of the first two adjacent seats that are ACTIVE; empty when there are none. */
function twoFreeSeats({ layout, state }: Partition): number[] {
  for (let seat = 0; seat < layout.seatCount; seat++) {
    const next = layout.nextSeat[seat]!;
    if (next === NONE || state[seat] !== SeatState.ACTIVE) continue;
    if (state[next] === SeatState.ACTIVE) return [layout.seatIds[seat]!, layout.seatIds[next]!];
  }
  return [];
}
