/**
 * The canvas above the seats: names of sections and areas by level of zoom, selection, found seats,
 * the seat at the pointer, the rectangle while it is drawn.
 */
import type { Camera } from "./camera.ts";
import {
  areaOf,
  type Box,
  boxOf,
  type Geometry,
  type Grid,
  outlineOfDrawing,
  overlap,
} from "./geometry.ts";
import type { Hit } from "./gestures.ts";
import { type Palette, traceAlongRow } from "./paint.ts";
import { type AreaCounts, type LiveSeats, SeatState } from "./seats.ts";

/** CSS pixels. */
const NAME_PIXELS = 11;
const PILL_PIXELS = 12;
const LINE_PIXELS = 16;
const PADDING = 7;
/** Shares of all sections, and some figures of areas. */
const WIDTHS_MAX = 5_000;
/** Radians from the direction away from the middle. */
const TURNS = [0, 0.2, -0.2, 0.4, -0.4];
/** Between section and name, of the height of the name. */
const GAP = 0.15;
export const PULSE_MS = 700;

interface Look {
  readonly ratio: number;
  readonly palette: Palette;
  readonly live: LiveSeats;
}

interface Place {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The names of sections and areas, and how full they are. */
export class Labels {
  readonly #geometry: Geometry;
  readonly #shortNames: readonly string[];
  readonly #places: LabelPlaces;
  readonly #longPlaces: LabelPlaces;
  readonly #innerPlaces: LabelPlaces;
  /** Index: section. Side of the square of equal area. */
  readonly #extents: readonly number[];
  readonly #sold: Uint32Array;
  readonly #onSale: Uint32Array;
  readonly #sectionOfSeat: Uint16Array;
  /** Index: seat. Value: its state when last counted. */
  readonly #counted: Uint8Array;
  /** Width of texts in device pixels, by font and text. */
  readonly #widths = new Map<string, number>();

  constructor(geometry: Geometry, grid: Grid) {
    this.#geometry = geometry;
    this.#places = new LabelPlaces(geometry, grid);
    this.#longPlaces = new LabelPlaces(geometry, grid);
    this.#innerPlaces = new LabelPlaces(geometry, grid, -1);
    this.#shortNames = geometry.sections.map(({ name }) => shortName(name));
    this.#extents = geometry.sections.map(({ outline }) => Math.sqrt(areaOf(outline)));
    this.#sold = new Uint32Array(geometry.sections.length);
    this.#onSale = new Uint32Array(geometry.sections.length);
    this.#counted = new Uint8Array(geometry.seatCount);
    const { rowOfSeat, rows } = geometry;
    this.#sectionOfSeat = Uint16Array.from(rowOfSeat, (row) => rows[row]!.section);
  }

  /** Counts all seats. */
  countAll({ states }: LiveSeats): void {
    this.#sold.fill(0);
    this.#onSale.fill(0);
    this.#counted.set(states);
    for (let seat = 0; seat < states.length; seat++) this.#add(seat, states[seat]!, 1);
  }

  /** Counts seats whose state may have changed. @returns True when a label may have changed. */
  count({ states }: LiveSeats, seats: readonly number[]): boolean {
    let isChanged = false;
    for (const seat of seats) {
      const [before, after] = [this.#counted[seat]!, states[seat]!];
      if (before === after) continue;
      this.#add(seat, before, -1);
      this.#add(seat, after, 1);
      this.#counted[seat] = after;
      isChanged = true;
    }
    return isChanged;
  }

  #add(seat: number, state: number, count: number): void {
    const section = this.#sectionOfSeat[seat]!;
    if (state !== SeatState.UNPRICED) this.#onSale[section]! += count;
    if (state === SeatState.SOLD) this.#sold[section]! += count;
  }

  /** After a change of the scale of levels. */
  resized(): void {
    this.#places.clear();
    this.#longPlaces.clear();
    this.#innerPlaces.clear();
    this.#widths.clear();
  }

  paint(canvas: CanvasRenderingContext2D, camera: Camera, look: Look): void {
    canvas.textAlign = "center";
    canvas.textBaseline = "middle";
    this.#paintSections(canvas, camera, look);
    for (const [index, area] of this.#geometry.areas.entries()) {
      const place = onScreen(camera, area.box);
      if (place !== null) this.#paintArea(canvas, place, area.name, { ...look, index });
    }
  }

