/** The buttons of the map. */
import type { Signal } from "@preact/signals";
import type { RefObject } from "preact";
import type { SeatMap } from "../map/seat-map.ts";
import { TEXTS } from "../texts.ts";
import { Icon } from "./icon.tsx";

interface MapToolsProps {
  readonly map: RefObject<SeatMap | null>;
  readonly isBoxMode: Signal<boolean>;
  readonly onBox?: unknown;
  readonly onList?: () => void;
}

export function MapTools({ map, isBoxMode, onBox, onList }: MapToolsProps) {
  const tool = (name: "plus" | "minus" | "fit" | "list", label: string, onClick: () => void) => (
    <button type="button" aria-label={label} title={label} onClick={onClick}>
      <Icon name={name} />
    </button>
  );
  return (
    <div class="map-tools">
      {tool("plus", TEXTS.map.zoomIn, () => map.current?.zoomBy(1))}
      {tool("minus", TEXTS.map.zoomOut, () => map.current?.zoomBy(-1))}
      {tool("fit", TEXTS.map.fit, () => map.current?.fit())}
      {onBox !== undefined && (
        <button
          type="button"
          aria-label={TEXTS.box}
          title={TEXTS.box}
          aria-pressed={isBoxMode.value}
          onClick={() => (isBoxMode.value = !isBoxMode.value)}
        >
          <Icon name="box" />
        </button>
      )}
      {onList !== undefined && tool("list", TEXTS.list.open, onList)}
    </div>
  );
}
