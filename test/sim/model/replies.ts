/** Rules of the stored replies in memory, for any choice of dropped bodies. */
import type { State } from "../../../engine/state.ts";
import {
  BODY_IN_MEMORY_MAX,
  diskBytesOf,
  type LayoutVersion,
  ownerOf,
  type ReplyBudget,
  type ReplyRow,
} from "../../../engine/stored-replies.ts";

/** A reply stored with its key. */
export interface KeptReply {
  /** The sequence number of its record. */
  readonly sequence: number;
  readonly body: string;
  readonly expiresAtMs: number;
  /** The layout in place of the body. */
  readonly layout?: LayoutVersion | undefined;
  /** The log had no space for the body. */
  readonly lacksBody?: boolean;
}

/** True for the row of the reply: with its body, or after the body was dropped. */
export function isRowOf(row: ReplyRow | undefined, { body, layout }: KeptReply): boolean {
  if (row === undefined) return false;
  if (layout !== undefined) {
    const { schemaId, version } = row.layout ?? {};
    return schemaId === layout.schemaId && version === layout.version;
  }
  if (body.length <= BODY_IN_MEMORY_MAX) return row.body === body;
  return row.body === null && (row.bodyLength ?? body.length) === body.length;
}

/** True when a retry may be answered without the reply. */
export function mayBeGone({ catalog }: State, id: string, { body, layout }: KeptReply): boolean {
  if (layout !== undefined) {
    const { version = 0 } = catalog.layouts.get(layout.schemaId) ?? {};
    return version !== layout.version;
  }
  return body.length > BODY_IN_MEMORY_MAX && catalog.replies.get(id)?.bodyLength === undefined;
}

/** @returns A fault of the bodies on disk; null for none. */
export function budgetProblem({ catalog }: State, budget: ReplyBudget): string | null {
  const used = new Map<string, number>();
  let all = 0;
  for (const { id, bodyLength } of catalog.replies.values()) {
    if (bodyLength === undefined) continue;
    const bytes = diskBytesOf(bodyLength);
    all += bytes;
    used.set(ownerOf(id), (used.get(ownerOf(id)) ?? 0) + bytes);
  }
  const { disk } = catalog.storedReplies;
  if (disk !== all) return `${disk} bytes are counted, not ${all}`;
  if (disk > budget.disk) return `${disk} bytes in all`;
  const tooMuch = [...used].find(([, bytes]) => bytes > budget.diskOfOwner);
  return tooMuch === undefined ? null : `${tooMuch[1]} bytes of ${tooMuch[0]}`;
}

/** @returns A dropped body younger than a kept one of its owner; null for none. */
export function unfairlyDropped({ catalog }: State, kept: ReadonlyMap<string, KeptReply>) {
  const hasKept = new Set<string>();
  for (const { id, bodyLength } of catalog.replies.values()) {
    const reply = kept.get(id);
    const isLong = (reply?.body.length ?? 0) > BODY_IN_MEMORY_MAX;
    if (reply === undefined || reply.layout !== undefined || !isLong) continue;
    if (reply.lacksBody === true) continue;
    if (bodyLength !== undefined) hasKept.add(ownerOf(id));
    else if (hasKept.has(ownerOf(id))) return id;
  }
  return null;
}
