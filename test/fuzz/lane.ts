/** A process of the fuzzer: plays rounds and reports to its parent. */
import { keptCases } from "./found.ts";
import { play, type Played, recipesOf } from "./round.ts";

/** What a process is to play: rounds by seed, or the cases that were found before. */
export type Share =
  | { readonly rounds: readonly { readonly seed: number; readonly count: number }[] }
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
  for (const { seed, name, recipes } of tasksOf(share)) {
    let done = 0;
    const played = await play(recipes(), () => {
      done += 1;
      if (done % TELL_EVERY === 0) tell({ kind: "going", done: TELL_EVERY });
    });
    tell({ kind: "played", seed, name, played });
    if (played.found !== null) break;
  }
  process.disconnect();
}

function tasksOf(share: Share) {
  if ("cases" in share) {
    return keptCases().map(({ found, recipes }) => ({
      seed: 0,
      name: found,
      recipes: () => recipes,
    }));
  }
  return share.rounds.map(({ seed, count }) => ({
    seed,
    name: `seed ${seed}`,
    recipes: () => recipesOf(seed, count),
  }));
}

function tell(message: Message): void {
  process.send!(message);
}
