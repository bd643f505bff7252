/** The part of the layout in view: the point in the middle, and the scale in levels. */
import type { Box } from "./geometry.ts";

/** Two levels double the scale. */
const LEVELS_PER_DOUBLING = 2;
const LEVEL_MIN = -2;
/** A seat is then about this many pixels wide. */
const SEAT_PIXELS_MAX = 64;

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Insets {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

const NO_INSETS: Insets = { left: 0, top: 0, right: 0, bottom: 0 };

/** Layout units. */
interface Framed {
  readonly box: Box;
  readonly pitch: number;
}

export class Camera {
  /** In layout units. */
  x = 0;
  y = 0;
  /** Of the scale: 0 shows everything. It is a whole number when the view rests. */
  zoom = 0;
  /** Device pixels. */
  size: Size = { width: 1, height: 1 };
  #box: Box = { left: 0, top: 0, right: 1, bottom: 1 };
  #insets = NO_INSETS;
  #base = 1;
  #zoomMax = 12;

  /** Sets what is shown at zoom 0. @param insets - Device pixels kept free at the sides. */
  frame({ box, pitch }: Framed, size: Size, insets: Insets = NO_INSETS): void {
    this.#box = box;
    this.size = size;
    this.#insets = insets;
    const across = (size.width - insets.left - insets.right) / (box.right - box.left);
    const down = (size.height - insets.top - insets.bottom) / (box.bottom - box.top);
    this.#base = Math.max(Math.min(across, down), 1e-6);
    const doublings = Math.log2(SEAT_PIXELS_MAX / (pitch * this.#base));
    this.#zoomMax = Math.max(2, Math.ceil(doublings * LEVELS_PER_DOUBLING));
  }

  get zoomMax(): number {
    return this.#zoomMax;
  }

  /** Device pixels for one layout unit. */
  get scale(): number {
    return this.scaleOf(this.zoom);
  }

  scaleOf(zoom: number): number {
    return this.#base * 2 ** (zoom / LEVELS_PER_DOUBLING);
  }

  get level(): number {
    return Math.round(this.zoom);
  }

  /** True at a whole level, where tiles are copied as they are. */
  get isAtRest(): boolean {
    return this.zoom === this.level;
  }

  /** The corner of the view in device pixels of the whole picture; whole numbers keep it sharp. */
  get origin(): { readonly x: number; readonly y: number } {
    const { scale, size } = this;
    const [x, y] = [this.x * scale - size.width / 2, this.y * scale - size.height / 2];
    return { x: Math.round(x), y: Math.round(y) };
  }

  toScreenX(x: number): number {
    return (x - this.x) * this.scale + this.size.width / 2;
  }

  toScreenY(y: number): number {
    return (y - this.y) * this.scale + this.size.height / 2;
  }

  toLayoutX(screenX: number): number {
    return (screenX - this.size.width / 2) / this.scale + this.x;
  }

  toLayoutY(screenY: number): number {
    return (screenY - this.size.height / 2) / this.scale + this.y;
  }

  /** @param dx - Movement of the picture in device pixels. */
  pan(dx: number, dy: number): void {
    this.x -= dx / this.scale;
    this.y -= dy / this.scale;
    this.#keepInside();
  }

  /** Zooms about a fixed point of the screen. */
  zoomTo(zoom: number, screenX: number, screenY: number): void {
    const [x, y] = [this.toLayoutX(screenX), this.toLayoutY(screenY)];
    this.zoom = Math.max(LEVEL_MIN, Math.min(this.#zoomMax, zoom));
    this.x += x - this.toLayoutX(screenX);
    this.y += y - this.toLayoutY(screenY);
    this.#keepInside();
  }

  /** Shows everything. */
  fit(): void {
    this.zoom = 0;
    const { left, top, right, bottom } = this.#insets;
    this.x = (this.#box.left + this.#box.right + (right - left) / this.#base) / 2;
    this.y = (this.#box.top + this.#box.bottom + (bottom - top) / this.#base) / 2;
  }

  #keepInside(): void {
    const { left, top, right, bottom } = this.#box;
    this.x = Math.max(left, Math.min(right, this.x));
    this.y = Math.max(top, Math.min(bottom, this.y));
  }
}
