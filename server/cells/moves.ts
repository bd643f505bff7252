/**
 * The moves of organizations, in the cell that one leaves and in the cell where it arrives. Parts
 * are sealed with the master secret, which all cells share. A step that must not come before
 * another needs its receipt, which only holders of the secret can make:
 *
 * - The organization leaves for good when the other cell has all of it.
 * - It is open in the other cell when it has left.
 *
 * The number of that cell is in the parts and in the receipts, so it opens in no third one.
 */
import type { OrganizationRow } from "../../engine/catalog.ts";
import { cellOf, type OrganizationMove } from "../../engine/cells/ranges.ts";
import type { Engine } from "../../engine/engine.ts";
import { isRefused, refuse, type Refusal, Result } from "../../engine/results.ts";
import { isSame, type Keys } from "../auth/keys.ts";
import type { MoveStep, MoveView, OrganizationMoves, SentPart } from "../routing/services.ts";
import { answer, type Answer, type Problem } from "../wire/answers.ts";
import { beginArrival, CALLER, type Place, storePart } from "./arrival.ts";
import { type Part, partsOf } from "./parts.ts";

/** What is sealed. */
interface Envelope {
  readonly organizationId: number;
  readonly moveId: number;
  /** Null before the move has begun: no cell takes it then. */
  readonly toCell: number | null;
  readonly address: string;
  /** Whether it had left when the part was read. */
  readonly hasLeft: boolean;
  readonly number: number;
  readonly count: number;
  readonly part: Part;
}

const NOT_LEAVING = refuse(
  Result.INVALID_STATUS_TRANSITION,
  "The organization is not about to leave this cell.",
);
const NO_RECEIPT = refuse(
  Result.INVALID_STATUS_TRANSITION,
  "The receipt of the other cell is missing, or is that of another move.",
);
const NO_ADDRESS = refuse(
  Result.VALIDATION_FAILED,
  "The address of the other cell must be given, such as https://cell-7.tickets.example.",
);
const NO_CELL = refuse(
  Result.VALIDATION_FAILED,
  "The number of the other cell must be given, as its own move shows it.",
);
const MOVED_ON = refuse(
  Result.INVALID_STATUS_TRANSITION,
  "The organization has been in this cell since then, and has moved on.",
);
const OTHER_SECRET = refuse(
  Result.ACCESS_DENIED,
  "The part was sealed with another secret: all cells need the same FRONTROW_SECRET.",
);

const NAME_TENANT = refuse(Result.VALIDATION_FAILED, "The cell has several tenants: name one.");
const NO_TENANT = refuse(Result.VALIDATION_FAILED, "The cell has no such tenant.");
const ANOTHER_PART = refuse(Result.INVALID_STATUS_TRANSITION, "This is another part.");
const NOT_BEGUN = { phase: "HERE", id: 0, toCell: null, address: "" } as const;

export class Moves implements OrganizationMoves {
  readonly #place: Place;
  readonly #engine: Engine;
  readonly #keys: Keys;
  /** The parts of the organization that leaves, of one at a time. */
  #leaving: { readonly row: OrganizationRow; readonly parts: readonly (() => Part)[] } | null =
    null;
  /** By organization: the part that comes next. It begins again after a restart of the server. */
  readonly #next = new Map<number, number>();

  constructor(place: Place, keys: Keys) {
    this.#place = place;
    this.#engine = place.engine;
    this.#keys = keys;
  }