  #paintSections(canvas: CanvasRenderingContext2D, camera: Camera, look: Look): void {
    const { ratio } = look;
    const small = fontOf(NAME_PIXELS, ratio);
    const large = fontOf(PILL_PIXELS, ratio);
    const ofLevel = camera.scaleOf(camera.level);
    const sizeOf = (font: string, text: string) => {
      const width = (this.#widthOf(canvas, font, text) + 8 * ratio) / ofLevel;
      return { width, height: ((NAME_PIXELS + 5) * ratio) / ofLevel };
    };
    const shorts = this.#places.at(camera.level, (section) => {
      return sizeOf(small, this.#shortNames[section]!);
    });
    const { sections } = this.#geometry;
    const longs = [this.#longPlaces, this.#innerPlaces].map((places) =>
      places.at(camera.level, (section) => sizeOf(large, `${sections[section]!.name}  100 %`)),
    );
    const drawn: Place[] = [];
    for (const [index, section] of sections.entries()) {
      const whole = section.seatCount === 0 ? null : onScreen(camera, section.box);
      if (whole === null) continue;
      const name = this.#shortNames[index]!;
      const isLarge = !section.isTable && this.#isLarge(canvas, camera, index, ratio);
      const text = isLarge ? this.#longText(index) : name;
      canvas.font = isLarge ? large : small;
      const halfWidth = this.#widthOf(canvas, isLarge ? large : small, text) / 2 + 4 * ratio;
      const candidates = section.isTable ? [] : isLarge ? longs : [shorts];
      const places = candidates.map((ofSections) => ofSections[index] ?? null);
      const height = (isLarge ? 21 : 15) * ratio;
      const spots = places
        .filter((one) => one !== null && isSeen(camera, one, halfWidth))
        .map((one) => spotAt(camera, one!, { width: 2 * halfWidth, height: 14 * ratio }));
      const spot = spots.find((one) => !drawn.some((other) => touch(one, other)));
      if (spot !== undefined) {
        drawn.push(spot);
        canvas.fillStyle = isLarge ? look.palette.ink : look.palette.faint;
        canvas.fillText(text, spot.x, spot.y);
        continue;
      }
      const hasRoom = 2 * halfWidth <= whole.width && whole.height >= 16 * ratio;
      if (!isLarge && (!hasRoom || (places[0] ?? null) !== null)) continue;
      const middle = isLarge ? inView(camera, whole, halfWidth, 12 * ratio) : whole;
      const width = 2 * halfWidth + (isLarge ? 6 * ratio : 0);
      const shown = { x: middle.x, y: middle.y, width, height };
      if (drawn.some((one) => touch(one, shown))) continue;
      drawn.push(shown);
      pill(canvas, [text], shown, look);
    }
  }

