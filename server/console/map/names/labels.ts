/** The names of sections and areas, by level of zoom, and how full they are. */
import type { Camera } from "../camera.ts";
import type { Box, Geometry } from "../geometry.ts";
import type { Grid } from "../grid.ts";
import { areaOf } from "../outlines.ts";
import { type LabelPlace, LabelPlaces } from "./label-places.ts";
import { type AreaCounts, type LiveSeats, SeatState } from "../live-seats.ts";
import type { Palette } from "../palette.ts";

/** CSS pixels. */
const NAME_PIXELS = 11;
const PILL_PIXELS = 12;
const LINE_PIXELS = 16;
const PADDING = 7;

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

export class Labels {
  readonly #geometry: Geometry;
  readonly #shortNames: readonly string[];
  readonly #places: LabelPlaces;
  readonly #longPlaces: LabelPlaces;
  readonly #innerPlaces: LabelPlaces;
  /** Index: section. The side of a square that is as large. */
  readonly #extents: readonly number[];
  readonly #sold: Uint32Array;
  readonly #onSale: Uint32Array;
  readonly #sectionOfSeat: Uint16Array;
  /** Index: seat. Value: the state in which it was counted. */
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

  /** Counts seats whose state may have changed. @returns Whether a label may have. */
  count({ states }: LiveSeats, seats: ArrayLike<number>): boolean {
    let isChanged = false;
    for (let i = 0; i < seats.length; i++) {
      const seat = seats[i]!;
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
    if (state > SeatState.UNPRICED) this.#onSale[section]! += count;
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

  /** Whether a section has room for its whole name and its share, however it is turned. */
  #isLarge(
    canvas: CanvasRenderingContext2D,
    { scale }: Camera,
    section: number,
    ratio: number,
  ): boolean {
    const text = this.#widthOf(canvas, fontOf(PILL_PIXELS, ratio), this.#longText(section));
    return text < this.#extents[section]! * scale;
  }

  /** With the share that is sold, unless nothing is on sale. */
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

  /** The names of areas that are as wide. */
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

/** Shares of all sections, and some figures of areas. */
const WIDTHS_MAX = 5_000;

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

/** Whether a name at the place is in view as a whole. */
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
