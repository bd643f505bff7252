/**
 * Stores the parts of an organization that arrives. Ids stay as they are; what is numbered in each
 * cell anew are partitions, holds and records.
 */
import { setImmediate as turn } from "node:timers/promises";
import type { CatalogPut, EventRow, OrganizationRow, WebhookRow } from "../../engine/catalog.ts";
import { type OrganizationMove, placeInCell } from "../../engine/cells/ranges.ts";
import { type CommandOf } from "../../engine/commands.ts";
import { NONE } from "../../engine/constants.ts";
import type { Engine } from "../../engine/engine.ts";
import { Move } from "../../engine/inventory/states.ts";
import type { PackedLayout } from "../../engine/layout/packed-layout.ts";
import { ActorKind, type MoveRecord, RecordType } from "../../engine/records.ts";
import { isRefused, refuse, type Refusal, Result } from "../../engine/results.ts";
import type { ReplyRow } from "../../engine/stored-replies.ts";
import {
  digestOf,
  type HoldsPart,
  type PricesPart,
  type SentHold,
  type Taken,
  type TakenPart,
} from "./inventory.ts";
import type { LayoutPart, OrganizationPart, Part, RowsPart } from "./parts.ts";

type Arrival = CommandOf<"arrive">["arrival"];

const ACTOR = { kind: ActorKind.SYSTEM, id: 0 } as const;
export const CALLER = { actor: ACTOR, tenantId: 0, organizationId: 0 };
/** Records of one turn of the event loop: they take a few milliseconds. */
const RECORDS_PER_TURN = 500;
/** A hold that expires during the move expires this long after it has arrived. */
const LIFETIME_MS_MIN = 1_000;

/**
 * Up to a remaining lifetime, the steps to which it is rounded up: the engine has a queue for each
 * lifetime, so there must not be too many of them.
 */
const LIFETIME_STEPS_MS = [
  [3_600_000, 1_000],
  [7 * 86_400_000, 60_000],
  [Infinity, 3_600_000],
] as const;

/** Where parts arrive. */
export interface Place {
  readonly engine: Engine;
  readonly unpacked: (bytes: Uint8Array) => PackedLayout;
}

interface Beginning {
  readonly move: OrganizationMove;
  readonly tenantId: number;
  readonly isTrial: boolean | null | undefined;
}

/** @returns Why the organization cannot arrive; null when its row is stored, or could be. */
export function beginArrival(
  { engine }: Place,
  { row, accounts }: OrganizationPart,
  { move, tenantId, isTrial }: Beginning,
): Refusal | null {
  const own: OrganizationRow = { ...row, tenantId, move };
  const command = { kind: "beginArrival", caller: CALLER, row: own, accounts } as const;
  const outcome = isTrial === true ? engine.check(command) : engine.submit(command);
  return isRefused(outcome) ? outcome : null;
}

/** @returns Why the part was not stored; null when it was. */
export function storePart(
  place: Place,
  organizationId: number,
  part: Part,
): Promise<Refusal | null> {
  const arriving = new Arriving(place, organizationId);
  switch (part.kind) {
    case "organization":
      return Promise.resolve(refuse(Result.INVALID_STATUS_TRANSITION, "It has begun to arrive."));
    case "rows":
      return arriving.rows(part);
    case "layout":
      return arriving.layout(part);
    case "prices":
      return arriving.prices(part);
    case "holds":
      return arriving.holds(part);
    case "taken":
      return arriving.taken(part);
  }
  return part satisfies never;
}

class Arriving {
  readonly #place: Place;
  readonly #organizationId: number;
  #records = 0;

  constructor(place: Place, organizationId: number) {
    this.#place = place;
    this.#organizationId = organizationId;
  }

  rows({ table, rows }: RowsPart): Promise<Refusal | null> {
    const { catalog, sequence } = this.#place.engine.state;
    // The rows come from a cell that had checked them, and were sealed on the way.
    const puts = rows.map((row) => ({ table, row }) as unknown as CatalogPut);
    if (table === "events") {
      const numbered = (rows as EventRow[]).map((row, i): CatalogPut => {
        return { table, row: { ...row, partition: placeInCell(catalog.nextId + i) } };
      });
      return this.#store({ newIds: rows.length, puts: numbered });
    }
    if (table === "webhooks") {
      const begun = (rows as WebhookRow[]).map(({ earlier: _, ...row }): CatalogPut => {
        return { table, row: { ...row, activeSince: sequence } };
      });
      return this.#store({ newIds: 0, puts: begun });
    }
    if (table !== "replies") return this.#store({ newIds: 0, puts });
    // A longer body stays in the trail of the other cell.
    const short = (rows as ReplyRow[]).map((reply): CatalogPut => {
      const { bodyLength: _, ...row } = reply;
      return { table, row };
    });
    return this.#store({ newIds: 0, puts: short });
  }

  layout({ row, isPacked }: LayoutPart): Promise<Refusal | null> {
    const document = isPacked
      ? this.#place.unpacked(Buffer.from(String(row.document), "base64"))
      : row.document;
    const put = { table: "layouts", row: { ...row, document } } as unknown as CatalogPut;
    return this.#store({ newIds: 0, puts: [put] });
  }

