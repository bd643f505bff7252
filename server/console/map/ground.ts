/** Paints what is below the seats: blocks, the stage and other shapes, and areas as they fill. */
import type { Drawing } from "../../layouts/geometry-columns.ts";
import type { Area, Box, Geometry } from "./geometry.ts";
import type { Grid } from "./grid.ts";
import type { AreaCounts } from "./live-seats.ts";
import type { Canvas, Frame, Marks } from "./marks.ts";
import { boxOf, outlineOfDrawing, overlap } from "./outlines.ts";

const LETTER_PIXELS = 12;
/** Rows that are closer, in CSS pixels, have no letters. */
const LETTER_DEPTH_MIN = 11;

interface PlacedShape {
  readonly shape: Drawing;
  readonly outline: Float32Array;
  readonly box: Box;
}

export class Ground {
  readonly #marks: Marks;
  readonly #grid: Grid;
  readonly #shapes: readonly PlacedShape[];

  constructor(marks: Marks, grid: Grid) {
    this.#marks = marks;
    this.#grid = grid;
    this.#shapes = marks.geometry.shapes.map((shape) => {
      const outline = outlineOfDrawing(shape);
      return { shape, outline, box: boxOf(outline) };
    });
  }

  get #geometry(): Geometry {
    return this.#marks.geometry;
  }

  /** @param box - What the canvas shows, in layout units. */
  paint(canvas: Canvas, frame: Frame, box: Box): void {
    const { palette } = this.#marks;
    for (const placed of this.#shapes) {
      if (overlap(placed.box, box)) this.#paintShape(canvas, frame, placed);
    }
    canvas.lineJoin = "round";
    canvas.lineWidth = frame.ratio;
    for (const section of this.#geometry.sections) {
      if (!overlap(section.box, box)) continue;
      trace(canvas, frame, section.outline);
      canvas.fillStyle = palette.block;
      canvas.fill();
      canvas.strokeStyle = palette.edge;
      canvas.stroke();
    }
    for (const [index, area] of this.#geometry.areas.entries()) {
      if (overlap(area.box, box)) this.paintArea(canvas, frame, index);
    }
  }

  #paintShape(canvas: Canvas, frame: Frame, { shape, outline, box }: PlacedShape): void {
    const { palette } = this.#marks;
    trace(canvas, frame, outline);
    const isStage = shape.text !== undefined && shape.text !== "";
    canvas.fillStyle = isStage ? palette.stage : palette.block;
    canvas.fill();
    if (!isStage) {
      canvas.strokeStyle = palette.edge;
      canvas.stroke();
      return;
    }
    const [width, height] = [
      (box.right - box.left) * frame.scale,
      (box.bottom - box.top) * frame.scale,
    ];
    const size = Math.min(height * 0.5, (width / (shape.text.length + 2)) * 1.2, 28 * frame.ratio);
    if (size < 6) return;
    canvas.fillStyle = palette.stageText;
    canvas.font = `600 ${size}px system-ui, sans-serif`;
    canvas.textAlign = "center";
    canvas.textBaseline = "middle";
    const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
    canvas.fillText(shape.text, x * frame.scale + frame.dx, y * frame.scale + frame.dy);
  }

  /** The area, filled from below: sold, then held. */
  paintArea(canvas: Canvas, frame: Frame, index: number): void {
    const { palette, live } = this.#marks;
    const area = this.#geometry.areas[index]!;
    canvas.save();
    trace(canvas, frame, area.outline);
    canvas.fillStyle = palette.free;
    canvas.fill();
    canvas.clip();
    this.#fillFromBelow(canvas, frame, area, live.areas[index]!);
    canvas.restore();
    trace(canvas, frame, area.outline);
    canvas.lineWidth = 1.5 * frame.ratio;
    canvas.strokeStyle = palette.freeRing;
    canvas.stroke();
  }

  #fillFromBelow(canvas: Canvas, frame: Frame, { box }: Area, counts: AreaCounts): void {
    const { palette } = this.#marks;
    const [top, bottom] = [box.top * frame.scale + frame.dy, box.bottom * frame.scale + frame.dy];
    const [left, width] = [box.left * frame.scale + frame.dx, (box.right - box.left) * frame.scale];
    const capacity = Math.max(1, counts.capacity);
    let level = bottom;
    const parts = [
      [counts.sold, palette.sold],
      [counts.locked, palette.held],
      [counts.blocked, palette.blocked],
    ] as const;
    for (const [count, colour] of parts) {
      const height = ((bottom - top) * count) / capacity;
      canvas.fillStyle = colour;
      canvas.fillRect(left, level - height, width, height);
      level -= height;
    }
  }

  /** Letters where rows begin. */
  paintLetters(canvas: Canvas, frame: Frame, box: Box): void {
    const { rows, sections, x, y, alongX, alongY } = this.#geometry;
    const size = LETTER_PIXELS * frame.ratio;
    canvas.font = `600 ${size}px system-ui, sans-serif`;
    canvas.textAlign = "center";
    canvas.textBaseline = "middle";
    canvas.fillStyle = this.#marks.palette.faint;
    for (const section of sections) {
      if (section.isTable || !overlap(section.box, box)) continue;
      const places = section.rows.flatMap((index) => {
        const { seats, name, pitch, depth } = rows[index]!;
        const first = seats[0];
        if (first === undefined || (depth * frame.scale) / frame.ratio < LETTER_DEPTH_MIN)
          return [];
        const away = pitch * 0.41 + (size * 0.6) / frame.scale;
        return [
          { name, x: x[first]! - alongX[first]! * away, y: y[first]! - alongY[first]! * away },
        ];
      });
      const middle = places[places.length >> 1];
      if (middle === undefined || this.#isTaken(middle, size / frame.scale)) continue;
      for (const place of places) {
        canvas.fillText(
          place.name,
          place.x * frame.scale + frame.dx,
          place.y * frame.scale + frame.dy,
        );
      }
    }
  }

  /** Whether a letter would touch a seat of the next section. @param size - Layout units. */
  #isTaken({ x, y }: { readonly x: number; readonly y: number }, size: number): boolean {
    const reach = size * 0.35 + this.#geometry.pitch * 0.36;
    const box = { left: x - reach, top: y - reach, right: x + reach, bottom: y + reach };
    return this.#grid.within(box).length > 0;
  }
}

export function trace(canvas: Canvas, { scale, dx, dy }: Frame, outline: Float32Array): void {
  canvas.beginPath();
  for (let i = 0; i < outline.length; i += 2) {
    canvas.lineTo(outline[i]! * scale + dx, outline[i + 1]! * scale + dy);
  }
  canvas.closePath();
}
