/** `frontrow verify-draw`: recomputes a draw from what a door publishes. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { drain } from "../../engine/inventory/steps.ts";
import { UsageError } from "../program.ts";
import { Draw } from "./draw.ts";
import { entryOf } from "./keys.ts";

const SEED = /^[0-9a-f]{64}$/;
const ENTRY = /^[0-9a-f]{32}$/;

interface Status {
  readonly draw?: unknown;
  readonly drawn?: unknown;
  readonly commitment?: unknown;
  readonly seed?: unknown;
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
 * @param visitor - A visitor's id, or its entry.
 * @throws UsageError for a door without a draw, or before its opening.
 */
export function judgeDraw(status: string, entries: string, visitor?: string): Verdict {
  const { draw, drawn, commitment, seed } = statusOf(status);
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
  if (visitor === undefined || !isWhole) return { isRight, lines };
  const entry = ENTRY.test(visitor) ? visitor : entryOf(visitor).toString("hex");
  const index = listed.indexOf(entry);
  const order = drain(new Draw(bytes, (i) => Buffer.from(listed[i]!, "hex")).order(listed.length));
  say(
    index !== -1,
    `The entry ${entry} has place ${order.indexOf(index) + 1} of ${listed.length}.`,
    `The entry ${entry} was not drawn: it joined after the opening, or at another door.`,
  );
  return { isRight, lines };
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
  visitor: string | undefined,
): Promise<number> {
  const [statusText, entryText] = await Promise.all([textOf(status), textOf(entries)]);
  const { isRight, lines } = judgeDraw(statusText, entryText, visitor);
  process.stdout.write(lines.map((line) => `${line}\n`).join(""));
  return isRight ? 0 : 1;
}
