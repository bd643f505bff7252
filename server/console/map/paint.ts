/**
 * Paints the content of a tile: blocks, stage and areas, then seats. Each state has its own shape,
 * and more ink means more taken. Seats of one look are one path, far cheaper than one by one.
 */
import type { Drawing } from "../../layouts/geometry-columns.ts";
import {
  type Area,
  type Box,
  boxOf,
  type Geometry,
  type Grid,
  outlineOfDrawing,
  overlap,
} from "./geometry.ts";
import { type AreaCounts, type LiveSeats, SeatState } from "./seats.ts";

const PRICE_COUNT = 10;
const FADED_SHARE = 0.2;
/** Narrower seats, in CSS pixels, fill their place. */
const MARK_PIXELS = 5;
/** Wider seats show their number. */
const NUMBER_PIXELS = 15;
const BREADTH = 0.41;
const LENGTH = 1.55;
const PATH_SEATS_MAX = 400;
/** Bucket key: `state × 256 + price`. */
const PRICES = 256;
const LETTER_PIXELS = 12;
/** Closer rows, in CSS pixels, have no letters. */
const LETTER_DEPTH_MIN = 11;

/** Read from the style sheet once for each theme, and mixed once. */
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

/** @param read - The value of a custom property, as `--map-free`: `#rrggbb`. */
export function readPalette(read: (name: string) => string): Palette {
  const colour = (name: string) => read(`--${name}`).trim();
  const block = colour("map-block");
  const prices = Array.from({ length: PRICE_COUNT }, (_, i) => colour(`map-price-${i}`));
  return {
    ground: colour("page"),
    block,
    edge: colour("map-edge"),
    ink: colour("text"),
    faint: colour("text-2"),
    pill: colour("map-pill"),
    accent: colour("accent"),
    free: colour("map-free"),
    freeRing: colour("map-free-ring"),
    held: colour("map-held"),
    heldHole: colour("map-held-hole"),
    sold: colour("map-sold"),
    soldText: colour("map-sold-text"),
    blocked: colour("map-blocked"),
    blockedMark: colour("map-blocked-mark"),
    unpriced: colour("map-unpriced"),
    stage: colour("map-stage"),
    stageText: colour("map-stage-text"),
    prices,
    pricesFaded: prices.map((price) => mix(price, block, FADED_SHARE)),
    heldInk: colour("map-held-ink"),
  };
}

/** @param share - Of the first colour. */
function mix(first: string, second: string, share: number): string {
  const [a, b] = [channels(first), channels(second)];
  const mixed = a.map((value, i) => Math.round(value * share + b[i]! * (1 - share)));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

function channels(colour: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) || 0);
}

type Canvas = CanvasRenderingContext2D;
export type Colouring = "state" | "price";

/** Maps layout units to pixels of a canvas. */
export interface Frame {
  readonly scale: number;
  /** Pixels of the layout's origin on the canvas. */
  readonly dx: number;
  readonly dy: number;
  /** Device pixels of one CSS pixel. */
  readonly ratio: number;
}

/** The seats. */
export class Marks {
  readonly geometry: Geometry;
  live: LiveSeats;
  palette: Palette;
  colouring: Colouring = "state";
  /** States excluded by the legend. */
  faded: ReadonlySet<number> = new Set();
  readonly #buckets = new Map<number, number[]>();

  constructor(geometry: Geometry, live: LiveSeats, palette: Palette) {
    this.geometry = geometry;
    this.live = live;
    this.palette = palette;
  }

  /** Largest distance of a mark from the centre of its seat, in layout units. */
  get reach(): number {
    return this.geometry.pitch * 2.5;
  }

  /** Paints the place of seats, to remove the earlier mark. */
  erase(canvas: Canvas, seats: readonly number[], frame: Frame): void {
    canvas.fillStyle = this.palette.block;
    this.#fill(canvas, seats, (seat) => this.#place(canvas, seat, frame, 1));
  }

