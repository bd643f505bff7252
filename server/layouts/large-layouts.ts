/**
 * Large layouts: what visits each of their objects is done by the layout thread, and the engine
 * installs the result in one short step. Meanwhile other commands are carried out on the layout as
 * it was; when one of them changes it, the new one is prepared again.
 */
import { keepRecent } from "../../engine/bounds.ts";
import { setImmediate as turn } from "node:timers/promises";
import type { Caller } from "../../engine/bodies.ts";
import type { LayoutRow } from "../../engine/catalog.ts";
import type { Engine } from "../../engine/engine.ts";
import { LARGE_LAYOUT_OBJECTS, layoutOfColumns, PackedLayout } from "../../engine/layout/packed.ts";
import { zonesInSlices } from "../../engine/layout/zones.ts";
import {
  isCurrentClone,
  isCurrentLayout,
  originalOf,
  refuseOtherVersion,
} from "../../engine/catalog/schemas.ts";
import { isGranted, isRefused, refuse, refuseInvalid, Result } from "../../engine/results.ts";
import type { LayoutVersion, SeatsInUse } from "../../engine/stored-replies.ts";
import { inSlices } from "../api/overload.ts";
import {
  type Answer,
  answer,
  FrontResult,
  jsonBytes,
  type Problem,
  withVersion,
} from "../http/answers.ts";
import type { LongBody } from "../http/front.ts";
import { NumberLiteral } from "../http/json.ts";
import { freePages } from "../http/limits.ts";
import {
  type JobKind,
  type JobOf,
  type MetadataOptions,
  type Prepared,
  type ResultOf,
  withInUse,
} from "./jobs.ts";
import type { LayoutThreads } from "./layout-thread.ts";

// The geometries that were asked for last. A geometry never changes within a version.

/** Each is about 5 bytes a seat, compressed: a megabyte for the largest layout. */
export const GEOMETRIES_MAX = 16;

interface Kept {
  readonly version: number;
  readonly answer: Promise<Answer | Problem>;
}

export class GeometryCache {
  /** By schema, the least recently used first. */
  readonly #kept = new Map<number, Kept>();

  /** @param make - Makes the answer when it is not kept. */
  of(
    schemaId: number,
    version: number,
    make: () => Promise<Answer | Problem>,
  ): Promise<Answer | Problem> {
    let kept = this.#kept.get(schemaId);
    if (kept?.version !== version)
      kept = { version, answer: this.#keepUnlessRefused(schemaId, make) };
    return keepRecent(this.#kept, schemaId, kept, GEOMETRIES_MAX).answer;
  }

  async #keepUnlessRefused(
    schemaId: number,
    make: () => Promise<Answer | Problem>,
  ): Promise<Answer | Problem> {
    const drop = () => this.#kept.delete(schemaId);
    try {
      const made = await make();
      if (isRefused(made)) drop();
      return made;
    } catch (error) {
      drop();
      throw error;
    }
  }
}

/** A shorter body for a small layout is handled at once. */
const LONG_BODY_BYTES = 128 * 1_024;
/** Ids that other commands may take while a layout is prepared for the first time. */
const ID_GAP = 1_000;
/** And for the next time: so many times those that they took before, which may come faster. */
const ID_GAP_TIMES = 4;
const ATTEMPTS_MAX = 4;
/** Bytes of a layout as JSON for each byte of it in its packed form, about. */
const PACKED_TIMES = 12;
const BUSY: Problem = refuse(
  Result.OVERLOADED,
  "Too many large layouts are being worked on; try again.",
);

type Handled = Answer | Problem;

/** One preparation of a layout. */
interface Attempt {
  readonly number: number;
  /** Ids that other commands may take meanwhile. */
  readonly idGap: number;
}

const FIRST_ATTEMPT: Attempt = { number: 1, idGap: ID_GAP };

/** The body of a put; one that has to be prepared again is packed. */
type SentBody = LongBody & { readonly isPacked?: boolean };

/** How packed layouts are made. */
export interface LayoutPacker {
  readonly pack: (json: string) => PackedLayout;
  readonly packed: (bytes: Uint8Array) => PackedLayout;
}

/** Puts a layout for a caller, as the command of that name. */
interface LayoutPut {
  readonly caller: Caller;
  readonly schemaId: number;
  readonly forceDelete: boolean;
  /** Those that the stored layout may have; null for any. */
  readonly versions: readonly number[] | null;
}

/** As the parameters of the route. */
interface GroupFilter {
  readonly parentId: number | undefined;
  readonly type: string | undefined;
}

export class LargeLayouts {
  readonly #engine: Engine;
  readonly #threads: LayoutThreads;
  readonly #packer: LayoutPacker;
  readonly #geometries = new GeometryCache();

