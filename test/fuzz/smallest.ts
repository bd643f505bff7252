/** Makes the list of requests that show a fault shorter. */
import type { Recipe } from "./recipe.ts";
import { play } from "./round.ts";

/** @returns The last requests, as few as still show a fault when they are played alone. */
export async function smallest(recipes: readonly Recipe[]): Promise<readonly Recipe[]> {
  for (let count = 1; count < recipes.length; count *= 4) {
    const last = recipes.slice(-count);
    if ((await play(last)).found !== null) return last;
  }
  return recipes;
}
