/** The colours of the map: read from the style sheet once for each theme, and mixed once. */

export interface Palette {
  readonly ground: string;
  readonly block: string;
  readonly edge: string;
  readonly ink: string;
  readonly faint: string;
  readonly pill: string;
  readonly accent: string;
  readonly free: string;
  readonly freeRing: string;
  readonly held: string;
  readonly heldHole: string;
  readonly sold: string;
  readonly soldText: string;
  readonly blocked: string;
  readonly blockedMark: string;
  readonly unpriced: string;
  readonly stage: string;
  readonly stageText: string;
  /** Index: price. */
  readonly prices: readonly string[];
  /** Of sold seats: a fifth of the hue. */
  readonly pricesFaded: readonly string[];
  /** Of held seats by price. */
  readonly heldInk: string;
}

const PRICE_COUNT = 10;
const FADED_SHARE = 0.2;

/** @param read - The value of a custom property, as `--map-free`: `#rrggbb`. */
export function readPalette(read: (name: string) => string): Palette {
  const colour = (name: string) => read(`--map-${name}`).trim();
  const block = colour("block");
  const prices = Array.from({ length: PRICE_COUNT }, (_, i) => colour(`price-${i}`));
  return {
    ground: colour("ground"),
    block,
    edge: colour("edge"),
    ink: colour("ink"),
    faint: colour("faint"),
    pill: colour("pill"),
    accent: colour("accent"),
    free: colour("free"),
    freeRing: colour("free-ring"),
    held: colour("held"),
    heldHole: colour("held-hole"),
    sold: colour("sold"),
    soldText: colour("sold-text"),
    blocked: colour("blocked"),
    blockedMark: colour("blocked-mark"),
    unpriced: colour("unpriced"),
    stage: colour("stage"),
    stageText: colour("stage-text"),
    prices,
    pricesFaded: prices.map((price) => mix(price, block, FADED_SHARE)),
    heldInk: colour("held-ink"),
  };
}

/** @param share - Of the first colour. */
export function mix(first: string, second: string, share: number): string {
  const [a, b] = [channels(first), channels(second)];
  const mixed = a.map((value, i) => Math.round(value * share + b[i]! * (1 - share)));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

function channels(colour: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) || 0);
}
