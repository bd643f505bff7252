/**
 * The seat map on an element: tiles on one canvas; names, selection and hover on another above it.
 * It knows nothing of the page around it.
 */
import { Camera, type Insets } from "./camera.ts";
import type { Box, Geometry } from "./geometry.ts";
import { type DragMode, Gestures } from "./gestures.ts";
import { Grid } from "./grid.ts";
import { Ground } from "./ground.ts";
import type { Hit, Modifiers, Point } from "./hits.ts";
import { Labels } from "./labels.ts";
import type { LiveSeats } from "./live-seats.ts";
import { type Colouring, Marks } from "./marks.ts";
import { paintOverlay } from "./overlay.ts";
import type { Palette } from "./palette.ts";
import { TILE_PIXELS, Tiles } from "./tiles.ts";

export interface MapEvents {
  /** Null when the pointer is at nothing. */
  readonly onHover?: (hit: Hit | null, at: Point) => void;
  readonly onPick?: (hit: Hit | null, at: Point, modifiers: Modifiers) => void;
  /** Seats of a rectangle that was drawn. */
  readonly onBox?: (seats: readonly number[], modifiers: Modifiers) => void;
  readonly onView?: () => void;
}

export interface MapOptions extends MapEvents {
  readonly geometry: Geometry;
  readonly live: LiveSeats;
  readonly palette: Palette;
  readonly colorBy?: Colouring;
  readonly hasMotion?: boolean;
}

/** Milliseconds of a frame for painting tiles. */
const PAINT_MS = 7;
const FIRST_PAINT_MS = 40;
const RATIO_MAX = 2;
const SETTLE_MS = 160;
const LABELS_MS = 250;
/** CSS pixels for the names around the outermost sections. */
const NAME_MARGIN = 26;
/** With more changed seats than this a tile is copied as a whole. */
const COPIES_MAX = 40;
/** The mark that a browser's tools show at the first full picture. */
const PAINTED = "frontrow: painted";

export class SeatMap {
  readonly camera = new Camera();
  readonly #element: HTMLElement;
  readonly #base: HTMLCanvasElement;
  readonly #over: HTMLCanvasElement;
  readonly #options: MapOptions;
  readonly #marks: Marks;
  readonly #ground: Ground;
  readonly #grid: Grid;
  readonly #tiles: Tiles;
  readonly #labels: Labels;
  readonly #gestures: Gestures;
  readonly #observer: ResizeObserver;
  #ratio = 1;
  #selected: ReadonlySet<number> = new Set();
  #highlighted: readonly number[] = [];
  #hovered: Hit | null = null;
  #box: Box | null = null;
  #frame = 0;
  #covered: Partial<Insets> = {};
  #isBaseStale = true;
  #isChanged = false;
  #labelsTimer = 0;
  #isOverStale = true;
  #isWhole = false;
  #settleAt = 0;

  constructor(element: HTMLElement, options: MapOptions) {
    this.#element = element;
    this.#options = options;
    this.#base = canvasIn(element);
    this.#over = canvasIn(element);
    this.#marks = new Marks(options.geometry, options.live, options.palette);
    this.#marks.colouring = options.colorBy ?? "state";
    this.#ground = new Ground(this.#marks);
    this.#grid = new Grid(options.geometry);
    this.#tiles = new Tiles(this.camera, this.#marks, this.#ground, this.#grid);
    this.#labels = new Labels(options.geometry, this.#grid);
    this.#labels.countAll(options.live);
    this.#gestures = new Gestures(element, this);
    this.#observer = new ResizeObserver(() => this.#resize(this.camera.zoom === 0));
    this.#observer.observe(element);
    this.#resize(true);
  }

  /** Draws everything again: other states, or another moment. */
  draw(live: LiveSeats = this.#marks.live): void {
    this.#marks.live = live;
    this.#labels.countAll(live);
    this.#tiles.repaint();
    this.#stale();
  }

