/** The layout of a schema in the form of v1: sectors, rows and seats, each with its key. */
import { joinKey } from "../../engine/layout/composite-keys.ts";
import type { LayoutDocument, Sector } from "../../engine/layout/layout-document.ts";
import type { Layout } from "../../engine/layout/layout.ts";
import type { MetadataOptions } from "../routing/services.ts";
import { number, shapesByGroup, shapeView } from "../wire/views.ts";

/** Cost: O(objects of the layout). */
export function metadataView(document: LayoutDocument, layout: Layout, options: MetadataOptions) {
  const seats = new Map(document.seats.map((seat) => [seat.id, seat]));
  const shapes = shapesByGroup(document);
  const keyOf = (id: number, ...labels: readonly string[]) =>
    options.hasIds ? String(id) : joinKey(...labels);
  const rowsOf = (sector: Sector) => {
    const group = layout.groups.get(sector.id);
    const rows = sector.ga || group === undefined ? [] : layout.sections[group.index]!.rows;
    return rows.map((index, iy) => {
      const row = layout.rows[index]!;
      return {
        key: keyOf(row.id, sector.name, row.name),
        name: row.name,
        seats: Array.from(row.seats, (seat, ix) => {
          const { id, name, x, y } = seats.get(layout.seatIds[seat]!)!;
          return {
            key: keyOf(id, sector.name, row.name, name),
            name,
            x: x ?? undefined,
            y: y ?? undefined,
            ix,
            iy,
          };
        }),
      };
    });
  };
  const sectors = document.sectors.map((sector, i) => ({
    key: keyOf(sector.id, sector.name),
    name: options.isNumbered ? `${i + 1}. ${sector.name}` : sector.name,
    x: number(sector["x"]) ?? undefined,
    y: number(sector["y"]) ?? undefined,
    width: number(sector["width"]) ?? undefined,
    height: number(sector["height"]) ?? undefined,
    angle: number(sector["angle"]) ?? undefined,
    guid: sector.guid,
    id: sector.id,
    rows: rowsOf(sector),
    shapes: (shapes.get(sector.guid) ?? []).map(shapeView),
    labelOffsetX: number(sector["labelOffsetX"]) ?? undefined,
    labelOffsetY: number(sector["labelOffsetY"]) ?? undefined,
    labelStyle: sector["labelStyle"] ?? undefined,
    labelVisible: typeof sector["labelVisible"] === "boolean" ? sector["labelVisible"] : undefined,
  }));
  return { sectors };
}
