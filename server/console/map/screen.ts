/** Brings tiles to the canvas: all of them when the view moves, single seats while it rests. */
import type { Camera } from "./camera.ts";
import type { Marks } from "./marks.ts";
import { type Tile, TILE_PIXELS, type Tiles } from "./tiles.ts";

/** Milliseconds of a frame for painting tiles; more until there is a first picture. */
const PAINT_MS = 7;
const FIRST_PAINT_MS = 40;
/** With more changed seats than this a tile is copied as a whole. */
const COPIES_MAX = 40;
/** So many slow frames, one after the other, lower the resolution. */
const SLOW_FRAMES_MAX = 20;
const SLOW_FRAME_MS = 28;
/** A longer pause between two frames is a rest. */
const REST_MS = 250;

export class Screen {
  readonly #context: CanvasRenderingContext2D;
  readonly #camera: Camera;
  readonly #tiles: Tiles;
  readonly #marks: Marks;
  #paintedMs = 0;
  #slowFrames = 0;
  /** Whether there has been a full picture. */
  hasPicture = false;

  constructor(canvas: HTMLCanvasElement, camera: Camera, tiles: Tiles, marks: Marks) {
    this.#context = canvas.getContext("2d", { alpha: false })!;
    this.#camera = camera;
    this.#tiles = tiles;
    this.#marks = marks;
  }

  /** @returns Whether every tile in view is complete. */
  paint(): boolean {
    const canvas = this.#context;
    const { level, scale, origin, size: view } = this.#camera;
    const isAtRest = this.#camera.isAtRest;
    const size = (TILE_PIXELS * scale) / this.#camera.scaleOf(level);
    const endMs = performance.now() + (this.hasPicture ? PAINT_MS : FIRST_PAINT_MS);
    let isWhole = true;
    canvas.fillStyle = this.#marks.palette.ground;
    canvas.fillRect(0, 0, view.width, view.height);
    for (let line = Math.floor(origin.y / size); line * size < origin.y + view.height; line++) {
      const right = origin.x + view.width;
      for (let column = Math.floor(origin.x / size); column * size < right; column++) {
        const tile = this.#tiles.take(level, column, line);
        if (!this.#tiles.complete(tile, endMs)) isWhole = false;
        const [x, y] = [column * size - origin.x, line * size - origin.y];
        if (isAtRest) canvas.drawImage(tile.canvas, x, y);
        else canvas.drawImage(tile.canvas, x, y, size, size);
      }
    }
    this.hasPicture ||= isWhole;
    return isWhole;
  }

  /** Paints what has changed in view, at rest. @returns Whether every tile is complete. */
  paintChanges(): boolean {
    const { level, origin, size } = this.#camera;
    const endMs = performance.now() + PAINT_MS;
    let isWhole = true;
    for (const tile of this.#tiles.inView(level, origin, size)) {
      const { pending, pendingAreas, work } = tile;
      if (pending.length === 0 && pendingAreas.size === 0 && work === null) continue;
      const copiesAll = pending.length > COPIES_MAX || pendingAreas.size > 0 || work !== null;
      if (!this.#tiles.complete(tile, endMs)) isWhole = false;
      if (copiesAll) this.#copyTile(tile);
      else for (const seat of pending) this.#copySeat(tile, seat);
    }
    return isWhole;
  }

  #copyTile({ canvas, column, line }: Tile): void {
    const { origin } = this.#camera;
    this.#context.drawImage(canvas, column * TILE_PIXELS - origin.x, line * TILE_PIXELS - origin.y);
  }

  #copySeat({ canvas, column, line }: Tile, seat: number): void {
    const { origin, scale } = this.#camera;
    const { x, y, pitch } = this.#marks.geometry;
    const half = Math.ceil(pitch * scale * 1.25);
    const [left, top] = [column * TILE_PIXELS, line * TILE_PIXELS];
    const [cx, cy] = [Math.round(x[seat]! * scale) - left, Math.round(y[seat]! * scale) - top];
    const [fromX, fromY] = [Math.max(0, cx - half), Math.max(0, cy - half)];
    const width = Math.min(TILE_PIXELS, cx + half) - fromX;
    const height = Math.min(TILE_PIXELS, cy + half) - fromY;
    if (width <= 0 || height <= 0) return;
    const [toX, toY] = [left + fromX - origin.x, top + fromY - origin.y];
    this.#context.drawImage(canvas, fromX, fromY, width, height, toX, toY, width, height);
  }

  /** To be called with each moved frame. @returns Whether frames have been slow for a while. */
  isSlow(): boolean {
    const nowMs = performance.now();
    const gapMs = nowMs - this.#paintedMs;
    this.#paintedMs = nowMs;
    if (gapMs > REST_MS) return false;
    this.#slowFrames = gapMs > SLOW_FRAME_MS ? this.#slowFrames + 1 : 0;
    if (this.#slowFrames < SLOW_FRAMES_MAX) return false;
    this.#slowFrames = 0;
    return true;
  }
}