  async prices({ eventId, runs, areas, lostSlot }: PricesPart): Promise<Refusal | null> {
    const { catalog } = this.#place.engine.state;
    if (lostSlot !== 0) {
      const price = { id: catalog.nextId, eventId, slot: lostSlot, name: "removed" };
      const row = { ...price, renamedAtMs: 0, externalId: null };
      const refusal = await this.#store({ newIds: 1, puts: [{ table: "prices", row }] });
      if (refusal !== null) return refusal;
    }
    if (runs.length + areas.length === 0) return null;
    return this.#store({
      type: RecordType.PRICE,
      actor: ACTOR,
      partition: this.#eventOf(eventId).partition,
      runs: Uint32Array.from(runs),
      areas: Uint32Array.from(areas),
    });
  }

  async holds({ eventId, holds }: HoldsPart): Promise<Refusal | null> {
    const event = this.#eventOf(eventId);
    for (const hold of holds) {
      // oxlint-disable-next-line no-await-in-loop -- a hold takes the slot after the one before it
      const refusal = await this.#store(() => this.#lockOf(event, hold));
      if (refusal !== null) return refusal;
    }
    return null;
  }

  async taken({ eventId, sold, blocked, lostSlot, digest }: TakenPart): Promise<Refusal | null> {
    const event = this.#eventOf(eventId);
    const { state } = this.#place.engine;
    const refusal =
      (await this.#take(event, Move.DIRECT_SALE, sold)) ??
      (await this.#take(event, Move.BLOCK, blocked)) ??
      (await this.#removeLost(eventId, lostSlot));
    if (refusal !== null) return refusal;
    if (digestOf(state.partitionOf(event)) === digest) return null;
    const detail = `The inventory of event ${eventId} is not the same as in the other cell.`;
    return refuse(Result.INVALID_STATUS_TRANSITION, detail);
  }

  #take(event: EventRow, move: Move, { seats, areas }: Taken): Promise<Refusal | null> {
    if (seats.length + areas.length === 0) return Promise.resolve(null);
    return this.#store(moveRecord(event, { move, seats, areas }));
  }

  /** The seats that had it are left as they are without a price that they once had. */
  #removeLost(eventId: string, slot: number): Promise<Refusal | null> {
    const price = this.#place.engine.state.catalog.pricesOf(eventId).get(slot);
    if (slot === 0 || price === undefined) return Promise.resolve(null);
    return this.#store({ priceId: price.id });
  }

  #lockOf(event: EventRow, { seats, areas, ...hold }: SentHold): MoveRecord {
    const { engine } = this.#place;
    const nowMs = engine.nowMs();
    const slot = engine.state.partitionOf(event).holds.nextSlot;
    const { session, holdType, expiresAtMs: endMs } = hold;
    const expiresAtMs = endMs === 0 ? 0 : nowMs + lifetimeOf(endMs - nowMs);
    const record = moveRecord(event, { move: Move.LOCK, seats, areas, slot });
    return { ...record, session, holdType, expiresAtMs };
  }

  #eventOf(eventId: string): EventRow {
    return this.#place.engine.state.catalog.events.get(eventId)!;
  }

  /** Waits while the log has too much to write. */
  async #store(arrival: Arrival | (() => Arrival)): Promise<Refusal | null> {
    const { engine } = this.#place;
    const ownerId = this.#organizationId;
    this.#records += 1;
    if (this.#records % RECORDS_PER_TURN === 0) await turn();
    for (;;) {
      const made = typeof arrival === "function" ? arrival() : arrival;
      const command = { kind: "arrive", caller: CALLER, ownerId, arrival: made } as const;
      const outcome = engine.submit(command);
      if (!isRefused(outcome)) return null;
      if (outcome.refused !== Result.OVERLOADED) return outcome;
      // oxlint-disable-next-line no-await-in-loop -- the log has no room before
      await new Promise<void>((resolve) => {
        engine.afterDurable(resolve);
      });
    }
  }
}

function lifetimeOf(leftMs: number): number {
  const lifetimeMs = Math.max(leftMs, LIFETIME_MS_MIN);
  const [, stepMs] = LIFETIME_STEPS_MS.find(([upToMs]) => lifetimeMs <= upToMs)!;
  return Math.ceil(lifetimeMs / stepMs) * stepMs;
}

function moveRecord(
  { partition }: EventRow,
  { move, seats, areas, slot = NONE }: Taken & { readonly move: Move; readonly slot?: number },
): MoveRecord {
  const triples: number[] = [];
  for (let i = 0; i < areas.length; i += 2) triples.push(areas[i]!, slot, areas[i + 1]!);
  return {
    type: RecordType.MOVE,
    actor: ACTOR,
    partition,
    move,
    hold: slot,
    expiresAtMs: 0,
    session: "",
    holdType: "",
    seats: Uint32Array.from(seats),
    areas: Uint32Array.from(triples),
  };
}
