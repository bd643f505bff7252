/** The metrics of a server, read strictly: anything that Prometheus would not accept throws. */

export interface Family {
  readonly type: string;
  readonly help: string;
  /** By name and labels. */
  readonly samples: Map<string, number>;
}

const HEAD = /^# (HELP|TYPE) ([a-zA-Z_][a-zA-Z0-9_]*) (.+)$/;
const SAMPLE = /^(([a-zA-Z_][a-zA-Z0-9_]*)(?:\{(.*)\})?) (-?[\d.]+(?:e[+-]\d+)?|\+Inf|NaN)$/;
const LABELS = /^(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"(?:,(?!$)|$))*$/;
const PARTS = /_(bucket|sum|count)$/;

/** @throws Error naming the first line that is not valid. */
export function readFamilies(text: string): ReadonlyMap<string, Family> {
  const families = new Map<string, Family>();
  const helps = new Map<string, string>();
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [, kind, name, rest] = HEAD.exec(line) ?? [];
    if (kind === "HELP") {
      if (helps.has(name!)) throw new Error(`a second HELP: ${line}`);
      helps.set(name!, rest!);
    } else if (kind === "TYPE") {
      const help = helps.get(name!);
      if (help === undefined || families.has(name!)) throw new Error(`TYPE out of place: ${line}`);
      families.set(name!, { type: rest!, help, samples: new Map() });
    } else addSample(families, line);
  }
  for (const name of helps.keys()) if (!families.has(name)) throw new Error(`no TYPE: ${name}`);
  return families;
}

function addSample(families: ReadonlyMap<string, Family>, line: string): void {
  const [, series, name, labels = "", value] = SAMPLE.exec(line) ?? [];
  if (series === undefined || !LABELS.test(labels)) throw new Error(`not a sample: ${line}`);
  const owner = families.get(name!) ?? families.get(name!.replace(PARTS, ""));
  if (owner === undefined) throw new Error(`a sample without a TYPE before it: ${line}`);
  if (families.has(name!) === (owner.type === "histogram"))
    throw new Error(`not its type: ${line}`);
  if (owner.samples.has(series)) throw new Error(`the series comes twice: ${line}`);
  owner.samples.set(series, Number(value!.replace("+Inf", "Infinity")));
}