  paint(canvas: Canvas, seats: readonly number[], frame: Frame): void {
    const { states, prices } = this.live;
    const byPrice = this.colouring === "price";
    for (const bucket of this.#buckets.values()) bucket.length = 0;
    for (const seat of seats) {
      const state = states[seat]!;
      const isPriced = state !== SeatState.UNPRICED && state !== SeatState.BLOCKED;
      const look = state * PRICES + (byPrice && isPriced ? prices[seat]! : 0);
      const bucket = this.#buckets.get(look);
      if (bucket === undefined) this.#buckets.set(look, [seat]);
      else bucket.push(seat);
    }
    const pixels = (this.geometry.pitch * frame.scale) / frame.ratio;
    for (const [look, bucket] of this.#buckets) {
      if (bucket.length === 0) continue;
      const state = Math.floor(look / PRICES);
      const colours = this.#coloursOf(state, look % PRICES);
      canvas.globalAlpha = this.faded.has(state) ? 0.12 : 1;
      if (pixels < MARK_PIXELS) this.#paintFar(canvas, bucket, frame, { state, ...colours });
      else this.#paintNear(canvas, bucket, frame, { state, ...colours });
      canvas.globalAlpha = 1;
    }
  }

  #coloursOf(state: number, price: number): Colours {
    const { palette } = this;
    const byPrice = this.colouring === "price";
    const hue = palette.prices[price % palette.prices.length]!;
    const faded = palette.pricesFaded[price % palette.prices.length]!;
    switch (state) {
      case SeatState.FREE:
        return byPrice
          ? { fill: hue, ring: null, text: palette.block }
          : { fill: palette.free, ring: palette.freeRing, text: palette.ink };
      case SeatState.HELD:
        return byPrice
          ? { fill: palette.heldInk, ring: hue, text: palette.block }
          : { fill: palette.held, ring: palette.heldHole, text: palette.heldHole };
      case SeatState.SOLD:
        return byPrice
          ? { fill: faded, ring: null, text: palette.faint }
          : { fill: palette.sold, ring: null, text: palette.soldText };
      case SeatState.BLOCKED:
        return { fill: palette.blocked, ring: palette.blockedMark, text: palette.blockedMark };
      default:
        return { fill: palette.unpriced, ring: null, text: palette.faint };
    }
  }

