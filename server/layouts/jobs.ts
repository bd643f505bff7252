/** The work of the layout thread: everything that visits each object of a large layout. */
import { gzipSync } from "node:zlib";
import { assert } from "../../engine/assert.ts";
import { COMMANDS } from "../../engine/commands.ts";
import { type Copy, copyOriginal, type Original } from "../../engine/layout/change/copy-schema.ts";
import { checkDrawing } from "../../engine/layout/change/drawing-members.ts";
import { type PreparedLayout, prepareLayout } from "../../engine/layout/change/prepare-layout.ts";
import type { LayoutDocument } from "../../engine/layout/layout-document.ts";
import { columnsOf, type LayoutColumns } from "../../engine/layout/layout-columns.ts";
import { documentBytes, jsonPieces } from "../../engine/layout/change/layout-json.ts";
import { buildLayout, EMPTY_DOCUMENT } from "../../engine/layout/layout.ts";
import type { FieldError } from "../../engine/results.ts";
import type { ZonesOfSchema } from "../../engine/layout/zone-table.ts";
import type { LayoutBody } from "../../engine/shapes/bodies.ts";
import type { MetadataOptions } from "../routing/services.ts";
import { checksOf } from "../routing/validate.ts";
import { geometryOf } from "./geometry.ts";
import { metadataView } from "./metadata.ts";
import { sharingTexts } from "./shared-texts.ts";
import { freePages, LONG_BYTES, pagesFor } from "../wire/bounds/body-budget.ts";
import { parseLongJson } from "../wire/json.ts";
import { errorsAsSent } from "../wire/number-literals.ts";
import { groupViews } from "../wire/views.ts";

/** How packed layouts are read and written. */
export interface Packing {
  readonly pack: (json: Uint8Array) => Uint8Array;
  /** @param use - Reads the JSON of a packed layout, which is gone afterwards. */
  readonly unpack: <Value>(packed: Uint8Array, use: (json: Buffer) => Value) => Value;
  /** @param itemOf - As in `parseInPieces`. */
  readonly read: (packed: Uint8Array, itemOf?: (item: unknown) => unknown) => LayoutDocument;
}

interface Next {
  readonly nextId: number;
  readonly timeMs: number;
}

/** By kind: what a job needs. `stored` is a packed layout. */
interface Jobs {
  /** Reads and checks the body of a request, and merges it into the stored layout. */
  readonly prepare: {
    /** The body. The job takes them out: a large body must not be in memory twice. */
    readonly parts: Uint8Array[];
    /** Whether an earlier job has packed the body. */
    readonly isPacked: boolean;
    readonly stored: Uint8Array | null;
    readonly next: Next;
  };
  readonly copy: {
    readonly stored: Uint8Array;
    readonly original: Omit<Original, "document">;
    readonly next: Next;
  };
  /** The layout as JSON. */
  readonly show: { readonly stored: Uint8Array };
  readonly showGroups: {
    readonly stored: Uint8Array;
    readonly schemaId: number;
    readonly zones: ZonesOfSchema;
    readonly parentId: number | undefined;
    readonly type: string | undefined;
  };
  readonly showMetadata: { readonly stored: Uint8Array; readonly options: MetadataOptions };
  /** The geometry as JSON, compressed by gzip. */
  readonly showGeometry: {
    readonly stored: Uint8Array;
    readonly schemaId: number;
    readonly version: number;
  };
}

/** A layout that can be stored: packed, and as a seat index. */
interface Made {
  readonly packed: Uint8Array;
  readonly columns: LayoutColumns;
}

/** The layout of a body: not valid, as it is stored already, or new. */
export type Prepared =
  | { readonly kind: "malformed"; readonly reason: string }
  | { readonly kind: "invalid"; readonly errors: readonly FieldError[] }
  | { readonly kind: "same"; readonly json: Uint8Array }
  | (Made & {
      readonly kind: "new";
      readonly json: Uint8Array;
      readonly newIds: number;
      readonly goneIds: readonly number[];
      readonly goneAreaIds: readonly number[];
      /** The body, packed: the layout may have to be prepared again. */
      readonly body: Uint8Array;
    });

interface Results {
  readonly prepare: Prepared;
  readonly copy: Made & { readonly copy: Omit<Copy, "document"> };
  readonly show: Uint8Array;
  readonly showGroups: Uint8Array;
  readonly showMetadata: Uint8Array;
  readonly showGeometry: Uint8Array;
}

export type JobKind = keyof Jobs;
export type JobOf<K extends JobKind> = { [J in K]: { readonly kind: J } & Jobs[J] }[K];
export type ResultOf<K extends JobKind> = Results[K];

const LAYOUT_CHECKS = checksOf({ body: COMMANDS.putLayout.members.body });

