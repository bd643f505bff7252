/**
 * The seat map on an element: tiles on one canvas; names, selection and hover on another above it.
 * It knows nothing of the page around it.
 */
import { Camera, type Insets } from "./camera.ts";
import { type Box, type Geometry, Grid, isInside } from "./geometry.ts";
import { type DragMode, Gestures, type Hit, type Modifiers, type Point } from "./gestures.ts";
import { Labels, paintOverlay, type Pulse, PULSE_MS } from "./overlay.ts";
import { type Colouring, Ground, Marks, type Palette } from "./paint.ts";
import type { LiveSeats } from "./seats.ts";
import { Screen, Tiles } from "./tiles.ts";

interface MapOptions {
  readonly geometry: Geometry;
  readonly live: LiveSeats;
  readonly palette: Palette;
  /** False for people who prefer reduced motion. */
  readonly hasMotion: boolean;
  /** Null when the pointer is at nothing. */
  readonly onHover: (hit: Hit | null, at: Point) => void;
  readonly onPick: (hit: Hit | null, modifiers: Modifiers) => void;
  /** Seats inside the drawn rectangle. */
  readonly onBox: (seats: readonly number[], modifiers: Modifiers) => void;
}

const RATIO_MAX = 2;
const SETTLE_MS = 160;
const LABELS_MS = 250;
/** Between two paintings of changes: every second frame. Nobody sees a seat change faster. */
const CHANGES_MS = 25;
const PULSES_MAX = 16;
/** CSS pixels for the names around the outermost sections. */
const NAME_MARGIN = 32;
/** Performance mark at the first full picture. */
const PAINTED = "frontrow: painted";

export class SeatMap {
  readonly #camera = new Camera();
  readonly #element: HTMLElement;
  readonly #base: HTMLCanvasElement;
  readonly #over: HTMLCanvasElement;
  readonly #options: MapOptions;
  readonly #marks: Marks;
  readonly #ground: Ground;
  readonly #grid: Grid;
  readonly #tiles: Tiles;
  readonly #screen: Screen;
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
  #pulses: Pulse[] = [];
  #ratioMax = RATIO_MAX;
  #isBaseStale = true;
  #isChanged = false;
  #changesPaintedMs = 0;
  #labelsTimer = 0;
  #isOverStale = true;
  #settleAt = 0;