  constructor(engine: Engine, threads: LayoutThreads, packer: LayoutPacker) {
    this.#engine = engine;
    this.#threads = threads;
    this.#packer = packer;
  }

  /** Packs the large layouts that recovery has left unpacked. To be called once, at start. */
  packAll(): void {
    const { catalog } = this.#engine.state;
    for (const row of catalog.layouts.values()) {
      if (row.document instanceof PackedLayout || !this.isLarge(row.id)) continue;
      const document = this.#packer.pack(JSON.stringify(row.document));
      catalog.put({ table: "layouts", row: { ...row, document } });
    }
  }

  isLarge(schemaId: number): boolean {
    const { catalog } = this.#engine.state;
    const document = catalog.layouts.get(schemaId)?.document;
    if (document === undefined) return false;
    if (document instanceof PackedLayout) return true;
    const { seats, rows, sectors, shapes } = document;
    const objects = seats.length + rows.length + sectors.length + shapes.length;
    return objects >= LARGE_LAYOUT_OBJECTS;
  }

  /** Whether putting a body of that size is long work. */
  isLongPut(schemaId: number, bytes: number): boolean {
    return bytes >= LONG_BODY_BYTES || this.isLarge(schemaId);
  }

  async put(command: LayoutPut, body: SentBody, attempt = FIRST_ATTEMPT): Promise<Handled> {
    let base: LayoutRow | undefined;
    let firstId = 0;
    let again: SentBody = body;
    /** Not awaited while the result is used: showing a stored layout again is a job of its own. */
    const early: Exclude<ReturnType<LongBody["claim"]>, null>[] = [];
    const make = () => {
      base = this.#baseOf(command);
      firstId = this.#engine.state.catalog.nextId + attempt.idGap;
      const next = { nextId: firstId, timeMs: this.#engine.nowMs() };
      const stored = base === undefined ? null : this.#bytesOf(base);
      return { parts: [...body.parts], isPacked: body.isPacked === true, stored, next };
    };
    const { organizationId } = command.caller;
    const thread = this.#threadFor(command.schemaId, body);
    const running = thread.run("prepare", organizationId, make, (prepared) => {
      if (prepared.kind === "malformed" || prepared.kind === "invalid") return refusalOf(prepared);
      // The installation requires this base, so one comparison is enough.
      const changed = this.#isOwn(command) ? refuseOtherVersion(command.versions, base) : null;
      if (changed !== null) {
        freePages(prepared.json);
        return changed;
      }
      const claimed = body.claim();
      if (claimed !== null) {
        freePages(prepared.json);
        return void early.push(claimed);
      }
      if (prepared.kind === "same") {
        const { version = 0 } = base ?? {};
        const inUse = { renamed: 0, moved: 0 };
        return putAnswer(prepared.json, { schemaId: command.schemaId, version, inUse });
      }
      again = { parts: [prepared.body], isPacked: true, claim: () => null };
      return this.#install(command, { prepared, base, firstId });
    });
    const handled = running === null ? BUSY : ((await running) ?? early[0] ?? null);
    if (handled !== null) return handled;
    const next = this.#after(attempt, firstId);
    return next === null ? BUSY : this.put(command, again, next);
  }

  /** @returns Null when the layout must be prepared again. */
  async #install(
    { caller, schemaId, forceDelete }: LayoutPut,
    { prepared, base, firstId }: Installation,
  ): Promise<Handled | null> {
    const { packed, columns, newIds, seats, json } = prepared;
    const made = { layout: layoutOfColumns(columns) };
    const document = this.#packer.packed(packed);
    const ready = { base, firstId, newIds, document, made, ...seats };
    // The result has taken a while to receive: what the engine does with it is another turn.
    await turn();
    // Whether removed seats are in use is asked of events on the present layout.
    if (seats.goneIds.length + seats.goneAreaIds.length > 0) await inSlices(this.#settle());
    const { state } = this.#engine;
    const isOwn = this.#isOwn({ caller, schemaId });
    const isCurrent = !isOwn || isCurrentLayout(state, schemaId, ready);
    const command = { kind: "installLayout", caller, schemaId, ready, forceDelete } as const;
    const outcome = isCurrent ? this.#engine.submit(command) : null;
    if (outcome === null || !isGranted(outcome)) {
      freePages(json);
      return outcome;
    }
    const { version } = state.catalog.layouts.get(schemaId)!;
    return putAnswer(json, { schemaId, version, inUse: outcome.value });
  }

  *#settle(): Generator<void, void> {
    while (this.#engine.settle()) yield;
  }

  /** A layout of somebody else is not looked at: its body is only checked. */
  #baseOf(put: LayoutPut): LayoutRow | undefined {
    return this.#isOwn(put) ? this.#engine.state.catalog.layouts.get(put.schemaId) : undefined;
  }