  view(organizationId: number): MoveView {
    const { catalog } = this.#engine.state;
    const row = catalog.organizations.get(organizationId);
    const none = { moveId: null, toCell: null, address: null, parts: null, receipt: null };
    const facts = { organizationId, cell: this.#cell() };
    if (row === undefined) return { ...facts, phase: "ABSENT", ...none };
    if (row.move === undefined) return { ...facts, phase: "HERE", ...none };
    const { phase, id: moveId, toCell, address, isWhole = false } = row.move;
    const parts = phase === "ARRIVING" ? null : this.#partsOf(row).length;
    const isDone = phase === "LEFT" || isWhole;
    const receipt = isDone ? this.#receipt(phase, organizationId, row.move) : null;
    return { ...facts, phase, moveId, toCell, address, parts, receipt };
  }

  step(organizationId: number, step: MoveStep): Answer | Problem {
    const refusal = this.#step(organizationId, step);
    return refusal ?? answer(200, this.view(organizationId));
  }

  #step(organizationId: number, { step, toCell, address, receipt }: MoveStep): Refusal | null {
    const move = this.#engine.state.catalog.away.get(organizationId);
    const isReceipt = (phase: OrganizationMove["phase"]) =>
      move !== undefined && isSame(receipt ?? "", this.#receipt(phase, organizationId, move));
    switch (step) {
      case "begin": {
        if (!URL.canParse(address ?? "") || new URL(address!).origin !== address) return NO_ADDRESS;
        if (typeof toCell !== "number" || toCell === this.#cell()) return NO_CELL;
        const { sequence: id } = this.#engine;
        return this.#become(organizationId, { phase: "LEAVING", id, toCell, address });
      }
      case "leave":
        if (!isReceipt("ARRIVING")) return NO_RECEIPT;
        return this.#become(organizationId, { ...move!, phase: "LEFT" });
      case "open":
        if (move?.isWhole !== true || !isReceipt("LEFT")) return NO_RECEIPT;
        return this.#become(organizationId, null);
      case "cancel":
        if (move?.phase === "ARRIVING") return this.#clear(organizationId);
        return this.#become(organizationId, null);
      case "clear":
        if (move?.phase !== "LEFT") return NOT_LEAVING;
        return this.#clear(organizationId);
    }
    return step satisfies never;
  }

  /**
   * @returns A part of an organization that leaves, sealed. The first one can be had before, to ask
   * the other cell whether it could arrive.
   */
  part(organizationId: number, number: number): Answer | Problem {
    const row = this.#engine.state.catalog.organizations.get(organizationId);
    if (row === undefined) return NOT_LEAVING;
    const { phase, id: moveId, toCell, address } = row.move ?? NOT_BEGUN;
    if (phase === "ARRIVING" || (phase === "HERE" && number > 0)) return NOT_LEAVING;
    const parts = this.#partsOf(row);
    const part = parts[number];
    if (part === undefined) return refuse(Result.ENTITY_NOT_FOUND, "There is no such part.");
    const hasLeft = phase === "LEFT";
    const count = parts.length;
    const facts = { organizationId, moveId, toCell, address, hasLeft, number, count };
    const content = this.#keys.seal(JSON.stringify({ ...facts, part: part() } satisfies Envelope));
    return answer(200, { content });
  }

  /** Stores a part of an organization that arrives. The first one begins its arrival again. */
  async take(
    organizationId: number,
    number: number,
    { content, ...rest }: SentPart,
  ): Promise<Answer | Problem> {
    // A log that takes no changes is noticed before a part is decrypted.
    const check = this.#engine.check({ kind: "clearOrganization", caller: CALLER, organizationId });
    if (check.refused === Result.OVERLOADED || check.refused === Result.LOG_UNAVAILABLE) {
      return check;
    }
    const envelope = this.#open(content);
    if (envelope === null) return OTHER_SECRET;
    if (envelope.organizationId !== organizationId || envelope.number !== number) {
      return ANOTHER_PART;
    }
    const refusal =
      number === 0 || rest.isTrial === true
        ? this.#begin(envelope, rest)
        : await this.#continue(envelope);
    return refusal ?? answer(200, this.view(organizationId));
  }

  #begin(envelope: Envelope, { tenantId, isTrial }: Omit<SentPart, "content">): Refusal | null {
    const { organizationId, moveId: id, toCell, address, count, part } = envelope;
    if (part.kind !== "organization") return ANOTHER_PART;
    const cell = this.#cell();
    if (toCell !== cell && isTrial !== true) return refuseCell(toCell, cell);
    const gone = this.#refuseLater(envelope);
    if (gone !== null) return gone;
    const { organizations, tenants } = this.#engine.state.catalog;
    const known = organizations.get(organizationId);
    const [only, ...others] = tenants.keys();
    const tenant = tenantId ?? known?.tenantId ?? only ?? 0;
    if ((tenantId ?? known) === undefined && others.length > 0) return NAME_TENANT;
    if (!tenants.has(tenant)) return NO_TENANT;
    const isAway = known?.move !== undefined;
    // Its own row would be in the way of it.
    if (isTrial === true && isAway) return null;
    if (isAway) {
      // What is left of an earlier time, or of an interrupted attempt.
      const refusal = this.#clear(organizationId) ?? this.#forgetLeft(organizationId);
      if (refusal !== null) return refusal;
    }
    // One that owns nothing has no other part.
    const whole = count === 1 ? ({ isWhole: true } as const) : null;
    const move: OrganizationMove = { phase: "ARRIVING", id, toCell: cell, address, ...whole };
    const refusal = beginArrival(this.#place, part, { move, tenantId: tenant, isTrial });
    if (refusal === null && isTrial !== true) this.#next.set(organizationId, 1);
    return refusal;
  }

  /** Why an organization cannot arrive after what is known of it here. */
  #refuseLater({ organizationId, moveId, hasLeft }: Envelope): Refusal | null {
    const known = this.#engine.state.catalog.away.get(organizationId);
    if (known === undefined) return null;
    if (known.phase === "LEAVING") return NOT_LEAVING;
    const isOne = known.phase === "ARRIVING" && known.id === moveId;
    // All of it was here when it left the other cell, so another move here is a later one.
    return hasLeft && !isOne ? MOVED_ON : null;
  }

  async #continue({ organizationId, moveId, number, count, part }: Envelope) {
    const move = this.#engine.state.catalog.away.get(organizationId);
    const isNext = this.#next.get(organizationId) === number;
    if (move?.phase !== "ARRIVING" || move.id !== moveId || !isNext) {
      return refuse(Result.INVALID_STATUS_TRANSITION, "The parts must come in order, from part 0.");
    }
    // A second request with the same part must not store it while this one does.
    this.#next.delete(organizationId);
    const refusal = await storePart(this.#place, organizationId, part);
    if (refusal !== null) return refusal;
    if (number + 1 === count) return this.#become(organizationId, { ...move, isWhole: true });
    this.#next.set(organizationId, number + 1);
    return null;
  }

  #become(organizationId: number, move: OrganizationMove | null): Refusal | null {
    const command = { kind: "moveOrganization", caller: CALLER, organizationId, move } as const;
    const outcome = this.#engine.submit(command);
    return isRefused(outcome) ? outcome : null;
  }

