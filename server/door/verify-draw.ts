/** `frontrow verify-draw`: recomputes a draw from what a door publishes. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { drain } from "../../engine/inventory/steps.ts";
import { UsageError } from "../program.ts";
import { Draw, EntryChain } from "./draw.ts";
import { entryOf } from "./keys.ts";

const SEED = /^[0-9a-f]{64}$/;
const ENTRY = /^[0-9a-f]{32}$/;

interface Status {
  readonly eventId?: unknown;
  readonly now?: unknown;
  readonly opensAt?: unknown;
  readonly draw?: unknown;
  readonly beacon?: { readonly name?: unknown; readonly value?: unknown } | null;
  readonly joined?: unknown;
  readonly drawn?: unknown;
  readonly joinedHash?: unknown;
  readonly commitment?: unknown;
  readonly seed?: unknown;
}

/** What is checked beside the draw itself. */
interface Question {
  /** A visitor's id, or its entry. */
  readonly visitor?: string | undefined;
  /** A status that was read before, JSON. */
  readonly seen?: string | undefined;
}

/** The outcome, as lines for a person. */
interface Verdict {
  readonly isRight: boolean;
  readonly lines: readonly string[];
}

/** @param source - A file or an address. */
async function textOf(source: string): Promise<string> {
  if (!/^https?:/.test(source)) return await readFile(source, "utf8");
  const response = await fetch(source);
  if (!response.ok) throw new UsageError(`${source} answered ${response.status}`);
  return await response.text();
}

/**
 * @param status - The status of the door, JSON.
 * @param entries - The drawn entries, one a line.
 * @throws UsageError for a door without a draw, or before its opening.
 */
export function judgeDraw(
  status: string,
  entries: string,
  { visitor, seen }: Question = {},
): Verdict {
  const now = statusOf(status);
  const { draw, drawn, commitment, seed } = now;
  if (draw !== true) throw new UsageError("the door has no draw: its places go by arrival");
  if (typeof seed !== "string" || !SEED.test(seed)) {
    throw new UsageError("the status has no seed: the draw is published at the opening");
  }
  const lines: string[] = [];
  let isRight = true;
  const say = (isTrue: boolean, yes: string, no: string) => {
    isRight &&= isTrue;
    lines.push(isTrue ? yes : no);
  };
  const bytes = Buffer.from(seed, "hex");
  const promised = createHash("sha256").update(bytes).digest("hex");
  say(
    promised === commitment,
    "The seed is the one that was promised.",
    `The seed is not the one that was promised: its SHA-256 is ${promised}.`,
  );
  const listed = entries.split(/\r?\n/).filter((line) => line !== "");
  const isList = listed.every((line) => ENTRY.test(line));
  const isWhole = isList && listed.length === drawn && new Set(listed).size === listed.length;
  say(
    isWhole,
    `All ${listed.length} drawn entries are listed, each once.`,
    `The list is not that of the draw: it has ${listed.length} lines for ${String(drawn)} entries.`,
  );
  const entryAt = (i: number) => Buffer.from(listed[i]!, "hex");
  const beacon = now.beacon ?? null;
  const value = typeof beacon?.value === "string" ? beacon.value : null;
  if (beacon !== null) {
    say(
      value !== null,
      `The beacon "${String(beacon.name)}" has the value "${String(value)}": compare it with its source.`,
      `The beacon "${String(beacon.name)}" did not come in time: the seed alone has drawn.`,
    );
  }
  if (!isWhole) return { isRight, lines };
  const chain = new EntryChain(entryAt);
  if (seen !== undefined) judgeSeen(statusOf(seen), now, chain, say);
  drain(chain.follow(listed.length));
  say(
    chain.hash === now.joinedHash,
    "The list is the one whose hash the status has.",
    `The list is not the one whose hash the status has: its hash is ${chain.hash}.`,
  );
  if (visitor === undefined) return { isRight, lines };
  const entry = ENTRY.test(visitor) ? visitor : entryOf(visitor).toString("hex");
  const index = listed.indexOf(entry);
  const order = drain(new Draw(bytes, entryAt, value).order(listed.length));
  say(
    index !== -1,
    `The entry ${entry} has place ${order.indexOf(index) + 1} of ${listed.length}.`,
    `The entry ${entry} was not drawn: it joined after the opening, or at another door.`,
  );
  return { isRight, lines };
}

type Say = (isTrue: boolean, yes: string, no: string) => void;

/** Compares an earlier status with what was published at the opening. @param chain - A new one. */
function judgeSeen(seen: Status, now: Status, chain: EntryChain, say: Say): void {
  const { joined, joinedHash } = seen;
  if (seen.eventId !== now.eventId) throw new UsageError("--seen is the status of another event");
  say(
    seen.commitment === now.commitment && seen.beacon?.name === now.beacon?.name,
    "The commitment and the name of the beacon are those that were seen.",
    "The door is another one than was seen: its commitment or the name of its beacon has changed.",
  );
  // From opensAt on the draw is complete, and who joins is counted beside it.
  const isComplete = String(seen.now) >= String(seen.opensAt);
  const count = Number(isComplete ? now.drawn : joined);
  const isThere = Number.isInteger(count) && count <= Number(now.drawn);
  if (isThere) drain(chain.follow(count));
  say(
    isThere && chain.hash === joinedHash,
    `The first ${count} entries are those that were seen.`,
    `The first ${count} entries are not those that were seen.`,
  );
}

function statusOf(text: string): Status {
  try {
    return JSON.parse(text) as Status;
  } catch {
    throw new UsageError("the status is no JSON: give GET /door/{eventId}/status");
  }
}

/** @returns The exit code: 1 for a draw that is not right. */
export async function verifyDraw(
  status: string,
  entries: string,
  { visitor, seen }: Question,
): Promise<number> {
  const [statusText, entryText, seenText] = await Promise.all([
    textOf(status),
    textOf(entries),
    seen === undefined ? undefined : textOf(seen),
  ]);
  const { isRight, lines } = judgeDraw(statusText, entryText, { visitor, seen: seenText });
  process.stdout.write(lines.map((line) => `${line}\n`).join(""));
  return isRight ? 0 : 1;
}