  /** True when a section has room for its whole name and its share, however it is turned. */
  #isLarge(
    canvas: CanvasRenderingContext2D,
    { scale }: Camera,
    section: number,
    ratio: number,
  ): boolean {
    const text = this.#widthOf(canvas, fontOf(PILL_PIXELS, ratio), this.#longText(section));
    return text < this.#extents[section]! * scale;
  }

  /** With the sold share, unless nothing is on sale. */
  #longText(section: number): string {
    const { name } = this.#geometry.sections[section]!;
    const [sold, onSale] = [this.#sold[section]!, this.#onSale[section]!];
    return onSale === 0 ? name : `${name}  ${Math.round((100 * sold) / onSale)} %`;
  }

  #paintArea(
    canvas: CanvasRenderingContext2D,
    place: Place,
    name: string,
    look: Look & { readonly index: number },
  ): void {
    const { ratio, index, live } = look;
    const counts = live.areas[index]!;
    const share = `${Math.round((100 * counts.sold) / Math.max(1, counts.capacity))} %`;
    const free = freeText(counts);
    const choices = [
      { lines: [`${name}  ${free}`], pixels: PILL_PIXELS },
      { lines: [name, free], pixels: PILL_PIXELS },
      { lines: [name, share], pixels: PILL_PIXELS },
      { lines: [share], pixels: PILL_PIXELS },
      { lines: [share], pixels: 9 },
    ];
    for (const { lines, pixels } of choices) {
      const font = fontOf(pixels, ratio);
      // Areas of one size say the same, so the longest name among them decides.
      const widths = lines.flatMap((line) =>
        (line.startsWith(name) ? this.#namesLike(index) : [name]).map((other) =>
          this.#widthOf(
            canvas,
            font,
            line.replace(name, () => other),
          ),
        ),
      );
      const width = Math.max(...widths) + (pixels < PILL_PIXELS ? 4 : 2 * PADDING) * ratio;
      const height = (lines.length * LINE_PIXELS * pixels * ratio) / PILL_PIXELS + 5 * ratio;
      if (width > place.width * 0.96 || height > place.height * 0.8) continue;
      canvas.font = font;
      pill(canvas, lines, { x: place.x, y: place.y, width, height }, look);
      return;
    }
  }

  /** The names of all areas of the same width. */
  #namesLike(index: number): readonly string[] {
    const { areas } = this.#geometry;
    const widthOf = ({ box }: { readonly box: Box }) => box.right - box.left;
    const own = widthOf(areas[index]!);
    return areas
      .filter((area) => Math.abs(widthOf(area) - own) < own * 0.01)
      .map(({ name }) => name);
  }

  #widthOf(canvas: CanvasRenderingContext2D, font: string, text: string): number {
    const key = `${font} ${text}`;
    let width = this.#widths.get(key);
    if (width === undefined) {
      canvas.font = font;
      width = canvas.measureText(text).width;
      this.#widths.set(key, width);
      if (this.#widths.size > WIDTHS_MAX) this.#widths.clear();
    }
    return width;
  }
}

function freeText({ active, capacity }: AreaCounts): string {
  const [free, all] = [active, capacity].map((count) => count.toLocaleString("en"));
  return `${free} of ${all} free`;
}

function fontOf(pixels: number, ratio: number): string {
  return `600 ${Math.round(pixels * ratio)}px system-ui, sans-serif`;
}

function pill(
  canvas: CanvasRenderingContext2D,
  lines: readonly string[],
  { x, y, width, height }: Place,
  { palette, ratio }: Look,
): void {
  canvas.globalAlpha = 0.94;
  canvas.fillStyle = palette.pill;
  canvas.beginPath();
  const radius = Math.min(height / 2, 10 * ratio);
  canvas.roundRect(x - width / 2, y - height / 2, width, height, radius);
  canvas.fill();
  canvas.globalAlpha = 1;
  canvas.fillStyle = palette.ink;
  const step = height / lines.length - ratio;
  for (const [i, line] of lines.entries()) {
    canvas.fillText(line, x, y + (i - (lines.length - 1) / 2) * step + ratio * 0.5);
  }
}

/** @returns Null when it is not in view. */
function onScreen(camera: Camera, box: Box): Place | null {
  const [left, right] = [camera.toScreenX(box.left), camera.toScreenX(box.right)];
  const [top, bottom] = [camera.toScreenY(box.top), camera.toScreenY(box.bottom)];
  const { width, height } = camera.size;
  if (right < 0 || bottom < 0 || left > width || top > height) return null;
  return {
    x: (left + right) / 2,
    y: (top + bottom) / 2,
    width: right - left,
    height: bottom - top,
  };
}

function touch(a: Place, b: Place): boolean {
  const isBeside = Math.abs(a.x - b.x) * 2 >= a.width + b.width;
  return !isBeside && Math.abs(a.y - b.y) * 2 < a.height + b.height;
}

function spotAt(
  camera: Camera,
  { x, y }: NonNullable<LabelPlace>,
  size: Pick<Place, "width" | "height">,
): Place {
  return { x: camera.toScreenX(x), y: camera.toScreenY(y), ...size };
}

/** True when the whole name is in view. */
function isSeen(camera: Camera, at: NonNullable<LabelPlace>, halfWidth: number): boolean {
  const [x, y] = [camera.toScreenX(at.x), camera.toScreenY(at.y)];
  const { width, height } = camera.size;
  return x > halfWidth && x < width - halfWidth && y > 10 && y < height - 10;
}

