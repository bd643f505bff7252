/** Reduces the list of requests that show a fault. */
import type { Recipe } from "./recipe.ts";
import { play } from "./round.ts";

/** Each plays on a new store, which takes a second or two. */
const TRIES_MAX = 80;

/** @returns As few of the requests as still show a fault when they are played alone. */
export async function smallest(
  recipes: readonly Recipe[],
  crowd: number,
): Promise<readonly Recipe[]> {
  let tries = 0;
  const shows = async (some: readonly Recipe[]) => {
    tries += 1;
    return tries <= TRIES_MAX && (await play(some, { crowd })).found !== null;
  };
  let least = recipes;
  for (let count = 1; count < recipes.length; count *= 4) {
    const last = recipes.slice(-count);
    if (!(await shows(last))) continue;
    least = last;
    break;
  }
  if (least === recipes) return recipes;
  for (let size = least.length >> 1; size > 0; size >>= 1) {
    for (let from = 0; from < least.length;) {
      const fewer = least.toSpliced(from, size);
      if (fewer.length > 0 && (await shows(fewer))) least = fewer;
      else from += size;
    }
  }
  return least;
}
