/** All seats as buttons with names: the map for the keyboard and for screen readers. */
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { SeatState } from "../../map/live-seats.ts";
import { TEXTS } from "../../texts.ts";
import { Icon } from "../icon.tsx";
import { type ActProps, describe } from "./seat-names.ts";

/** The names and counts follow the event once a second. */
const REFRESH_MS = 1_000;

export function SeatList(props: ActProps & { readonly onClose: () => void }) {
  const { onClose } = props;
  const closing = useRef<HTMLButtonElement>(null);
  const beat = useSignal(0);
  // Not later: it would take the focus from somebody who is faster.
  useLayoutEffect(() => closing.current!.focus(), []);
  useEffect(() => {
    const timer = setInterval(() => (beat.value += 1), REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <section
      class="seat-list"
      aria-label={TEXTS.list.title}
      onKeyDown={({ key }) => key === "Escape" && onClose()}
    >
      <header>
        <h2>{TEXTS.list.title}</h2>
        <button
          type="button"
          class="icon-button"
          aria-label={TEXTS.list.close}
          ref={closing}
          onClick={onClose}
        >
          <Icon name="close" />
        </button>
      </header>
      <p class="note">{TEXTS.list.hint}</p>
      <Groups {...props} beat={beat.value} />
    </section>
  );
}

interface BeatProps extends ActProps {
  /** Makes the list follow the event. */
  readonly beat: number;
}

function Groups(props: BeatProps) {
  const { event, selection } = props;
  const { sections, areas } = event.geometry;
  const open = useSignal(-1);
  return (
    <ul>
      {areas.map(({ id, name }, area) => {
        const { active, capacity } = event.seats.areas[area]!;
        return (
          <li key={id}>
            <button
              type="button"
              class="list-section"
              aria-pressed={selection.places.value.has(area)}
              onClick={() => selection.setPlaces(area, 1)}
            >
              <span>{name}</span>
              <span class="note">{seatsText(active, capacity)}</span>
            </button>
          </li>
        );
      })}
      {sections.map(({ id, name }, section) => (
        <li key={id}>
          <button
            type="button"
            class="list-section"
            aria-expanded={open.value === section}
            onClick={() => (open.value = open.value === section ? -1 : section)}
          >
            <span>{name}</span>
            <span class="note">{freeText(props, section)}</span>
          </button>
          {open.value === section && <Rows {...props} section={section} />}
        </li>
      ))}
    </ul>
  );
}

function freeText({ event, selection }: ActProps, section: number): string {
  const { states } = event.seats;
  const seats = selection.seatsOfSection(section);
  return seatsText(
    seats.filter((seat) => states[seat] === SeatState.FREE).length,
    seats.filter((seat) => states[seat] !== SeatState.HIDDEN).length,
  );
}

function seatsText(free: number, all: number): string {
  return TEXTS.list.seats(free.toLocaleString("en"), all.toLocaleString("en"));
}

interface RowsProps extends BeatProps {
  readonly section: number;
}

function Rows({ event, selection, section }: RowsProps) {
  const { rows, sections, labels, labelOfSeat } = event.geometry;
  const { name, rows: indexes } = sections[section]!;
  return (
    <div class="list-rows">
      <button type="button" onClick={() => selection.take(selection.seatsOfSection(section), true)}>
        {TEXTS.list.selectSection(name)}
      </button>
      {indexes.map((row) => (
        <div class="list-row" key={row} role="group" aria-label={TEXTS.row(rows[row]!.name)}>
          <span class="list-row-name">{rows[row]!.name}</span>
          <span class="list-seats">
            {[...rows[row]!.seats].map((seat, i) => (
              <button
                key={seat}
                type="button"
                class={`list-seat seat-${event.seats.states[seat]}`}
                tabIndex={i === 0 ? 0 : -1}
                aria-pressed={selection.seats.value.has(seat)}
                aria-label={describe(event, seat)}
                onClick={() => selection.toggle(seat)}
                onKeyDown={moveFocus}
              >
                {labels[labelOfSeat[seat]!]}
              </button>
            ))}
          </span>
        </div>
      ))}
    </div>
  );
}

/** Left and right within a row; up and down to the other rows. */
function moveFocus(event: KeyboardEvent): void {
  const button = event.currentTarget as HTMLElement;
  const seats = [...button.parentElement!.children] as HTMLElement[];
  const at = seats.indexOf(button);
  const row = button.closest(".list-row")!;
  const seatIn = (other: Element | null) =>
    [...(other?.querySelectorAll<HTMLElement>(".list-seat") ?? [])].slice(0, at + 1).at(-1);
  const next = {
    ArrowLeft: seats[at - 1],
    ArrowRight: seats[at + 1],
    ArrowUp: seatIn(row.previousElementSibling),
    ArrowDown: seatIn(row.nextElementSibling),
  }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