  #isOwn({ caller, schemaId }: Pick<LayoutPut, "caller" | "schemaId">): boolean {
    const schema = this.#engine.state.catalog.schemas.get(schemaId);
    return schema?.organizationId === caller.organizationId;
  }

  async clone(
    caller: Caller,
    schemaId: number,
    cloneId: string,
    attempt = FIRST_ATTEMPT,
  ): Promise<Handled> {
    const { state } = this.#engine;
    let original = originalOf(state, schemaId);
    let firstId = 0;
    const make = () => {
      original = originalOf(state, schemaId);
      firstId = state.catalog.nextId + attempt.idGap;
      const { zones, assignments } = original;
      const next = { nextId: firstId, timeMs: this.#engine.nowMs() };
      const stored = this.#stored(schemaId);
      return { stored, original: { schemaId, zones, assignments }, next };
    };
    const thread = this.#threadFor(schemaId);
    const running = thread.run("copy", caller.organizationId, make, async (result) => {
      const { packed, columns, copy } = result;
      const document = this.#packer.packed(packed);
      const madeZones = await inSlices(zonesInSlices(copy.assignments));
      const parts = {
        copy: { ...copy, document },
        made: { layout: layoutOfColumns(columns) },
        madeZones,
      };
      const ready = { original, firstId, newIds: copy.newIds, ...parts };
      await turn();
      if (state.catalog.schemas.has(schemaId) && !isCurrentClone(state, ready)) return null;
      const command = { kind: "installClone", caller, schemaId, cloneId, ready } as const;
      const outcome = this.#engine.submit(command);
      return isGranted(outcome) ? answer(200, outcome.value.id) : outcome;
    });
    const handled = running === null ? BUSY : await running;
    if (handled !== null) return handled;
    const next = this.#after(attempt, firstId);
    return next === null ? BUSY : this.clone(caller, schemaId, cloneId, next);
  }

  /**
   * @param firstId - The first id of the attempt that failed.
   * @returns The next one, which leaves room for what others take; null when there is none.
   */
  #after({ number, idGap }: Attempt, firstId: number): Attempt | null {
    if (number === ATTEMPTS_MAX) return null;
    const taken = this.#engine.state.catalog.nextId - (firstId - idGap);
    return { number: number + 1, idGap: ID_GAP + taken * ID_GAP_TIMES };
  }