  #paintFar(canvas: Canvas, seats: readonly number[], frame: Frame, look: Look): void {
    canvas.fillStyle = look.fill;
    const share = look.state === SeatState.UNPRICED ? 0.4 : 0.94;
    this.#fill(canvas, seats, (seat) => this.#place(canvas, seat, frame, share));
  }

  #paintNear(canvas: Canvas, seats: readonly number[], frame: Frame, look: Look): void {
    const { state, fill, ring } = look;
    const pixels = (this.geometry.pitch * frame.scale) / frame.ratio;
    canvas.fillStyle = fill;
    if (state === SeatState.UNPRICED) {
      this.#fill(canvas, seats, (seat) => this.#dot(canvas, seat, frame, 0.28));
      return;
    }
    if (state === SeatState.BLOCKED) {
      this.#fill(canvas, seats, (seat) => this.#square(canvas, seat, frame));
      this.#crosses(canvas, seats, frame, ring!);
      return;
    }
    this.#fill(canvas, seats, (seat) => this.#capsule(canvas, seat, frame, 0));
    if (state === SeatState.FREE && ring !== null) {
      canvas.strokeStyle = ring;
      const width = Math.max(1, Math.min(2, pixels / 9)) * frame.ratio;
      canvas.lineWidth = width;
      const inset = width / 2;
      this.#stroke(canvas, seats, (seat) => this.#capsule(canvas, seat, frame, inset));
    }
    const hasNumbers = pixels >= NUMBER_PIXELS;
    if (state === SeatState.HELD && !hasNumbers) {
      canvas.fillStyle = ring!;
      this.#fill(canvas, seats, (seat) => this.#dot(canvas, seat, frame, 0.36));
    }
    if (state === SeatState.HELD && hasNumbers) {
      canvas.strokeStyle = ring!;
      canvas.lineWidth = 1.25 * frame.ratio;
      const inset = Math.max(2, pixels / 10) * frame.ratio;
      this.#stroke(canvas, seats, (seat) => this.#capsule(canvas, seat, frame, inset));
    }
    if (hasNumbers) this.#numbers(canvas, seats, frame, look.text);
  }

  #numbers(canvas: Canvas, seats: readonly number[], frame: Frame, colour: string): void {
    const { labels, labelOfSeat, pitch } = this.geometry;
    const size = Math.round(Math.min(pitch * frame.scale * 0.42, 15 * frame.ratio));
    centreText(canvas, size);
    canvas.fillStyle = colour;
    for (const seat of seats) {
      const label = labels[labelOfSeat[seat]!]!;
      if (label.length > 3) continue;
      const { cx, cy } = this.#spot(seat, frame);
      canvas.fillText(label, cx, cy + size * 0.06);
    }
  }

  #fill(canvas: Canvas, seats: readonly number[], add: (seat: number) => void): void {
    inPaths(canvas, seats, add, () => canvas.fill());
  }

  #stroke(canvas: Canvas, seats: readonly number[], add: (seat: number) => void): void {
    inPaths(canvas, seats, add, () => canvas.stroke());
  }

  /** The place of a seat, as a rectangle along its row. @param share - Of the place. */
  #place(canvas: Canvas, seat: number, frame: Frame, share: number): void {
    const { cx, cy, pitch, depth } = this.#spot(seat, frame);
    const a = pitch * 0.5 * share * frame.scale;
    const b = depth * 0.5 * share * frame.scale;
    traceAlongRow(canvas, this.geometry, seat, { cx, cy, a, b });
  }

  #square(canvas: Canvas, seat: number, frame: Frame): void {
    const { cx, cy, pitch, depth } = this.#spot(seat, frame);
    const half = Math.min(pitch, depth) * 0.39 * frame.scale;
    canvas.roundRect(cx - half, cy - half, 2 * half, 2 * half, half * 0.3);
  }

  #dot(canvas: Canvas, seat: number, frame: Frame, share: number): void {
    const { cx, cy, pitch, depth } = this.#spot(seat, frame);
    traceDisc(canvas, cx, cy, Math.min(pitch, depth) * BREADTH * share * frame.scale);
  }

  /** A disc; longer across a row with room, or along a narrow one. */
  #capsule(canvas: Canvas, seat: number, frame: Frame, inset: number): void {
    const { alongX, alongY } = this.geometry;
    const { cx, cy, pitch, depth } = this.#spot(seat, frame);
    const least = Math.min(pitch, depth) * BREADTH;
    const a = Math.min(pitch * BREADTH, least * LENGTH) * frame.scale - inset;
    const b = Math.min(depth * BREADTH, least * LENGTH) * frame.scale - inset;
    const radius = Math.max(0.1, Math.min(a, b));
    const half = Math.abs(b - a);
    if (half < 0.5) {
      traceDisc(canvas, cx, cy, radius);
      return;
    }
    // The longer axis: across the row, or along it.
    const [ux, uy] = [alongX[seat]!, alongY[seat]!];
    const [vx, vy] = b >= a ? [-uy, ux] : [ux, uy];
    const start = Math.atan2(vy, vx) - Math.PI / 2;
    canvas.moveTo(
      cx + vx * half + Math.cos(start) * radius,
      cy + vy * half + Math.sin(start) * radius,
    );
    canvas.arc(cx + vx * half, cy + vy * half, radius, start, start + Math.PI);
    canvas.arc(cx - vx * half, cy - vy * half, radius, start + Math.PI, start + 2 * Math.PI);
    canvas.closePath();
  }

  #crosses(canvas: Canvas, seats: readonly number[], frame: Frame, colour: string): void {
    canvas.strokeStyle = colour;
    canvas.lineWidth = Math.max(1, this.geometry.pitch * frame.scale * 0.08);
    this.#stroke(canvas, seats, (seat) => {
      const { cx, cy, pitch, depth } = this.#spot(seat, frame);
      const arm = Math.min(pitch, depth) * 0.19 * frame.scale;
      canvas.moveTo(cx - arm, cy - arm);
      canvas.lineTo(cx + arm, cy + arm);
      canvas.moveTo(cx + arm, cy - arm);
      canvas.lineTo(cx - arm, cy + arm);
    });
  }

  /** The centre of a seat on the canvas, and the distances to its neighbours in layout units. */
  #spot(seat: number, { scale, dx, dy }: Frame) {
    const { x, y, rows, rowOfSeat } = this.geometry;
    const { pitch, depth } = rows[rowOfSeat[seat]!]!;
    return { cx: x[seat]! * scale + dx, cy: y[seat]! * scale + dy, pitch, depth };
  }
}

