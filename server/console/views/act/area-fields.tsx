/** Numbers of places in the areas that are selected. */
import { TEXTS } from "../../texts.ts";
import { Icon } from "../icon.tsx";
import type { LiveProps } from "./seat-names.ts";

export function AreaFields({ event, selection }: LiveProps) {
  const text = (value: number) => value.toLocaleString("en");
  return (
    <>
      {[...selection.places.value].map(([area, count]) => {
        const { active, locked, capacity } = event.seats.areas[area]!;
        const name = event.geometry.areas[area]!.name;
        return (
          <div class="area-line" key={area}>
            <label>
              <strong>{TEXTS.act.area(name)}</strong>
              <input
                type="number"
                min="1"
                max={capacity}
                value={count}
                onInput={({ currentTarget: { valueAsNumber } }) =>
                  selection.setPlaces(area, Math.max(1, Math.floor(valueAsNumber) || 1))
                }
              />
            </label>
            <span class="note">{TEXTS.act.areaCounts(text(active), text(locked))}</span>
            <button
              type="button"
              class="icon-button"
              aria-label={`${TEXTS.act.leaveOut(1)}: ${name}`}
              onClick={() => selection.setPlaces(area, 0)}
            >
              <Icon name="close" />
            </button>
          </div>
        );
      })}
    </>
  );
}
