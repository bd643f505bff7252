/** A process of the fuzzer: plays rounds and reports to its parent. */
import { keptCases } from "./found.ts";
import { GATEWAY_CROWD, gatewayRecipesOf, play, type Played, recipesOf } from "./round.ts";

/** Work of a process: rounds by seed, or the cases found before. */
export type Share =
  | {
      readonly rounds: readonly { readonly seed: number; readonly count: number }[];
      /** Requests to a gateway for each failure of its engine; null for the usual rounds. */
      readonly disturbEvery: number | null;
    }
  | { readonly cases: true };

export type Message =
  | { readonly kind: "going"; readonly done: number }
  | {
      readonly kind: "played";
      readonly seed: number;
      readonly name: string;
      readonly played: Played;
    };

/** Requests between two signs of life. */
const TELL_EVERY = 100;

process.once("message", (share: Share) => void work(share));
// Nobody reads any more what it would report.
process.once("disconnect", () => process.exit());

async function work(share: Share): Promise<void> {
  for (const { seed, name, recipes, crowd } of tasksOf(share)) {
    let done = 0;
    const onRecipe = () => {
      done += 1;
      if (done % TELL_EVERY === 0) void tell({ kind: "going", done: TELL_EVERY });
    };
    const played = await play(recipes(), { crowd, tell: onRecipe });
    // A disconnect discards messages that have not left.
    await tell({ kind: "played", seed, name, played });
    if (played.found !== null) break;
  }
  process.disconnect();
}

function tasksOf(share: Share) {
  if ("cases" in share) {
    return keptCases().map(({ found, recipes, crowd = 1 }) => ({
      seed: 0,
      name: found,
      recipes: () => recipes,
      crowd,
    }));
  }
  const { disturbEvery } = share;
  return share.rounds.map(({ seed, count }) => ({
    seed,
    name: `seed ${seed}`,
    recipes: () =>
      disturbEvery === null ? recipesOf(seed, count) : gatewayRecipesOf(seed, count, disturbEvery),
    crowd: disturbEvery === null ? 1 : GATEWAY_CROWD,
  }));
}

function tell(message: Message): Promise<void> {
  return new Promise((resolve) => {
    process.send!(message, undefined, {}, () => resolve());
  });
}
