/** Command-line options of a benchmark: one list gives the parsers, the types and the help text. */
import { Command, InvalidArgumentError, Option } from "commander";
import os from "node:os";

/** Set by the tests: everything runs at toy size, so the figures mean nothing. */
export const isTrial = process.env["BENCH_TRIAL"] === "1";

export interface OptionSpec<Value> {
  /** The name of the value in the help text. */
  readonly placeholder: string;
  readonly initial: Value;
  readonly help: string;
  readonly parse: (text: string) => Value;
}

type OptionSpecs = Readonly<Record<string, OptionSpec<unknown>>>;
type OptionValues<Specs extends OptionSpecs> = {
  readonly [Name in keyof Specs]: Specs[Name]["initial"];
};

/** Parses the command line; wrong usage and `--help` end the process. */
export function parseOptions<Specs extends OptionSpecs>(
  name: string,
  description: string,
  specs: Specs,
): OptionValues<Specs> {
  const command = new Command(name).description(description);
  for (const [option, { placeholder, initial, help, parse }] of Object.entries(specs)) {
    const shown = Array.isArray(initial) ? initial.join(",") : String(initial);
    const flags = `--${option} <${placeholder}>`;
    command.addOption(new Option(flags, help).argParser(parse).default(initial, shown));
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