  constructor(element: HTMLElement, options: MapOptions) {
    this.#element = element;
    this.#options = options;
    this.#base = canvasIn(element);
    this.#over = canvasIn(element);
    this.#marks = new Marks(options.geometry, options.live, options.palette);
    this.#grid = new Grid(options.geometry);
    this.#ground = new Ground(this.#marks, this.#grid);
    this.#tiles = new Tiles(this.#camera, this.#marks, this.#ground, this.#grid);
    this.#screen = new Screen(this.#base, this.#camera, this.#tiles, this.#marks);
    this.#labels = new Labels(options.geometry, this.#grid);
    this.#labels.countAll(options.live);
    this.#gestures = new Gestures(element, this);
    this.#observer = new ResizeObserver(() => this.#resize(this.#camera.zoom === 0));
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
  change(seats: readonly number[], areas: readonly number[]): void {
    this.#tiles.change(seats);
    for (const area of areas) this.#tiles.changeArea(area);
    this.#pulse(seats);
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

  /** Draws attention to a few changes; where much happens, it would only be noise. */
  #pulse(seats: readonly number[]): void {
    if (!this.#options.hasMotion || seats.length > PULSES_MAX) return;
    const startMs = performance.now();
    const room = PULSES_MAX - this.#pulses.length;
    const added = seats.slice(0, Math.max(0, room));
    this.#pulses.push(...added.map((seat) => ({ seat, startMs })));
    if (added.length > 0) this.#staleOver();
  }

  set colorBy(colouring: Colouring) {
    this.#marks.colouring = colouring;
    this.draw();
  }

  set palette(palette: Palette) {
    this.#marks.palette = palette;
    this.draw();
  }

  /** Faded states: excluded by the legend. */
  set faded(states: ReadonlySet<number>) {
    this.#marks.faded = states;
    this.draw();
  }

  /** The effect of a drag without Shift. */
  set dragMode(mode: DragMode) {
    this.#gestures.mode = mode;
  }

  select(seats: ReadonlySet<number>): void {
    this.#selected = seats;
    this.#staleOver();
  }

  /** Rings around seats. */
  highlight(seats: readonly number[]): void {
    this.#highlighted = seats;
    this.#staleOver();
  }

  fit(): void {
    this.#camera.fit();
    this.#stale();
  }

  /** Two levels double the scale. @param at - Stays where it is; the middle when not given. */
  zoomBy(levels: number, at?: Point): void {
    const { width, height } = this.#camera.size;
    const x = at === undefined ? width / 2 : at.x * this.#ratio;
    const y = at === undefined ? height / 2 : at.y * this.#ratio;
    this.#camera.zoomTo(this.#camera.zoom + levels, x, y);
    this.#settleAt = performance.now() + SETTLE_MS;
    this.#stale();
  }

  /** @param dx - Movement of the picture in CSS pixels. */
  panBy(dx: number, dy: number): void {
    this.#camera.pan(dx * this.#ratio, dy * this.#ratio);
    this.#stale();
  }

  #hitAt({ x, y }: Point): Hit | null {
    const { geometry } = this.#options;
    const lx = this.#camera.toLayoutX(x * this.#ratio);
    const ly = this.#camera.toLayoutY(y * this.#ratio);
    const seat = this.#grid.at(lx, ly);
    if (seat >= 0) return { kind: "seat", seat };
    const area = geometry.areas.findIndex(({ box }) => isInside(box, lx, ly));
    if (area >= 0) return { kind: "area", area };
    const section = geometry.sections.findIndex(({ box }) => isInside(box, lx, ly));
    return section >= 0 ? { kind: "section", section } : null;
  }

  hover(at: Point | null): void {
    this.#hovered = at === null ? null : this.#hitAt(at);
    this.#options.onHover(this.#hovered, at ?? { x: 0, y: 0 });
    this.#staleOver();
  }

  pick(at: Point, modifiers: Modifiers): void {
    this.#options.onPick(this.#hitAt(at), modifiers);
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
      left: this.#camera.toLayoutX(left),
      top: this.#camera.toLayoutY(top),
      right: this.#camera.toLayoutX(right),
      bottom: this.#camera.toLayoutY(bottom),
    });
    this.#options.onBox(seats, modifiers);
  }

  destroy(): void {
    clearTimeout(this.#labelsTimer);
    cancelAnimationFrame(this.#frame);
    this.#gestures.destroy();
    this.#observer.disconnect();
    this.#base.remove();
    this.#over.remove();
  }

  /** Device pixels kept free at each side when everything is shown. */
  #insets(): Insets {
    const { left = 0, top = 0, right = 0, bottom = 0 } = this.#covered;
    const margin = (side: number) => (side + NAME_MARGIN) * this.#ratio;
    return { left: margin(left), top: margin(top), right: margin(right), bottom: margin(bottom) };
  }

  /** CSS pixels covered by panels at each side. */
  set covered(sides: Partial<Insets>) {
    this.#covered = sides;
    this.#resize(this.#camera.zoom === 0);
  }

  #resize(isFirst: boolean): void {
    const { clientWidth, clientHeight } = this.#element;
    this.#ratio = Math.min(window.devicePixelRatio || 1, this.#ratioMax);
    const width = Math.max(1, Math.round(clientWidth * this.#ratio));
    const height = Math.max(1, Math.round(clientHeight * this.#ratio));
    for (const canvas of [this.#base, this.#over]) {
      canvas.width = width;
      canvas.height = height;
    }
    const { geometry } = this.#options;
    this.#camera.frame(geometry, { width, height }, this.#insets());
    this.#labels.resized();
    this.#tiles.ratio = this.#ratio;
    this.#tiles.clear();
    if (isFirst) this.#camera.fit();
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
    const camera = this.#camera;
    if (this.#isBaseStale || (this.#isChanged && !camera.isAtRest)) {
      this.#isBaseStale = false;
      this.#isChanged = false;
      this.#paintBase();
    } else if (this.#isChanged) {
      this.#paintChanges();
    }
    if (this.#isOverStale) {
      this.#isOverStale = false;
      this.#paintOver();
    }
  }

  /** After a zoom the view comes to rest on a level, where tiles are sharp. */
  #settleZoom(): void {
    const camera = this.#camera;
    const distance = camera.level - camera.zoom;
    if (distance === 0) return;
    if (performance.now() < this.#settleAt) {
      this.#stale();
      return;
    }
    const step = Math.abs(distance) < 0.02 || !this.#options.hasMotion ? 1 : 0.35;
    const zoom = step === 1 ? camera.level : camera.zoom + distance * step;
    camera.zoomTo(zoom, camera.size.width / 2, camera.size.height / 2);
    if (camera.zoom !== camera.level) this.#stale();
    else this.#isBaseStale = true;
  }

  #paintBase(): void {
    const isFirst = !this.#screen.hasPicture;
    const isWhole = this.#screen.paint();
    if (!isWhole) this.#stale();
    else if (isFirst) performance.mark(PAINTED);
    if (!this.#screen.isSlow() || this.#ratio <= 1) return;
    this.#ratioMax = Math.max(1, this.#ratio - 0.5);
    this.#resize(this.#camera.zoom === 0);
  }

  #paintChanges(): void {
    const nowMs = performance.now();
    if (nowMs - this.#changesPaintedMs < CHANGES_MS) return this.#schedule();
    this.#changesPaintedMs = nowMs;
    this.#isChanged = false;
    if (!this.#screen.paintChanges()) this.#stale();
  }

  #paintOver(): void {
    const canvas = this.#over.getContext("2d")!;
    canvas.clearRect(0, 0, this.#camera.size.width, this.#camera.size.height);
    const { palette, live, geometry } = this.#marks;
    const look = { ratio: this.#ratio, palette, live };
    const nowMs = performance.now();
    this.#pulses = this.#pulses.filter(({ startMs }) => nowMs - startMs < PULSE_MS);
    if (this.#pulses.length > 0) this.#staleOver();
    this.#labels.paint(canvas, this.#camera, look);
    paintOverlay(canvas, this.#camera, {
      ...look,
      geometry,
      selected: this.#selected,
      highlighted: this.#highlighted,
      hovered: this.#hovered,
      box: this.#box,
      pulses: this.#pulses,
      nowMs,
    });
  }
}

function canvasIn(element: HTMLElement): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.className = "map-canvas";
  canvas.setAttribute("aria-hidden", "true");
  element.append(canvas);
  return canvas;
}
