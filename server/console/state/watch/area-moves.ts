/** How many places of each area a change moves: changes name only the counts after them. */
import type { AreaState } from "../../../client/changes.ts";
import type { AreaCounts } from "../../map/live-seats.ts";
import type { MovedPlaces } from "./happenings.ts";

export class AreaMoves {
  readonly #before: (AreaCounts | undefined)[];

  /** @param areas - The counts before the first change, if they are known. Index: area. */
  constructor(areas: readonly AreaCounts[] = []) {
    this.#before = [...areas];
  }

  /** @param areaOf - The index of an area by its id. */
  moved(after: readonly AreaState[], areaOf: (id: number) => number | undefined): MovedPlaces[] {
    return after.flatMap((counts) => {
      const area = areaOf(counts.groupOfSeatsId);
      if (area === undefined) return [];
      const before = this.#before[area];
      this.#before[area] = counts;
      if (before === undefined) return [{ area, places: 0 }];
      const places = difference(before, counts);
      return places === 0 ? [] : [{ area, places }];
    });
  }
}

/** What leaves one state enters another, so the largest difference is what moved. */
function difference(before: AreaCounts, after: AreaCounts): number {
  const states = ["active", "locked", "sold", "blocked"] as const;
  return Math.max(...states.map((state) => Math.abs(after[state] - before[state])));
}