  #clear(organizationId: number): Refusal | null {
    this.#next.delete(organizationId);
    this.#leaving = null;
    const command = { kind: "clearOrganization", caller: CALLER, organizationId } as const;
    const outcome = this.#engine.submit(command);
    return isRefused(outcome) ? outcome : null;
  }

  /** The row that redirects, of an organization that comes back. */
  #forgetLeft(organizationId: number): Refusal | null {
    const row = this.#engine.state.catalog.organizations.get(organizationId);
    if (row === undefined) return null;
    const caller = { ...CALLER, tenantId: row.tenantId };
    const outcome = this.#engine.submit({ kind: "deleteOrganization", caller, organizationId });
    return isRefused(outcome) ? outcome : null;
  }

  #cell(): number {
    return cellOf(this.#engine.state.catalog.nextId);
  }

  #partsOf(row: OrganizationRow): readonly (() => Part)[] {
    if (this.#leaving?.row !== row) {
      this.#leaving = { row, parts: partsOf(this.#engine.state, row) };
    }
    return this.#leaving.parts;
  }

  #receipt(
    phase: OrganizationMove["phase"],
    organizationId: number,
    { id, toCell }: OrganizationMove,
  ): string {
    return this.#keys.sign(`move\n${phase}\n${organizationId}\n${id}\n${toCell}`);
  }

  #open(content: string): Envelope | null {
    try {
      return JSON.parse(this.#keys.unseal(content)) as Envelope;
    } catch {
      // It was sealed with another secret, or changed.
      return null;
    }
  }
}

function refuseCell(toCell: number | null, cell: number): Refusal {
  const detail = `The organization moves to cell ${toCell}; this is cell ${cell}.`;
  return refuse(Result.INVALID_STATUS_TRANSITION, detail);
}
