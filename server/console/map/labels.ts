/** The names of sections and areas, by level of zoom, and how full they are. */
import type { Camera } from "./camera.ts";
import type { Box, Geometry } from "./geometry.ts";
import { type LiveSeats, SeatState } from "./live-seats.ts";
import type { Palette } from "./palette.ts";

const NAME_PIXELS = 11;
const PILL_PIXELS = 12;
const PADDING = 7;

export class Labels {
  readonly #geometry: Geometry;
  readonly #shortNames: readonly string[];
  /** Index: section. */
  readonly #sold: Uint32Array;
  readonly #onSale: Uint32Array;
  readonly #sectionOfSeat: Uint16Array;
  /** Index: seat. Value: the state in which it was counted. */
  readonly #counted: Uint8Array;

  constructor(geometry: Geometry) {
    this.#geometry = geometry;
    this.#shortNames = geometry.sections.map(({ name }) => shortName(name));
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

  paint(canvas: CanvasRenderingContext2D, camera: Camera, look: Look): void {
    const { sections, areas, box } = this.#geometry;
    const { ratio, palette } = look;
    const centre = { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 };
    canvas.textAlign = "center";
    canvas.textBaseline = "middle";
    for (const [index, section] of sections.entries()) {
      if (section.seatCount === 0) continue;
      const place = onScreen(camera, section.box);
      if (place === null) continue;
      canvas.font = `600 ${PILL_PIXELS * ratio}px system-ui, sans-serif`;
      const text = section.isTable ? section.name : `${section.name}  ${this.#share(index)}`;
      const width = canvas.measureText(text).width + 2 * PADDING * ratio;
      if (width < place.width * 0.9 && place.height > 40 * ratio) {
        pill(canvas, { text, width, x: place.x, y: place.y }, look);
        continue;
      }
      canvas.font = `600 ${NAME_PIXELS * ratio}px system-ui, sans-serif`;
      canvas.fillStyle = palette.faint;
      const [cx, cy] = [
        (section.box.left + section.box.right) / 2,
        (section.box.top + section.box.bottom) / 2,
      ];
      const away = Math.hypot(cx - centre.x, cy - centre.y) || 1;
      const [ux, uy] = [(cx - centre.x) / away, (cy - centre.y) / away];
      const reach = (place.width * Math.abs(ux) + place.height * Math.abs(uy)) / 2 + 10 * ratio;
      canvas.fillText(this.#shortNames[index]!, place.x + ux * reach, place.y + uy * reach);
    }
    for (const [index, area] of areas.entries()) {
      const place = onScreen(camera, area.box);
      if (place === null) continue;
      const { active, capacity, sold } = look.live.areas[index]!;
      canvas.font = `600 ${PILL_PIXELS * ratio}px system-ui, sans-serif`;
      const share = `${Math.round((100 * sold) / Math.max(1, capacity))} %`;
      const [free, all] = [active, capacity].map((count) => count.toLocaleString("en"));
      const long = `${area.name}  ${free} of ${all} free`;
      for (const text of [long, `${area.name}  ${share}`, share]) {
        const width = canvas.measureText(text).width + 2 * PADDING * ratio;
        if (width > place.width * 0.96) continue;
        pill(canvas, { text, width, x: place.x, y: place.y }, look);
        break;
      }
    }
  }

  #share(section: number): string {
    return `${Math.round((100 * this.#sold[section]!) / Math.max(1, this.#onSale[section]!))} %`;
  }
}

interface Look {
  readonly ratio: number;
  readonly palette: Palette;
  readonly live: LiveSeats;
}

interface Pill {
  readonly text: string;
  readonly width: number;
  readonly x: number;
  readonly y: number;
}

function pill(canvas: CanvasRenderingContext2D, { text, width, x, y }: Pill, look: Look): void {
  const height = 20 * look.ratio;
  canvas.fillStyle = look.palette.pill;
  canvas.beginPath();
  canvas.roundRect(x - width / 2, y - height / 2, width, height, height / 2);
  canvas.fill();
  canvas.fillStyle = look.palette.ink;
  canvas.fillText(text, x, y + look.ratio * 0.5);
}

interface Place {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
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

/** The last word, as 112 of Block 112, when it has a digit. */
function shortName(name: string): string {
  const last = name.split(" ").at(-1)!;
  return /\d/.test(last) ? last : name;
}
