/** The programs of the guide's page about the calls of a shop: one in each language. */
import { readFileSync } from "node:fs";
import type { ServerProcess } from "./server-process.ts";

const PAGE = readFileSync("server/docs/guide/calls.md", "utf8");

/** Blocks of the page from the first step on, as one program. */
export function shopCallsIn(language: string): string {
  const [, steps = ""] = PAGE.split("## Begin\n");
  const blocks = steps.matchAll(/```(\w+)\n([^]*?)```/g);
  return [...blocks].flatMap(([, of, block]) => (of === language ? [block!] : [])).join("");
}

/** Lines that each program prints, by the page. */
export const PRINTED: readonly string[] = shopCallsIn("text").trim().split("\n");

/** The variables that the page names, for a server with a demo. */
export function shopOf({ url, key, eventId }: ServerProcess): Readonly<Record<string, string>> {
  return { FRONTROW_URL: url, FRONTROW_KEY: key, FRONTROW_EVENT: eventId };
}