  /**
   * The whole layout.
   *
   * @param inUse - Of the PUT whose answer is repeated.
   */
  async show(schemaId: number, inUse?: SeatsInUse): Promise<Handled> {
    let version = 0;
    const make = () => {
      version = this.#engine.state.catalog.layouts.get(schemaId)?.version ?? 0;
      return { stored: this.#stored(schemaId), hasRoom: inUse !== undefined };
    };
    const show = (json: Uint8Array) => jsonBytes(200, inUse ? withInUse(json, inUse) : json);
    const shown = await this.#show("show", schemaId, make, show);
    return isRefused(shown) ? shown : withVersion(shown, version);
  }

  showMetadata(schemaId: number, options: MetadataOptions): Promise<Handled> {
    return this.#show("showMetadata", schemaId, () => ({
      stored: this.#stored(schemaId),
      options,
    }));
  }

  /** @param filter - As the parameters of the route. */
  showGroups(schemaId: number, filter: GroupFilter): Promise<Handled> {
    return this.#show("showGroups", schemaId, () => {
      const { catalog } = this.#engine.state;
      const { groups } = this.#engine.state.layoutOf(schemaId);
      const zoned = catalog.zoneAssignments.of(schemaId);
      const zones = new Map(
        [...groups.keys()].flatMap((id) => {
          const zoneId = zoned.get(id);
          return zoneId === undefined ? [] : [[id, zoneId] as const];
        }),
      );
      return { stored: this.#stored(schemaId), schemaId, zones, ...filter };
    });
  }

  /** The geometry, compressed by gzip. */
  showGeometry(schemaId: number): Promise<Handled> {
    const { version = 0 } = this.#engine.state.catalog.layouts.get(schemaId) ?? {};
    return this.#geometries.of(schemaId, version, () =>
      this.#show("showGeometry", schemaId, () => {
        const { version: present = 0 } = this.#engine.state.catalog.layouts.get(schemaId) ?? {};
        return { stored: this.#stored(schemaId), schemaId, version: present };
      }),
    );
  }

  async #show<K extends JobKind>(
    kind: K,
    schemaId: number,
    make: () => Omit<JobOf<K>, "kind">,
    show = (json: Uint8Array) => jsonBytes(200, json),
  ): Promise<Handled> {
    const { organizationId } = this.#engine.state.catalog.schemas.get(schemaId)!;
    const use = (shown: ResultOf<K>) => show(shown as ResultOf<K> & Uint8Array);
    return (await this.#threadFor(schemaId).run(kind, organizationId, make, use)) ?? BUSY;
  }

  /** The thread for work on a stored layout, and on a body. */
  #threadFor(schemaId: number, body?: SentBody) {
    const document = this.#engine.state.catalog.layouts.get(schemaId)?.document;
    const stored = document instanceof PackedLayout ? document.bytes.length * PACKED_TIMES : 0;
    const sent = body?.parts.reduce((bytes, part) => bytes + part.length, 0) ?? 0;
    return this.#threads.threadFor(stored + sent * (body?.isPacked === true ? PACKED_TIMES : 1));
  }

  /** Empty when the schema was deleted while the request waited. */
  #stored(schemaId: number): Uint8Array {
    const row = this.#engine.state.catalog.layouts.get(schemaId);
    return row === undefined ? this.#packer.pack(NO_LAYOUT).bytes : this.#bytesOf(row);
  }

  #bytesOf({ document }: LayoutRow): Uint8Array {
    if (document instanceof PackedLayout) return document.bytes;
    return this.#packer.pack(JSON.stringify(document)).bytes;
  }
}

const NO_LAYOUT = JSON.stringify({
  sectors: [],
  rows: [],
  seats: [],
  shapes: [],
  clientViewBox: null,
});

interface Installation {
  readonly prepared: Extract<Prepared, { kind: "new" }>;
  readonly base: LayoutRow | undefined;
  readonly firstId: number;
}

/** @param json - With room for `inUse`. */
function putAnswer(json: Uint8Array, layout: LayoutVersion): Answer {
  return withVersion(jsonBytes(200, withInUse(json, layout.inUse), layout), layout.version);
}

function refusalOf(prepared: Extract<Prepared, { kind: "malformed" | "invalid" }>): Problem {
  if (prepared.kind === "malformed") {
    return { refused: FrontResult.MALFORMED_REQUEST, detail: prepared.reason };
  }
  return refuseInvalid(
    prepared.errors.map((error) => ({ ...error, rejectedValue: received(error.rejectedValue) })),
  );
}

/** A message between threads loses the class of a number literal. */
function received(value: unknown): unknown {
  const isLiteral = value !== null && typeof value === "object" && "text" in value;
  return isLiteral ? new NumberLiteral(String(value.text)) : value;
}
