/** What is above the seats: selection, found seats, the seat at the pointer, the rectangle. */
import type { Camera } from "./camera.ts";
import type { Box, Geometry } from "./geometry.ts";
import type { Hit } from "./hits.ts";
import { traceAlongRow } from "./marks.ts";
import type { Palette } from "./palette.ts";

/** A seat that has just changed. */
export interface Pulse {
  readonly seat: number;
  readonly startMs: number;
}

export const PULSE_MS = 700;

interface Overlay {
  readonly ratio: number;
  readonly palette: Palette;
  readonly geometry: Geometry;
  readonly selected: ReadonlySet<number>;
  readonly highlighted: readonly number[];
  readonly hovered: Hit | null;
  readonly pulses: readonly Pulse[];
  readonly nowMs: number;
  /** CSS pixels. */
  readonly box: Box | null;
}

export function paintOverlay(
  canvas: CanvasRenderingContext2D,
  camera: Camera,
  overlay: Overlay,
): void {
  const { ratio, palette, selected, highlighted, hovered, box } = overlay;
  paintPulses(canvas, camera, overlay);
  canvas.lineWidth = 1.5 * ratio;
  canvas.strokeStyle = palette.accent;
  canvas.beginPath();
  for (const seat of selected) frameSeat(canvas, camera, overlay.geometry, seat);
  canvas.stroke();
  canvas.strokeStyle = palette.ink;
  canvas.lineWidth = 2 * ratio;
  const rings = hovered?.kind === "seat" ? [...highlighted, hovered.seat] : highlighted;
  for (const seat of rings) ringSeat(canvas, camera, overlay, seat);
  if (box === null) return;
  const { left, top, right, bottom } = box;
  const rectangle = [left, top, right - left, bottom - top].map((value) => value * ratio);
  const [x = 0, y = 0, width = 0, height = 0] = rectangle;
  canvas.strokeStyle = palette.accent;
  canvas.lineWidth = ratio;
  canvas.globalAlpha = 0.12;
  canvas.fillStyle = palette.accent;
  canvas.fillRect(x, y, width, height);
  canvas.globalAlpha = 1;
  canvas.strokeRect(x, y, width, height);
}

/** A ring that grows and fades. */
function paintPulses(canvas: CanvasRenderingContext2D, camera: Camera, overlay: Overlay): void {
  const { geometry, palette, pulses, nowMs, ratio } = overlay;
  canvas.strokeStyle = palette.ink;
  canvas.lineWidth = 1.5 * ratio;
  for (const { seat, startMs } of pulses) {
    const age = Math.min(1, (nowMs - startMs) / PULSE_MS);
    const radius = geometry.pitch * camera.scale * (0.5 + age) + 4 * ratio * age;
    canvas.globalAlpha = 0.7 * (1 - age);
    canvas.beginPath();
    const [x, y] = [camera.toScreenX(geometry.x[seat]!), camera.toScreenY(geometry.y[seat]!)];
    canvas.arc(x, y, radius, 0, 2 * Math.PI);
    canvas.stroke();
  }
  canvas.globalAlpha = 1;
}

function frameSeat(
  canvas: CanvasRenderingContext2D,
  camera: Camera,
  geometry: Geometry,
  seat: number,
): void {
  const { x, y, rows, rowOfSeat } = geometry;
  const [cx, cy] = [camera.toScreenX(x[seat]!), camera.toScreenY(y[seat]!)];
  const { width, height } = camera.size;
  if (cx < -50 || cy < -50 || cx > width + 50 || cy > height + 50) return;
  const { pitch, depth } = rows[rowOfSeat[seat]!]!;
  const [a, b] = [pitch * 0.48 * camera.scale, Math.min(depth, pitch * 1.7) * 0.48 * camera.scale];
  traceAlongRow(canvas, geometry, seat, { cx, cy, a, b });
}

function ringSeat(
  canvas: CanvasRenderingContext2D,
  camera: Camera,
  { geometry, ratio }: Overlay,
  seat: number,
): void {
  const { x, y, rows, rowOfSeat } = geometry;
  const { pitch } = rows[rowOfSeat[seat]!]!;
  const radius = Math.max(pitch * camera.scale * 0.85, 7 * ratio);
  canvas.beginPath();
  canvas.arc(camera.toScreenX(x[seat]!), camera.toScreenY(y[seat]!), radius, 0, 2 * Math.PI);
  canvas.stroke();
}
