/**
 * The picture of the seats in tiles, at levels of zoom. A tile is painted in pieces, so no frame
 * waits long. Changes of seats in a hidden tile wait until it is shown.
 */
import type { Camera, Size } from "./camera.ts";
import { type Box, type Grid, overlap } from "./geometry.ts";
import type { Point } from "./gestures.ts";
import type { Frame, Ground, Marks } from "./paint.ts";

const TILE_PIXELS = 256;
const TILES_MAX = 260;
/** Seats painted between two looks at the clock. */
const SEATS_PER_PIECE = 500;
/** With more changes than this a tile is painted again as a whole. */
const PENDING_MAX = 600;
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

class Tile {
  readonly canvas = document.createElement("canvas");
  readonly context: CanvasRenderingContext2D;
  /** Null when the tile is complete. */
  work: Generator<void, void> | null = null;
  /** Seats changed since it was painted. */
  pending: number[] = [];
  pendingAreas = new Set<number>();
  readonly level: number;
  readonly column: number;
  readonly line: number;

  constructor(level: number, column: number, line: number) {
    this.level = level;
    this.column = column;
    this.line = line;
    this.canvas.width = TILE_PIXELS;
    this.canvas.height = TILE_PIXELS;
    this.context = this.canvas.getContext("2d", { alpha: false })!;
  }
}

export class Tiles {
  readonly #camera: Camera;
  readonly #marks: Marks;
  readonly #ground: Ground;
  readonly #grid: Grid;
  /** By key, the least recently used first. */
  readonly #tiles = new Map<string, Tile>();
  ratio = 1;

  constructor(camera: Camera, marks: Marks, ground: Ground, grid: Grid) {
    this.#camera = camera;
    this.#marks = marks;
    this.#ground = ground;
    this.#grid = grid;
  }

  #frameOf({ level, column, line }: Pick<Tile, "level" | "column" | "line">): Frame {
    const scale = this.#camera.scaleOf(level);
    const [dx, dy] = [-column * TILE_PIXELS, -line * TILE_PIXELS];
    return { scale, dx, dy, ratio: this.ratio };
  }

  #boxOf({ level, column, line }: Pick<Tile, "level" | "column" | "line">, margin = 0): Box {
    const size = TILE_PIXELS / this.#camera.scaleOf(level);
    return {
      left: column * size - margin,
      top: line * size - margin,
      right: (column + 1) * size + margin,
      bottom: (line + 1) * size + margin,
    };
  }

  /** Cached tiles of a level in a view. */
  *inView(level: number, origin: Point, { width, height }: Size): Generator<Tile, void> {
    const last = { x: (origin.x + width) / TILE_PIXELS, y: (origin.y + height) / TILE_PIXELS };
    for (let line = Math.floor(origin.y / TILE_PIXELS); line < last.y; line++) {
      for (let column = Math.floor(origin.x / TILE_PIXELS); column < last.x; column++) {
        const tile = this.#tiles.get(keyOf(level, column, line));
        if (tile !== undefined) yield tile;
      }
    }
  }

  /** The tile, maybe incomplete. */
  take(level: number, column: number, line: number): Tile {
    const key = keyOf(level, column, line);
    let tile = this.#tiles.get(key);
    if (tile === undefined) {
      tile = this.#recycled(level, column, line);
      tile.work = this.#paint(tile);
    } else {
      this.#tiles.delete(key);
    }
    this.#tiles.set(key, tile);
    return tile;
  }

  #recycled(level: number, column: number, line: number): Tile {
    if (this.#tiles.size >= TILES_MAX) {
      const [oldest] = this.#tiles.keys();
      this.#tiles.delete(oldest!);
    }
    return new Tile(level, column, line);
  }

  /** Paints a tile until it is complete or the time is over. @returns True when it is complete. */
  complete(tile: Tile, endMs: number): boolean {
    while (tile.work !== null) {
      if (tile.work.next().done === true) tile.work = null;
      if (performance.now() > endMs) break;
    }
    if (tile.work === null) this.#settle(tile);
    return tile.work === null;
  }

  *#paint(tile: Tile): Generator<void, void> {
    const { context } = tile;
    const frame = this.#frameOf(tile);
    context.fillStyle = this.#marks.palette.ground;
    context.fillRect(0, 0, TILE_PIXELS, TILE_PIXELS);
    const box = this.#boxOf(tile, (24 * this.ratio) / frame.scale);
    this.#ground.paint(context, frame, box);
    this.#ground.paintLetters(context, frame, box);
    yield;
    const seats = this.#grid.within(this.#boxOf(tile, this.#marks.reach));
    for (let from = 0; from < seats.length; from += SEATS_PER_PIECE) {
      this.#marks.paint(context, seats.slice(from, from + SEATS_PER_PIECE), frame);
      yield;
    }
  }

  /** Paints the pending changes of a complete tile. */
  #settle(tile: Tile): void {
    const { pending, pendingAreas, context } = tile;
    if (pending.length === 0 && pendingAreas.size === 0) return;
    const frame = this.#frameOf(tile);
    for (const area of pendingAreas) this.#ground.paintArea(context, frame, area);
    this.#marks.erase(context, pending, frame);
    this.#marks.paint(context, pending, frame);
    tile.pending = [];
    pendingAreas.clear();
  }

  /** Marks changed seats as pending in each tile around them. */
  change(seats: readonly number[]): void {
    const { x, y, seatCount } = this.#marks.geometry;
    const { reach } = this.#marks;
    if (seats.length * 2 > seatCount) return this.repaint();
    for (const tile of this.#tiles.values()) {
      const { left, top, right, bottom } = this.#boxOf(tile, reach);
      for (const seat of seats) {
        const [sx, sy] = [x[seat]!, y[seat]!];
        if (sx < left || sx > right || sy < top || sy > bottom) continue;
        tile.pending.push(seat);
      }
      if (tile.pending.length > PENDING_MAX) this.#again(tile);
    }
  }

  changeArea(area: number): void {
    const { box } = this.#marks.geometry.areas[area]!;
    for (const tile of this.#tiles.values()) {
      if (overlap(this.#boxOf(tile), box)) tile.pendingAreas.add(area);
    }
  }

  #again(tile: Tile): void {
    tile.pending = [];
    tile.pendingAreas.clear();
    tile.work = this.#paint(tile);
  }

  /** Everything has changed: colours, states, or the scale. */
  clear(): void {
    this.#tiles.clear();
  }

  /** Paints all tiles again; each keeps its picture until then. */
  repaint(): void {
    for (const tile of this.#tiles.values()) this.#again(tile);
  }
}

function keyOf(level: number, column: number, line: number): string {
  return `${level}/${column}/${line}`;
}

/** Copies tiles to the canvas: all of them when the view moves, single seats while it rests. */
export class Screen {
  readonly #context: CanvasRenderingContext2D;
  readonly #camera: Camera;
  readonly #tiles: Tiles;
  readonly #marks: Marks;
  #paintedMs = 0;
  #slowFrames = 0;
  /** True from the first full picture on. */
  hasPicture = false;

  constructor(canvas: HTMLCanvasElement, camera: Camera, tiles: Tiles, marks: Marks) {
    this.#context = canvas.getContext("2d", { alpha: false })!;
    this.#camera = camera;
    this.#tiles = tiles;
    this.#marks = marks;
  }

  /** @returns True when every tile in view is complete. */
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

  /** Paints the pending changes in view, at rest. @returns True when every tile is complete. */
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

  /** To be called with each moved frame. @returns True after a run of slow frames. */
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
