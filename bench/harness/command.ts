/** The command line of a benchmark, and the folder that it works in. */
import { Command, InvalidArgumentError, Option } from "commander";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";

/** Set by the tests: everything runs at toy size, so the figures mean nothing. */
export const isTrial = process.env["BENCH_TRIAL"] === "1";

export interface OptionSpec<Value> {
  /** The name of the value in the help text. */
  readonly placeholder: string;
  readonly initial: Value;
  /** The initial value in the help text, if it is not the value itself. */
  readonly shown?: string;
  readonly help: string;
  readonly parse: (text: string) => Value;
}

type OptionSpecs = Readonly<Record<string, OptionSpec<unknown>>>;
type OptionValues<Specs extends OptionSpecs> = {
  readonly [Name in keyof Specs]: Specs[Name]["initial"];
};

/** One list gives parsers, types and help. Wrong usage and `--help` end the process. */
export function parseOptions<Specs extends OptionSpecs>(
  name: string,
  description: string,
  specs: Specs,
): OptionValues<Specs> {
  const command = new Command(name).description(description);
  for (const [option, { placeholder, initial, shown, help, parse }] of Object.entries(specs)) {
    const flags = `--${option} <${placeholder}>`;
    command.addOption(
      new Option(flags, help).argParser(parse).default(initial, shown ?? String(initial)),
    );
  }
  return command.parse().opts<OptionValues<Specs>>();
}

export function number(initial: number, help: string): OptionSpec<number> {
  return { placeholder: "number", initial, help, parse: numberOf };
}

/** Several numbers with commas between them; the empty text for none. */
export function numbers(initial: readonly number[], help: string): OptionSpec<readonly number[]> {
  const parse = (text: string) => wordsOf(text, ",").map(numberOf);
  return { placeholder: "numbers", initial, help, parse };
}

/** The folder in which a benchmark creates its data folders and deletes them afterwards. */
export const folder: OptionSpec<string> = {
  placeholder: "path",
  initial: os.tmpdir(),
  help: "where to create the data folders; they are deleted at the end",
  parse: (text) => text,
};

export function wordsOf(text: string, separator: string): string[] {
  return text.split(separator).filter((word) => word !== "");
}

function numberOf(text: string): number {
  const value = Number(text);
  if (!(value >= 0)) throw new InvalidArgumentError("It is not a number.");
  return value;
}

/** The folder that `work` gets exists only as long as `work` runs. */
export async function inTemporaryFolder<Value>(
  parent: string,
  work: (folder: string) => Promise<Value>,
): Promise<Value> {
  const own = await mkdtemp(path.join(parent, "frontrow-bench-"));
  try {
    return await work(own);
  } finally {
    await rm(own, { recursive: true });
  }
}
