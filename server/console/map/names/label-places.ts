/**
 * Finds places for the short names of sections: outside the section, where neither seats nor other
 * names are. The search is done once for each level.
 */
import type { Box, Geometry } from "../geometry.ts";
import type { Grid } from "../grid.ts";
import { areaOf, boxOf, outlineOfDrawing, overlap } from "../outlines.ts";

/** The middle of a name in layout units; null where there is no room. */
export type LabelPlace = { readonly x: number; readonly y: number } | null;

interface Name {
  /** Layout units. */
  readonly width: number;
  readonly height: number;
}

/** Radians from the direction away from the middle. */
const TURNS = [0, 0.2, -0.2, 0.4, -0.4];
/** Between section and name, of the height of the name. */
const GAP = 0.15;

export class LabelPlaces {
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

  /** A block that is square to the page has its name below or above; one of a ring, outside. */
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

/** How far an outline reaches in a direction. */
function reachOf(outline: Float32Array, { cx, cy, ux, uy }: Ray): number {
  let reach = 0;
  for (let i = 0; i < outline.length; i += 2) {
    reach = Math.max(reach, (outline[i]! - cx) * ux + (outline[i + 1]! - cy) * uy);
  }
  return reach;
}

/** Whether the outline takes nearly all of its box. */
function fills(outline: Float32Array, box: Box): boolean {
  return areaOf(outline) > (box.right - box.left) * (box.bottom - box.top) * 0.93;
}