interface Colours {
  readonly fill: string;
  readonly ring: string | null;
  readonly text: string;
}

interface Look extends Colours {
  readonly state: number;
}

function traceDisc(canvas: Canvas, cx: number, cy: number, radius: number): void {
  canvas.moveTo(cx + radius, cy);
  canvas.arc(cx, cy, radius, 0, 2 * Math.PI);
}

/** A very long path takes more than its parts. */
function inPaths(
  canvas: Canvas,
  seats: readonly number[],
  add: (seat: number) => void,
  draw: () => void,
): void {
  for (let from = 0; from < seats.length; from += PATH_SEATS_MAX) {
    canvas.beginPath();
    const to = Math.min(seats.length, from + PATH_SEATS_MAX);
    for (let i = from; i < to; i++) add(seats[i]!);
    draw();
  }
}

/** Of a rectangle: its centre, and half of its sides, the first along the row. */
interface Sides {
  readonly cx: number;
  readonly cy: number;
  readonly a: number;
  readonly b: number;
}

/** Adds a rectangle to the path, turned as the row of a seat. */
export function traceAlongRow(
  canvas: Canvas,
  { alongX, alongY }: Geometry,
  seat: number,
  { cx, cy, a, b }: Sides,
): void {
  const [ux, uy] = [alongX[seat]!, alongY[seat]!];
  const [ax, ay, bx, by] = [ux * a, uy * a, -uy * b, ux * b];
  canvas.moveTo(cx - ax - bx, cy - ay - by);
  canvas.lineTo(cx + ax - bx, cy + ay - by);
  canvas.lineTo(cx + ax + bx, cy + ay + by);
  canvas.lineTo(cx - ax + bx, cy - ay + by);
  canvas.closePath();
}

interface PlacedShape {
  readonly shape: Drawing;
  readonly outline: Float32Array;
  readonly box: Box;
}

/** Below the seats: blocks, the stage and other shapes, and areas as they fill. */
export class Ground {
  readonly #marks: Marks;
  readonly #grid: Grid;
  readonly #shapes: readonly PlacedShape[];