/** The middle of a section; when the section is larger than the view, as near to it as is seen. */
function inView(camera: Camera, place: Place, halfWidth: number, halfHeight: number) {
  const { size } = camera;
  const [halfX, halfY] = [place.width / 2 - halfWidth, place.height / 2 - halfHeight];
  const within = (value: number, from: number, to: number) => Math.max(from, Math.min(to, value));
  const x = within(
    within(place.x, halfWidth + 8, size.width - halfWidth - 8),
    place.x - halfX,
    place.x + halfX,
  );
  const y = within(
    within(place.y, halfHeight + 8, size.height - halfHeight - 8),
    place.y - halfY,
    place.y + halfY,
  );
  return { x, y };
}

/** The last word, as 112 of Block 112, when it has a digit. */
function shortName(name: string): string {
  const last = name.split(" ").at(-1)!;
  return /\d/.test(last) ? last : name;
}

/** The middle of a name in layout units; null where there is no room. */
type LabelPlace = { readonly x: number; readonly y: number } | null;

/** Layout units. */
interface Name {
  readonly width: number;
  readonly height: number;
}

/**
 * Places for the names of sections: outside the section, clear of seats and other names. Searched
 * once for each level.
 */
class LabelPlaces {
  readonly #geometry: Geometry;
  readonly #grid: Grid;
  readonly #side: 1 | -1;
  readonly #obstacles: readonly Box[];
  readonly #byLevel = new Map<number, readonly LabelPlace[]>();

  /** @param side - 1 for places away from the middle of the layout, -1 for those towards it. */
  constructor(geometry: Geometry, grid: Grid, side: 1 | -1 = 1) {
    this.#side = side;
    this.#geometry = geometry;
    this.#grid = grid;
    const shapes = geometry.shapes.map((shape) => boxOf(outlineOfDrawing(shape)));
    this.#obstacles = [...shapes, ...geometry.areas.map(({ box }) => box)];
  }

  /** @param sizeOf - The size of the name of a section at that level. */
  at(level: number, sizeOf: (section: number) => Name): readonly LabelPlace[] {
    let places = this.#byLevel.get(level);
    if (places === undefined) this.#byLevel.set(level, (places = this.#search(sizeOf)));
    return places;
  }

  /** After a change of the scale of levels. */
  clear(): void {
    this.#byLevel.clear();
  }

  #search(sizeOf: (section: number) => Name): LabelPlace[] {
    const taken: Box[] = [...this.#obstacles];
    return this.#geometry.sections.map((section, index) => {
      if (section.seatCount === 0) return null;
      const name = sizeOf(index);
      for (const place of this.#candidates(section.box, section.outline, name)) {
        const box = boxAt(place, name);
        if (taken.some((one) => overlap(one, box)) || this.#grid.within(box).length > 0) continue;
        taken.push(box);
        return place;
      }
      return null;
    });
  }

  /** An upright block has its name below or above; a block of a ring, outside. */
  *#candidates(box: Box, outline: Float32Array, { width, height }: Name) {
    const all = this.#geometry.box;
    const [cx, cy] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
    const [dx, dy] = [cx - (all.left + all.right) / 2, cy - (all.top + all.bottom) / 2];
    const outward = Math.atan2(dy * this.#side, dx * this.#side);
    const angles = fills(outline, box)
      ? [(Math.PI / 2) * this.#side, (-Math.PI / 2) * this.#side]
      : TURNS.map((turn) => outward + turn);
    for (const angle of angles) {
      const [ux, uy] = [Math.cos(angle), Math.sin(angle)];
      const reach = reachOf(outline, { cx, cy, ux, uy });
      const own = (width / 2) * Math.abs(ux) + (height / 2) * Math.abs(uy);
      const away = reach + own + height * GAP;
      yield { x: cx + ux * away, y: cy + uy * away };
    }
  }
}

function boxAt({ x, y }: { readonly x: number; readonly y: number }, { width, height }: Name): Box {
  return { left: x - width / 2, top: y - height / 2, right: x + width / 2, bottom: y + height / 2 };
}

/** A point, and a direction of length 1. */
interface Ray {
  readonly cx: number;
  readonly cy: number;
  readonly ux: number;
  readonly uy: number;
}

/** Distance from the point to the farthest edge in its direction. */
function reachOf(outline: Float32Array, { cx, cy, ux, uy }: Ray): number {
  let reach = 0;
  for (let i = 0; i < outline.length; i += 2) {
    reach = Math.max(reach, (outline[i]! - cx) * ux + (outline[i + 1]! - cy) * uy);
  }
  return reach;
}