  /** Draws seats and areas whose state has changed. */
  change(seats: ArrayLike<number>, areas: readonly number[] = []): void {
    this.#tiles.change(seats);
    for (const area of areas) this.#tiles.changeArea(area);
    const isCounted = this.#labels.count(this.#marks.live, seats);
    this.#isChanged = true;
    this.#schedule();
    // Names with their shares follow a few times a second: nobody reads faster.
    if (!isCounted && areas.length === 0) return;
    this.#labelsTimer ||= window.setTimeout(() => {
      this.#labelsTimer = 0;
      this.#staleOver();
    }, LABELS_MS);
  }

  set colorBy(colouring: Colouring) {
    this.#marks.colouring = colouring;
    this.draw();
  }

  set palette(palette: Palette) {
    this.#marks.palette = palette;
    this.draw();
  }

  /** States that are faded, because the legend excludes them. */
  set faded(states: ReadonlySet<number>) {
    this.#marks.hidden = states;
    this.draw();
  }

  /** What a drag does without Shift. */
  set dragMode(mode: DragMode) {
    this.#gestures.mode = mode;
  }

  select(seats: ReadonlySet<number>): void {
    this.#selected = seats;
    this.#staleOver();
  }

  /** Rings around seats that were found. */
  highlight(seats: readonly number[]): void {
    this.#highlighted = seats;
    this.#staleOver();
  }

  fit(): void {
    this.camera.fit();
    this.#stale();
  }

  /** @param factor - Levels; two of them double the scale. */
  zoomBy(levels: number, at?: Point): void {
    const { width, height } = this.camera.size;
    const x = at === undefined ? width / 2 : at.x * this.#ratio;
    const y = at === undefined ? height / 2 : at.y * this.#ratio;
    this.camera.zoomTo(this.camera.zoom + levels, x, y);
    this.#settleAt = performance.now() + SETTLE_MS;
    this.#stale();
  }

  /** @param dx - CSS pixels by which the picture moves. */
  panBy(dx: number, dy: number): void {
    this.camera.pan(dx * this.#ratio, dy * this.#ratio);
    this.#stale();
  }

  /** Moves to a seat, a section or an area. */
  show(hit: Hit): void {
    const { geometry } = this.#options;
    if (hit.kind === "area") this.camera.show(geometry.areas[hit.area]!.box);
    else if (hit.kind === "section") this.camera.show(geometry.sections[hit.section]!.box);
    else {
      const [x, y] = [geometry.x[hit.seat]!, geometry.y[hit.seat]!];
      const reach = geometry.pitch * 14;
      this.camera.show({ left: x - reach, top: y - reach, right: x + reach, bottom: y + reach });
    }
    this.#stale();
  }

  /** @returns What is there; null for nothing. */
  hitAt({ x, y }: Point): Hit | null {
    const { geometry, live } = { geometry: this.#options.geometry, live: this.#marks.live };
    const [lx, ly] = [
      this.camera.toLayoutX(x * this.#ratio),
      this.camera.toLayoutY(y * this.#ratio),
    ];
    const seat = this.#grid.at(lx, ly);
    if (seat >= 0 && live.states[seat] !== 0) return { kind: "seat", seat };
    const area = geometry.areas.findIndex(({ box }) => isIn(box, lx, ly));
    if (area >= 0) return { kind: "area", area };
    const section = geometry.sections.findIndex(({ box }) => isIn(box, lx, ly));
    return section >= 0 ? { kind: "section", section } : null;
  }

  /** Where a seat is on the map, in CSS pixels. */
  placeOf(seat: number): Point {
    const { x, y } = this.#options.geometry;
    const [px, py] = [this.camera.toScreenX(x[seat]!), this.camera.toScreenY(y[seat]!)];
    return { x: px / this.#ratio, y: py / this.#ratio };
  }

  hover(at: Point | null): void {
    this.#hovered = at === null ? null : this.hitAt(at);
    this.#options.onHover?.(this.#hovered, at ?? { x: 0, y: 0 });
    this.#staleOver();
  }

  pick(at: Point, modifiers: Modifiers): void {
    this.#options.onPick?.(this.hitAt(at), at, modifiers);
  }

  /** Shows a rectangle while it is drawn. @param box - CSS pixels; null when it has ended. */
  drawBox(box: Box | null): void {
    this.#box = box;
    this.#staleOver();
  }

  pickBox(box: Box, modifiers: Modifiers): void {
    const [left, top] = [box.left * this.#ratio, box.top * this.#ratio];
    const [right, bottom] = [box.right * this.#ratio, box.bottom * this.#ratio];
    const seats = this.#grid.within({
      left: this.camera.toLayoutX(left),
      top: this.camera.toLayoutY(top),
      right: this.camera.toLayoutX(right),
      bottom: this.camera.toLayoutY(bottom),
    });
    this.#options.onBox?.(seats, modifiers);
  }

  /** Whether every tile in view is painted. */
  get isComplete(): boolean {
    return this.#isWhole && !this.#isBaseStale && !this.#isOverStale;
  }

  destroy(): void {
    clearTimeout(this.#labelsTimer);
    cancelAnimationFrame(this.#frame);
    this.#gestures.destroy();
    this.#observer.disconnect();
    this.#base.remove();
    this.#over.remove();
  }

  /** Device pixels at each side that stay free when everything is shown. */
  #insets(): Insets {
    const { left = 0, top = 0, right = 0, bottom = 0 } = this.#covered;
    const sides = { left, top, right, bottom };
    const margin = (side: number) => (side + NAME_MARGIN) * this.#ratio;
    return {
      left: margin(sides.left),
      top: margin(sides.top),
      right: margin(sides.right),
      bottom: margin(sides.bottom),
    };
  }

  /** CSS pixels at each side that panels of the page cover. */
  set covered(sides: Partial<Insets>) {
    this.#covered = sides;
    this.#resize(this.camera.zoom === 0);
  }

  #resize(isFirst: boolean): void {
    const { clientWidth, clientHeight } = this.#element;
    this.#ratio = Math.min(window.devicePixelRatio || 1, RATIO_MAX);
    const width = Math.max(1, Math.round(clientWidth * this.#ratio));
    const height = Math.max(1, Math.round(clientHeight * this.#ratio));
    for (const canvas of [this.#base, this.#over]) {
      canvas.width = width;
      canvas.height = height;
    }
    const { geometry } = this.#options;
    this.camera.frame(geometry, { width, height }, this.#insets());
    this.#labels.resized();
    this.#tiles.ratio = this.#ratio;
    this.#tiles.clear();
    if (isFirst) this.camera.fit();
    this.#stale();
  }

  #stale(): void {
    this.#isBaseStale = true;
    this.#staleOver();
  }

  #staleOver(): void {
    this.#isOverStale = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#render());
  }

  #render(): void {
    this.#frame = 0;
    this.#settleZoom();
    const { camera } = this;
    if (this.#isBaseStale || (this.#isChanged && !(this.#isWhole && camera.isAtRest))) {
      this.#isBaseStale = false;
      this.#isChanged = false;
      this.#paintBase();
    } else if (this.#isChanged) {
      this.#isChanged = false;
      this.#paintChanges();
    }
    if (this.#isOverStale) {
      this.#isOverStale = false;
      this.#paintOver();
    }
    this.#options.onView?.();
  }

  /** After a zoom the view comes to rest on a level, at which tiles are sharp. */
  #settleZoom(): void {
    const { camera } = this;
    const distance = camera.level - camera.zoom;
    if (distance === 0) return;
    if (performance.now() < this.#settleAt) {
      this.#stale();
      return;
    }
    const step = Math.abs(distance) < 0.02 || this.#options.hasMotion === false ? 1 : 0.35;
    const zoom = step === 1 ? camera.level : camera.zoom + distance * step;
    camera.zoomTo(zoom, camera.size.width / 2, camera.size.height / 2);
    if (camera.zoom !== camera.level) this.#stale();
    else this.#isBaseStale = true;
  }

  #paintBase(): void {
    const canvas = this.#base.getContext("2d", { alpha: false })!;
    const { camera } = this;
    const { width, height } = camera.size;
    const { level, scale } = camera;
    const ofLevel = camera.scaleOf(level);
    const size = (TILE_PIXELS * scale) / ofLevel;
    const { x: left, y: top } = camera.origin;
    const endMs = performance.now() + (this.#isWhole ? PAINT_MS : FIRST_PAINT_MS);
    let isWhole = true;
    canvas.fillStyle = this.#marks.palette.ground;
    canvas.fillRect(0, 0, width, height);
    for (let line = Math.floor(top / size); line * size < top + height; line++) {
      for (let column = Math.floor(left / size); column * size < left + width; column++) {
        const tile = this.#tiles.take(level, column, line);
        if (!this.#tiles.complete(tile, endMs)) isWhole = false;
        const [x, y] = [column * size - left, line * size - top];
        if (scale === ofLevel) canvas.drawImage(tile.canvas, x, y);
        else canvas.drawImage(tile.canvas, x, y, size, size);
      }
    }
    if (!isWhole) this.#stale();
    else if (!this.#isWhole) {
      this.#isWhole = true;
      performance.mark(PAINTED);
    }
  }

  /** Paints changed seats in the tiles in view, and copies just these places to the screen. */
  #paintChanges(): void {
    const canvas = this.#base.getContext("2d", { alpha: false })!;
    const { scale, level, origin, size } = this.camera;
    const { x, y } = this.#options.geometry;
    const half = Math.ceil(this.#options.geometry.pitch * scale * 1.25);
    const endMs = performance.now() + PAINT_MS;
    for (const tile of this.#tiles.inView(level, origin, size)) {
      const { pending } = tile;
      const isWholeTile = pending.length > COPIES_MAX || tile.pendingAreas.size > 0;
      const hasWork = tile.work !== null;
      if (pending.length === 0 && !isWholeTile && !hasWork) continue;
      if (!this.#tiles.complete(tile, endMs)) this.#stale();
      const [left, top] = [tile.column * TILE_PIXELS, tile.line * TILE_PIXELS];
      if (isWholeTile || hasWork) {
        canvas.drawImage(tile.canvas, left - origin.x, top - origin.y);
        continue;
      }
      for (const seat of pending) {
        const [cx, cy] = [Math.round(x[seat]! * scale) - left, Math.round(y[seat]! * scale) - top];
        const [fromX, fromY] = [Math.max(0, cx - half), Math.max(0, cy - half)];
        const width = Math.min(TILE_PIXELS, cx + half) - fromX;
        const height = Math.min(TILE_PIXELS, cy + half) - fromY;
        if (width <= 0 || height <= 0) continue;
        const [toX, toY] = [left + fromX - origin.x, top + fromY - origin.y];
        canvas.drawImage(tile.canvas, fromX, fromY, width, height, toX, toY, width, height);
      }
    }
  }

  #paintOver(): void {
    const canvas = this.#over.getContext("2d")!;
    canvas.clearRect(0, 0, this.camera.size.width, this.camera.size.height);
    const { palette, live, geometry } = this.#marks;
    const look = { ratio: this.#ratio, palette, live };
    this.#labels.paint(canvas, this.camera, look);
    paintOverlay(canvas, this.camera, {
      ...look,
      geometry,
      selected: this.#selected,
      highlighted: this.#highlighted,
      hovered: this.#hovered,
      box: this.#box,
    });
  }
}

function isIn({ left, top, right, bottom }: Box, x: number, y: number): boolean {
  return x >= left && x < right && y >= top && y < bottom;
}

function canvasIn(element: HTMLElement): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.className = "map-canvas";
  canvas.setAttribute("aria-hidden", "true");
  element.append(canvas);
  return canvas;
}
