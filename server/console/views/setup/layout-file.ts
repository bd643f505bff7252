/** A layout file that a person has chosen. */
import { TEXTS } from "../../texts.ts";

export interface LayoutFile {
  /** JSON, as the server takes it. */
  readonly text: string;
  readonly seats: number;
  readonly sections: number;
  readonly areas: number;
}

const GZIP_MAGIC = [0x1f, 0x8b];

/** @throws Error with a text for people when it is no layout. */
export async function readLayoutFile(file: File): Promise<LayoutFile> {
  const text = await textOf(file);
  const layout = parse(text);
  const { sectors, rows, seats } = layout;
  if (!Array.isArray(sectors) || !Array.isArray(rows) || !Array.isArray(seats)) {
    throw new Error(TEXTS.setup.noLayout);
  }
  const areas = sectors.filter((sector: { ga?: boolean }) => sector.ga === true).length;
  return { text, seats: seats.length, sections: sectors.length - areas, areas };
}

async function textOf(file: File): Promise<string> {
  const start = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const isCompressed = GZIP_MAGIC.every((byte, i) => start[i] === byte);
  if (!isCompressed) return file.text();
  return new Response(file.stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    return (JSON.parse(text) ?? {}) as Record<string, unknown>;
  } catch {
    throw new Error(TEXTS.setup.unreadable);
  }
}