/** Cost: O(objects and bytes of the layout), seconds for the largest. */
export function doJob(job: JobOf<JobKind>, packing: Packing): ResultOf<JobKind> {
  switch (job.kind) {
    case "prepare":
      return prepare(job, packing);
    case "copy":
      return copy(job, packing);
    case "show":
      return packing.unpack(job.stored, copyOf);
    case "showGroups": {
      const { schemaId, zones, parentId, type } = job;
      const groups = groupViews(schemaId, packing.read(job.stored), zones)
        .filter((group) => parentId === undefined || group.parentId === parentId)
        .filter((group) => type === undefined || group.type === type);
      return bytesOf(groups);
    }
    case "showMetadata": {
      const document = packing.read(job.stored);
      return bytesOf(metadataView(document, buildLayout(document), job.options));
    }
    case "showGeometry": {
      const { stored, schemaId, version } = job;
      const geometry = geometryOf(packing.read(stored), { schemaId, version });
      return Uint8Array.from(gzipSync(bytesOf(geometry)));
    }
  }
  return job satisfies never;
}

function prepare(job: Jobs["prepare"], packing: Packing): Prepared {
  // Nothing here refers to the body or the stored layout, which take as much memory as the result.
  const merged = merge(job, packing);
  if ("kind" in merged) return merged;
  const { document, isChanged, newIds, goneIds, goneAreaIds, sent } = merged;
  const json = jsonOf(document);
  if (!isChanged) return { kind: "same", json };
  const columns = columnsOf(buildLayout(document));
  const made = { packed: packing.pack(json), columns, json };
  return { kind: "new", ...made, newIds, goneIds, goneAreaIds, body: sent };
}

type Refused = Extract<Prepared, { readonly kind: "malformed" | "invalid" }>;

/** A body that was merged into the stored layout, and the same body packed. */
type Merged = Omit<PreparedLayout, "errors"> & { readonly sent: Uint8Array };

function merge(job: Jobs["prepare"], packing: Packing): Merged | Refused {
  const given = joined(job.parts);
  job.parts.length = 0;
  if (!job.isPacked) return mergeBody(given, job, packing);
  return packing.unpack(given, (bytes) => mergeBody(bytes, job, packing));
}

function mergeBody(
  bytes: Buffer,
  { stored, next }: Jobs["prepare"],
  packing: Packing,
): Merged | Refused {
  const parsed = parseLongJson(bytes);
  const length = bytes.length;
  const short = length <= LONG_BYTES ? bytes : null;
  // From here on, a long body is not in memory besides its objects.
  const sent = parsed.ok ? packing.pack(bytes) : bytes;
  if (short === null) freePages(bytes);
  if (!parsed.ok) return { kind: "malformed", reason: parsed.reason };
  const body = parsed.isAscii ? parsed.value : LAYOUT_CHECKS.compose(parsed.value);
  const invalid = LAYOUT_CHECKS.body(body, length);
  if (invalid.length > 0) return { kind: "invalid", errors: errorsAsSent(invalid, short) };
  // The body has passed the shape of a layout.
  const layout = body as LayoutBody;
  const tooLong = checkDrawing(layout);
  if (tooLong.length > 0) return { kind: "invalid", errors: tooLong };
  const before = stored === null ? EMPTY_DOCUMENT : packing.read(stored, sharingTexts(layout));
  const { errors, ...prepared } = prepareLayout(before, layout, next);
  if (errors.length > 0) return { kind: "invalid", errors: errorsAsSent(errors, short) };
  return { ...prepared, isChanged: prepared.isChanged || stored === null, sent };
}

/** Without a copy when there is one part. */
function joined(parts: readonly Uint8Array[]): Buffer {
  const [first] = parts;
  if (parts.length !== 1 || first === undefined) return Buffer.concat(parts);
  return Buffer.from(first.buffer, first.byteOffset, first.byteLength);
}

function copy({ stored, original, next }: Jobs["copy"], packing: Packing): ResultOf<"copy"> {
  const whole = { ...original, document: packing.read(stored) };
  const { document, ...rest } = copyOriginal(whole, next);
  const copied = document ?? EMPTY_DOCUMENT;
  const columns = columnsOf(buildLayout(copied));
  const packed = packing.pack(jsonOf(copied));
  return { packed, columns, copy: rest };
}

function jsonOf(document: LayoutDocument): Buffer {
  const bytes = documentBytes(document);
  const json = bytes < LONG_BYTES ? Buffer.allocUnsafeSlow(bytes) : Buffer.from(pagesFor(bytes));
  let length = 0;
  for (const piece of jsonPieces(document)) length += json.write(piece, length);
  assert(length === json.length, "a layout is written to its last byte");
  return json;
}

/** In memory of its own, which can move to another thread. */
function copyOf(json: Uint8Array): Uint8Array {
  if (json.length < LONG_BYTES) return Uint8Array.from(json);
  const copied = new Uint8Array(pagesFor(json.length));
  copied.set(json);
  return copied;
}

function bytesOf(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

/** The memory in a job or a result that moves to the other thread instead of being copied. */
export function buffersIn(value: unknown): ArrayBuffer[] {
  if (ArrayBuffer.isView(value)) {
    // A short view may be part of memory that others use.
    const isWhole = value.byteLength === value.buffer.byteLength;
    return isWhole && value.buffer instanceof ArrayBuffer ? [value.buffer] : [];
  }
  if (value === null || typeof value !== "object") return [];
  // Of lists, only those of bytes: others may be long, and hold numbers or texts.
  if (Array.isArray(value) && !ArrayBuffer.isView(value[0])) return [];
  return [...new Set(Object.values(value).flatMap(buffersIn))];
}
