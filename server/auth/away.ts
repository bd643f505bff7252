/** Requests about an organization that is in another cell, or on its way. */
import { isRefused, Result } from "../../engine/results.ts";
import type { Caller } from "../../engine/shapes/caller.ts";
import type { Problem } from "../wire/answers.ts";
import type { RequestHead } from "../wire/front.ts";
import type { Route } from "../routing/route.ts";
import type { Services } from "../routing/services.ts";

/**
 * 307, not 308: the organization may come back, and the address that the client knows stays right,
 * because its proxy gets another route table.
 *
 * @returns Null when this cell answers. An organization that is about to leave is still read here,
 * and the engine refuses its changes. The history before a move stays in the cell that has it.
 */
export function refuseAway(
  { engine }: Services,
  { isHistory }: Route,
  { organizationId }: Caller,
  { path, query }: RequestHead,
): Problem | null {
  const { away } = engine.state.catalog;
  const move = away.size === 0 ? undefined : away.get(organizationId);
  if (move === undefined || move.phase === "LEAVING") return null;
  if (move.phase === "ARRIVING") {
    const detail = "The organization has not arrived in this cell yet. Try again in a second.";
    return { refused: Result.ORGANIZATION_MOVING, detail };
  }
  if (isHistory === true) return null;
  const target = move.address + path + (query === "" ? "" : `?${query}`);
  return {
    refused: Result.ORGANIZATION_MOVED,
    detail: `The organization has moved to ${move.address}.`,
    headers: [["Location", target]],
  };
}

/** Whether a connection of the caller may stay open; null when its organization is elsewhere. */
export function admits({ engine }: Services, caller: Caller | Problem): boolean | null {
  if (isRefused(caller)) return false;
  return engine.state.catalog.away.get(caller.organizationId)?.phase === "LEFT" ? null : true;
}