  constructor(marks: Marks, grid: Grid) {
    this.#marks = marks;
    this.#grid = grid;
    this.#shapes = marks.geometry.shapes.map((shape) => {
      const outline = outlineOfDrawing(shape);
      return { shape, outline, box: boxOf(outline) };
    });
  }

  get #geometry(): Geometry {
    return this.#marks.geometry;
  }

  /** @param box - Visible part, in layout units. */
  paint(canvas: Canvas, frame: Frame, box: Box): void {
    const { palette } = this.#marks;
    for (const placed of this.#shapes) {
      if (overlap(placed.box, box)) this.#paintShape(canvas, frame, placed);
    }
    canvas.lineJoin = "round";
    canvas.lineWidth = frame.ratio;
    for (const section of this.#geometry.sections) {
      if (!overlap(section.box, box)) continue;
      trace(canvas, frame, section.outline);
      canvas.fillStyle = palette.block;
      canvas.fill();
      canvas.strokeStyle = palette.edge;
      canvas.stroke();
    }
    for (const [index, area] of this.#geometry.areas.entries()) {
      if (overlap(area.box, box)) this.paintArea(canvas, frame, index);
    }
  }

  #paintShape(canvas: Canvas, frame: Frame, { shape, outline, box }: PlacedShape): void {
    const { palette } = this.#marks;
    trace(canvas, frame, outline);
    const isStage = shape.text !== undefined && shape.text !== "";
    canvas.fillStyle = isStage ? palette.stage : palette.block;
    canvas.fill();
    if (!isStage) {
      canvas.strokeStyle = palette.edge;
      canvas.stroke();
      return;
    }
    const [width, height] = [
      (box.right - box.left) * frame.scale,
      (box.bottom - box.top) * frame.scale,
    ];
    const size = Math.min(height * 0.5, (width / (shape.text.length + 2)) * 1.2, 28 * frame.ratio);
    if (size < 6) return;
    canvas.fillStyle = palette.stageText;
    centreText(canvas, size);
    const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
    canvas.fillText(shape.text, x * frame.scale + frame.dx, y * frame.scale + frame.dy);
  }

  /** The area, filled from below: sold, then held. */
  paintArea(canvas: Canvas, frame: Frame, index: number): void {
    const { palette, live } = this.#marks;
    const area = this.#geometry.areas[index]!;
    canvas.save();
    trace(canvas, frame, area.outline);
    canvas.fillStyle = palette.free;
    canvas.fill();
    canvas.clip();
    this.#fillFromBelow(canvas, frame, area, live.areas[index]!);
    canvas.restore();
    trace(canvas, frame, area.outline);
    canvas.lineWidth = 1.5 * frame.ratio;
    canvas.strokeStyle = palette.freeRing;
    canvas.stroke();
  }

  #fillFromBelow(canvas: Canvas, frame: Frame, { box }: Area, counts: AreaCounts): void {
    const { palette } = this.#marks;
    const [top, bottom] = [box.top * frame.scale + frame.dy, box.bottom * frame.scale + frame.dy];
    const [left, width] = [box.left * frame.scale + frame.dx, (box.right - box.left) * frame.scale];
    const capacity = Math.max(1, counts.capacity);
    let level = bottom;
    const parts = [
      [counts.sold, palette.sold],
      [counts.locked, palette.held],
      [counts.blocked, palette.blocked],
    ] as const;
    for (const [count, colour] of parts) {
      const height = ((bottom - top) * count) / capacity;
      canvas.fillStyle = colour;
      canvas.fillRect(left, level - height, width, height);
      level -= height;
    }
  }

  /** Letters where rows begin. */
  paintLetters(canvas: Canvas, frame: Frame, box: Box): void {
    const { rows, sections, x, y, alongX, alongY } = this.#geometry;
    const size = LETTER_PIXELS * frame.ratio;
    centreText(canvas, size);
    canvas.fillStyle = this.#marks.palette.faint;
    for (const section of sections) {
      if (section.isTable || !overlap(section.box, box)) continue;
      const places = section.rows.flatMap((index) => {
        const { seats, name, pitch, depth } = rows[index]!;
        const first = seats[0];
        if (first === undefined || (depth * frame.scale) / frame.ratio < LETTER_DEPTH_MIN)
          return [];
        const away = pitch * 0.41 + (size * 0.6) / frame.scale;
        return [
          { name, x: x[first]! - alongX[first]! * away, y: y[first]! - alongY[first]! * away },
        ];
      });
      const middle = places[places.length >> 1];
      if (middle === undefined || this.#isTaken(middle, size / frame.scale)) continue;
      for (const place of places) {
        canvas.fillText(
          place.name,
          place.x * frame.scale + frame.dx,
          place.y * frame.scale + frame.dy,
        );
      }
    }
  }

  /** True when a letter would touch a seat of the next section. @param size - Layout units. */
  #isTaken({ x, y }: { readonly x: number; readonly y: number }, size: number): boolean {
    const reach = size * 0.35 + this.#geometry.pitch * 0.36;
    const box = { left: x - reach, top: y - reach, right: x + reach, bottom: y + reach };
    return this.#grid.within(box).length > 0;
  }
}

/** @param size - Device pixels. */
function centreText(canvas: Canvas, size: number): void {
  canvas.font = `600 ${size}px system-ui, sans-serif`;
  canvas.textAlign = "center";
  canvas.textBaseline = "middle";
}

function trace(canvas: Canvas, { scale, dx, dy }: Frame, outline: Float32Array): void {
  canvas.beginPath();
  for (let i = 0; i < outline.length; i += 2) {
    canvas.lineTo(outline[i]! * scale + dx, outline[i + 1]! * scale + dy);
  }
  canvas.closePath();
}
