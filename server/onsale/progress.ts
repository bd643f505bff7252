/** The progress line of a run, for a terminal. */
import type { HoldWait } from "./crowd/sale.ts";
import { formatCount, type Paint, paintFor } from "./terminal.ts";

const DRAW_INTERVAL_MS = 250;
/** The rate is the average over this many intervals. */
const RATE_INTERVALS = 8;
const MS_PER_SECOND = 1_000;
const BAR_COLUMNS_MIN = 10;
const BAR_COLUMNS_MAX = 40;
/** The width of a terminal that does not report one. */
const COLUMNS_DEFAULT = 80;
const ERASE_TO_END_OF_LINE = "\u001B[K";

export interface SaleProgress {
  /** Seats and places bought in this run. */
  readonly soldCount: number;
  /** Seats and places that were free or held at the start. */
  readonly totalCount: number;
  /** Time until the limit. */
  readonly msLeft: number;
  /** p99 of the booking calls since the previous draw; undefined without calls. */
  readonly p99Ms: number | undefined;
  readonly holdWait: HoldWait | undefined;
}

type Figures = SaleProgress & { readonly perSecond: number };

export class ProgressLine {
  readonly #stream: NodeJS.WriteStream;
  readonly #paint: Paint;
  readonly #readProgress: () => SaleProgress;
  #timer: NodeJS.Timeout | undefined;
  /** The last draws, oldest first. */
  readonly #samples: { readonly atMs: number; readonly soldCount: number }[] = [];
  #p99Ms: number | undefined;

  /** Draws the line regularly until `stop`. Draws nothing if the stream is not a terminal. */
  constructor(stream: NodeJS.WriteStream, readProgress: () => SaleProgress) {
    this.#stream = stream;
    this.#paint = paintFor(stream);
    this.#readProgress = readProgress;
    if (!stream.isTTY) return;
    this.#timer = setInterval(() => this.#draw(), DRAW_INTERVAL_MS);
    this.#draw();
  }

  /** Erases the line. */
  stop(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#stream.write(`\r${ERASE_TO_END_OF_LINE}`);
  }

  #draw(): void {
    const progress = this.#readProgress();
    this.#p99Ms = progress.p99Ms ?? this.#p99Ms;
    const now = { atMs: performance.now(), soldCount: progress.soldCount };
    this.#samples.push(now);
    if (this.#samples.length > RATE_INTERVALS + 1) this.#samples.shift();
    const { atMs, soldCount } = this.#samples[0]!;
    const perSecond = ((now.soldCount - soldCount) / (now.atMs - atMs || 1)) * MS_PER_SECOND;
    const columns = this.#stream.columns || COLUMNS_DEFAULT;
    const figures = { ...progress, p99Ms: this.#p99Ms, perSecond };
    const line = formatProgress(figures, columns, this.#paint);
    this.#stream.write(`\r${line}${ERASE_TO_END_OF_LINE}`);
  }
}

/** @returns A line shorter than the terminal is wide, so that the next draw overwrites it. */
export function formatProgress(figures: Figures, columns: number, paint: Paint): string {
  const { soldCount, totalCount, holdWait } = figures;
  const share = totalCount === 0 ? 1 : soldCount / totalCount;
  const total = formatCount(totalCount);
  const text = [
    `${Math.floor(share * 100)} %`.padStart(6),
    `${formatCount(soldCount).padStart(total.length)} of ${total} sold`,
    holdWait === undefined ? formatRates(figures) : formatHoldWait(holdWait),
  ].join("  ");
  const barColumns = Math.min(BAR_COLUMNS_MAX, columns - 1 - text.length);
  if (barColumns < BAR_COLUMNS_MIN) return text.trimStart().slice(0, columns - 1);
  const filled = Math.round(share * barColumns);
  return paint("cyan", "█".repeat(filled)) + "░".repeat(barColumns - filled) + text;
}

/** Padded, so that the bar keeps its width. */
function formatRates({ soldCount, totalCount, msLeft, p99Ms, perSecond }: Figures): string {
  const saleMs = ((totalCount - soldCount) / perSecond) * MS_PER_SECOND;
  const eta = perSecond > 0 ? formatSeconds(Math.min(saleMs, msLeft)) : "-";
  const p99 = p99Ms === undefined ? "-" : `${p99Ms.toFixed(1)} ms`;
  const rate = `${formatCount(perSecond)}/s`;
  return `${rate.padStart(7)}  ETA ${eta.padStart(5)}  p99 ${p99.padStart(9)}`;
}

function formatHoldWait({ count, msLeft }: HoldWait): string {
  return `waiting ${formatSeconds(msLeft)} for ${formatCount(count)} held by others`;
}

function formatSeconds(durationMs: number): string {
  return `${Math.ceil(Math.max(0, durationMs) / MS_PER_SECOND)} s`;
}
