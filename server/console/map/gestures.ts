/** Pointer, wheel, fingers and keys, as movements of the map. */
import type { Box } from "./geometry.ts";

const CLICK_PIXELS = 4;
const WHEEL_PIXELS_PER_LEVEL = 120;
const KEY_PIXELS = 80;

/** The topmost thing at a point of the map, as an index into the geometry. */
export type Hit =
  | { readonly kind: "seat"; readonly seat: number }
  | { readonly kind: "section"; readonly section: number }
  | { readonly kind: "area"; readonly area: number };

/** CSS pixels from the corner of the map. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Modifiers {
  readonly shift: boolean;
  readonly ctrl: boolean;
}

/** Receives the gestures. Points and distances are in CSS pixels. */
interface GestureTarget {
  hover(at: Point | null): void;
  pick(at: Point, modifiers: Modifiers): void;
  drawBox(box: Box | null): void;
  pickBox(box: Box, modifiers: Modifiers): void;
  panBy(dx: number, dy: number): void;
  /** Two levels double the scale. */
  zoomBy(levels: number, at?: Point): void;
  fit(): void;
}

/** A drag moves the map, or draws a rectangle. */
export type DragMode = "pan" | "box";

export class Gestures {
  mode: DragMode = "pan";
  readonly #element: HTMLElement;
  readonly #map: GestureTarget;
  readonly #end = new AbortController();
  /** By pointer. */
  readonly #points = new Map<number, Point>();
  #start: Point | null = null;
  #isDrag = false;
  #isBox = false;
  #pinch = 0;

  constructor(element: HTMLElement, map: GestureTarget) {
    this.#element = element;
    this.#map = map;
    const { signal } = this.#end;
    element.addEventListener("pointerdown", (event) => this.#down(event), { signal });
    element.addEventListener("pointermove", (event) => this.#move(event), { signal });
    element.addEventListener("pointerup", (event) => this.#up(event), { signal });
    element.addEventListener("pointercancel", (event) => this.#up(event), { signal });
    element.addEventListener("pointerleave", () => this.#map.hover(null), { signal });
    element.addEventListener("wheel", (event) => this.#wheel(event), { signal, passive: false });
    element.addEventListener("keydown", (event) => this.#key(event), { signal });
  }

  destroy(): void {
    this.#end.abort();
  }

  #pointOf(event: MouseEvent): Point {
    const { left, top } = this.#element.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  }

  #down(event: PointerEvent): void {
    if (event.button !== 0) return;
    const point = this.#pointOf(event);
    this.#element.setPointerCapture(event.pointerId);
    this.#points.set(event.pointerId, point);
    this.#start = point;
    this.#isDrag = this.#points.size > 1;
    this.#isBox = this.#points.size === 1 && (event.shiftKey || this.mode === "box");
    this.#pinch = 0;
  }

  #move(event: PointerEvent): void {
    const point = this.#pointOf(event);
    const before = this.#points.get(event.pointerId);
    if (before === undefined || this.#start === null) {
      if (event.pointerType !== "touch") this.#map.hover(point);
      return;
    }
    const moved = Math.hypot(point.x - this.#start.x, point.y - this.#start.y);
    if (moved > CLICK_PIXELS) this.#isDrag = true;
    if (!this.#isDrag) return;
    const centreBefore = this.#centre();
    this.#points.set(event.pointerId, point);
    if (this.#isBox) {
      this.#map.drawBox(boxBetween(this.#start, point));
      return;
    }
    const centre = this.#centre();
    this.#map.panBy(centre.x - centreBefore.x, centre.y - centreBefore.y);
    if (this.#points.size === 2) this.#zoomByPinch(centre);
  }

  #zoomByPinch(centre: Point): void {
    const [a, b] = [...this.#points.values()];
    const distance = Math.hypot(a!.x - b!.x, a!.y - b!.y);
    if (this.#pinch > 0 && distance > 0) {
      this.#map.zoomBy(2 * Math.log2(distance / this.#pinch), centre);
    }
    this.#pinch = distance;
  }

  #centre(): Point {
    const points = [...this.#points.values()];
    const sum = (member: "x" | "y") => points.reduce((total, point) => total + point[member], 0);
    return { x: sum("x") / points.length, y: sum("y") / points.length };
  }

  #up(event: PointerEvent): void {
    if (!this.#points.delete(event.pointerId) || this.#start === null) return;
    const point = this.#pointOf(event);
    if (this.#isBox && this.#isDrag) {
      this.#map.drawBox(null);
      if (event.type === "pointerup")
        this.#map.pickBox(boxBetween(this.#start, point), modifiersOf(event));
    } else if (!this.#isDrag && event.type === "pointerup") {
      this.#map.pick(point, modifiersOf(event));
    }
    this.#pinch = 0;
    if (this.#points.size > 0) return;
    this.#start = null;
    this.#isDrag = false;
  }

  #wheel(event: WheelEvent): void {
    event.preventDefault();
    const pixels = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY;
    const levels = -pixels / (event.ctrlKey ? WHEEL_PIXELS_PER_LEVEL / 6 : WHEEL_PIXELS_PER_LEVEL);
    this.#map.zoomBy(Math.max(-2, Math.min(2, levels)), this.#pointOf(event));
  }

  #key(event: KeyboardEvent): void {
    if (event.target !== this.#element || event.altKey || event.ctrlKey || event.metaKey) return;
    const action = this.#actionOf(event.key);
    if (action === null) return;
    event.preventDefault();
    action();
  }

  #actionOf(key: string): (() => void) | null {
    const map = this.#map;
    switch (key) {
      case "ArrowLeft":
        return () => map.panBy(KEY_PIXELS, 0);
      case "ArrowRight":
        return () => map.panBy(-KEY_PIXELS, 0);
      case "ArrowUp":
        return () => map.panBy(0, KEY_PIXELS);
      case "ArrowDown":
        return () => map.panBy(0, -KEY_PIXELS);
      case "+":
      case "=":
        return () => map.zoomBy(1);
      case "-":
        return () => map.zoomBy(-1);
      case "0":
        return () => map.fit();
      default:
        return null;
    }
  }
}

function modifiersOf({ shiftKey, ctrlKey, metaKey }: MouseEvent): Modifiers {
  return { shift: shiftKey, ctrl: ctrlKey || metaKey };
}

function boxBetween(a: Point, b: Point): Box {
  return {
    left: Math.min(a.x, b.x),
    top: Math.min(a.y, b.y),
    right: Math.max(a.x, b.x),
    bottom: Math.max(a.y, b.y),
  };
}
