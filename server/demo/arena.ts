/** The arena of `--demo-traffic`: the sample arena, with prices and some blocked seats. */
import { randomUUID } from "node:crypto";
import { gunzipSync } from "node:zlib";
import type { EventRow, OrganizationRow } from "../../engine/catalog.ts";
import type { CommandKind, CommandOf } from "../../engine/commands.ts";
import type { AnswerOf } from "../../engine/decide.ts";
import type { Engine } from "../../engine/engine.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import type { Layout } from "../../engine/layout/layout.ts";
import type { LayoutBody } from "../../engine/shapes/bodies.ts";
import type { Caller } from "../../engine/shapes/caller.ts";
import { readPackageFile } from "../docs/package-files.ts";
import { localDateTime } from "../wire/moments.ts";

const LAYOUT_FILE = "server/examples/arena.json.gz";
const VENUE = "Demo arena";
const TOUR = "Aurora Tour";
const DAY_MS = 24 * 3_600_000;
const SHOW_MS = 3 * 3_600_000;
const START_HOUR_MS = 20 * 3_600_000;
const DAYS_AHEAD = 20;
/** Below this number of free seats, an event counts as sold out. */
const FREE_MIN = 50;
/** How long a buyer of the demo may hesitate. */
export const WEB_HOLD = { name: "WEB", ttlSeconds: 90 };

/** Names of the sections and areas of each price. Floor 8 has none: it is not on sale. */
const PRICES: readonly { readonly name: string; readonly objects: RegExp }[] = [
  { name: "Floor front", objects: /^Floor [1-4]$/ },
  { name: "Floor rear", objects: /^Floor [5-7]$/ },
  { name: "Category 1", objects: /^Block (101|102|103|110|111|112|124|113)$/ },
  { name: "Category 2", objects: /^Block (104|105|108|109)$/ },
  { name: "Category 3", objects: /^Block (106|107|114|115|122|123)$/ },
  { name: "Limited view", objects: /^Block (116|117|118|119|120|121)$/ },
  { name: "Standing", objects: /^Standing/ },
];
/** Behind the stage. */
const BLOCKED = /^Block 11[89]$/;

type Submit = <K extends CommandKind>(command: CommandOf<K>) => AnswerOf<K>;

/** @returns The event whose seats are being sold: the newest, or the next when it is sold out. */
export function openArena(
  engine: Engine,
  caller: Caller,
  submit: Submit,
): { readonly event: EventRow; readonly isNew: boolean } {
  const { events } = engine.state.catalog;
  const nights = [...events.values()].filter(
    ({ name, organizationId }) => organizationId === caller.organizationId && name.startsWith(TOUR),
  );
  const last = nights.at(-1);
  if (last !== undefined) {
    const { seatsIn } = engine.state.partitionOf(last);
    if (seatsIn[SeatState.ACTIVE]! >= FREE_MIN) return { event: last, isNew: false };
  }
  const schemaId = last?.schemaId ?? createSchema(caller, submit);
  const night = { schemaId, number: nights.length + 1, nowMs: engine.nowMs() };
  const event = createNight(caller, submit, night);
  putOnSale(engine, { caller, submit, event });
  return { event, isNew: true };
}

/** The hold type is added to those that the organization has. */
export function addHoldType({ holdTypes }: OrganizationRow, caller: Caller, submit: Submit): void {
  if (holdTypes.some(({ name }) => name === WEB_HOLD.name)) return;
  const own = holdTypes.map(({ name, ttlSeconds }) =>
    ttlSeconds === null ? { name } : { name, ttlSeconds },
  );
  submit({ kind: "replaceHoldTypes", caller, body: [...own, WEB_HOLD] });
}

function createSchema(caller: Caller, submit: Submit): number {
  const venue = submit({ kind: "createVenue", caller, body: { name: VENUE } });
  const bowl = { name: "Concert", venueId: venue.id };
  const { id: schemaId } = submit({ kind: "createSchema", caller, body: bowl });
  const body = JSON.parse(gunzipSync(readPackageFile(LAYOUT_FILE)).toString()) as LayoutBody;
  submit({ kind: "putLayout", caller, schemaId, body, forceDelete: false });
  return schemaId;
}

interface Night {
  readonly schemaId: number;
  readonly number: number;
  readonly nowMs: number;
}

function createNight(caller: Caller, submit: Submit, { schemaId, number, nowMs }: Night): EventRow {
  const day = Math.floor(nowMs / DAY_MS) + DAYS_AHEAD + number;
  const startMs = day * DAY_MS + START_HOUR_MS;
  const times = { start: localDateTime(startMs), endDate: localDateTime(startMs + SHOW_MS) };
  const body = { name: `${TOUR} · Night ${number}`, schemaId, ...times };
  return submit({ kind: "createEvent", caller, eventId: randomUUID(), body });
}

interface Opening {
  readonly caller: Caller;
  readonly submit: Submit;
  readonly event: EventRow;
}

function putOnSale({ state }: Engine, { caller, submit, event }: Opening): void {
  const eventId = event.id;
  const names = PRICES.map(({ name }) => ({ name, eventId }));
  const prices = submit({ kind: "createPrices", caller, eventId, body: names });
  const { layout } = state.partitionOf(event);
  const groupOfSeats = [...layout.sections, ...layout.areas].flatMap(({ id, name }) => {
    const price = prices.find((_, i) => PRICES[i]!.objects.test(name));
    return price === undefined ? [] : [{ objectId: id, assignmentId: price.id }];
  });
  submit({ kind: "assignPrices", caller, eventId, body: { groupOfSeats } });
  const seats = blockedSeats(layout);
  submit({ kind: "block", caller, eventId, body: { sessionId: "production", seats } });
}

function blockedSeats({ sections, rows, seatIds }: Layout): { readonly id: number }[] {
  const blocked = sections.filter(({ name }) => BLOCKED.test(name));
  const seats = blocked.flatMap((section) => section.rows.flatMap((row) => [...rows[row]!.seats]));
  return seats.map((seat) => ({ id: seatIds[seat]! }));
}