/** True when the outline covers nearly all of its box. */
function fills(outline: Float32Array, box: Box): boolean {
  return areaOf(outline) > (box.right - box.left) * (box.bottom - box.top) * 0.93;
}

/** A ring around a seat just changed. */
export interface Pulse {
  readonly seat: number;
  readonly startMs: number;
}

interface Highlights {
  readonly ratio: number;
  readonly palette: Palette;
  readonly geometry: Geometry;
  readonly selected: ReadonlySet<number>;
  readonly highlighted: readonly number[];
  readonly hovered: Hit | null;
  readonly pulses: readonly Pulse[];
  readonly nowMs: number;
  /** CSS pixels. */
  readonly box: Box | null;
}

export function paintOverlay(
  canvas: CanvasRenderingContext2D,
  camera: Camera,
  highlights: Highlights,
): void {
  const { ratio, palette, selected, highlighted, hovered, box } = highlights;
  paintPulses(canvas, camera, highlights);
  canvas.lineWidth = 1.5 * ratio;
  canvas.strokeStyle = palette.accent;
  canvas.beginPath();
  for (const seat of selected) frameSeat(canvas, camera, highlights.geometry, seat);
  canvas.stroke();
  canvas.strokeStyle = palette.ink;
  canvas.lineWidth = 2 * ratio;
  const rings = hovered?.kind === "seat" ? [...highlighted, hovered.seat] : highlighted;
  for (const seat of rings) ringSeat(canvas, camera, highlights, seat);
  if (box === null) return;
  const { left, top, right, bottom } = box;
  const rectangle = [left, top, right - left, bottom - top].map((value) => value * ratio);
  const [x = 0, y = 0, width = 0, height = 0] = rectangle;
  canvas.strokeStyle = palette.accent;
  canvas.lineWidth = ratio;
  canvas.globalAlpha = 0.12;
  canvas.fillStyle = palette.accent;
  canvas.fillRect(x, y, width, height);
  canvas.globalAlpha = 1;
  canvas.strokeRect(x, y, width, height);
}

/** Growing, fading rings. */
function paintPulses(
  canvas: CanvasRenderingContext2D,
  camera: Camera,
  highlights: Highlights,
): void {
  const { geometry, palette, pulses, nowMs, ratio } = highlights;
  canvas.strokeStyle = palette.ink;
  canvas.lineWidth = 1.5 * ratio;
  for (const { seat, startMs } of pulses) {
    const age = Math.min(1, (nowMs - startMs) / PULSE_MS);
    const radius = geometry.pitch * camera.scale * (0.5 + age) + 4 * ratio * age;
    canvas.globalAlpha = 0.7 * (1 - age);
    canvas.beginPath();
    const [x, y] = [camera.toScreenX(geometry.x[seat]!), camera.toScreenY(geometry.y[seat]!)];
    canvas.arc(x, y, radius, 0, 2 * Math.PI);
    canvas.stroke();
  }
  canvas.globalAlpha = 1;
}

function frameSeat(
  canvas: CanvasRenderingContext2D,
  camera: Camera,
  geometry: Geometry,
  seat: number,
): void {
  const { x, y, rows, rowOfSeat } = geometry;
  const [cx, cy] = [camera.toScreenX(x[seat]!), camera.toScreenY(y[seat]!)];
  const { width, height } = camera.size;
  if (cx < -50 || cy < -50 || cx > width + 50 || cy > height + 50) return;
  const { pitch, depth } = rows[rowOfSeat[seat]!]!;
  const [a, b] = [pitch * 0.48 * camera.scale, Math.min(depth, pitch * 1.7) * 0.48 * camera.scale];
  traceAlongRow(canvas, geometry, seat, { cx, cy, a, b });
}

function ringSeat(
  canvas: CanvasRenderingContext2D,
  camera: Camera,
  { geometry, ratio }: Highlights,
  seat: number,
): void {
  const { x, y, rows, rowOfSeat } = geometry;
  const { pitch } = rows[rowOfSeat[seat]!]!;
  const radius = Math.max(pitch * camera.scale * 0.85, 7 * ratio);
  canvas.beginPath();
  canvas.arc(camera.toScreenX(x[seat]!), camera.toScreenY(y[seat]!), radius, 0, 2 * Math.PI);
  canvas.stroke();
}
