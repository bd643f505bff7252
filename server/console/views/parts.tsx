/** Parts of several pages: the bar at the top, buttons with icons, choices, marks of states. */
import type { Signal } from "@preact/signals";
import type { ComponentChildren, Ref } from "preact";
import { SeatState } from "../map/seats.ts";
import type { LiveEvent } from "../state/live-event.ts";
import {
  chooseOrganization,
  hashOf,
  logOut,
  place,
  session,
  switchTheme,
  theme,
} from "../state/page.ts";
import { TEXTS } from "../texts.ts";

/** Lines on a square of 24 units. */
const PATHS = {
  theme: "M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z",
  leave: "M9 4H5v16h4M14 8l4 4-4 4M18 12H9",
  help: "M9 9a3 3 0 1 1 4.5 2.6c-1 .6-1.5 1.2-1.5 2.4M12 17.5h.01M12 3a9 9 0 1 0 0 18a9 9 0 0 0 0-18",
  close: "M6 6l12 12M18 6L6 18",
  box: "M4 4h3M10.5 4h3M17 4h3v3M20 10.5v3M20 17v3h-3M13.5 20h-3M7 20H4v-3M4 13.5v-3M4 7V4",
  list: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  fit: "M14 4h6v6M20 4l-6 6M10 20H4v-6M4 20l6-6",
  search: "M11 4a7 7 0 1 0 0 14a7 7 0 0 0 0-14M16 16l4.5 4.5",
  next: "M9 6l6 6-6 6",
  play: "M8 5l11 7-11 7z",
  pause: "M8 5v14M16 5v14",
} as const;

/** As many hues as the style sheet has. */
const PRICE_HUES = 10;

type IconName = keyof typeof PATHS;

export function TopBar({ children }: { readonly children?: ComponentChildren }) {
  return (
    <header class="bar">
      <a class="brand" href={hashOf({ kind: "events" })} aria-label={TEXTS.bar.allEvents}>
        <img src="/docs/icon.svg" alt="" width="22" height="22" />
        <strong>{TEXTS.product}</strong>
      </a>
      {children}
      <Everywhere />
    </header>
  );
}

/** The organization, the theme, the end of the login. */
function Everywhere() {
  const { organization = null, organizations = [] } = session.value ?? {};
  const isList = place.value.kind === "events";
  return (
    <div class="everywhere">
      {isList && organization !== null && (
        <select
          aria-label={TEXTS.bar.organization}
          value={organization.id}
          onChange={(event) => chooseOrganization(Number(event.currentTarget.value))}
        >
          {organizations.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
      <ThemeSwitch />
      <a class="icon-button" href="/docs" aria-label={TEXTS.bar.docs} title={TEXTS.bar.docs}>
        <Icon name="help" />
      </a>
      <IconButton name="leave" label={TEXTS.bar.logOut} onClick={logOut} />
    </div>
  );
}

export function ThemeSwitch() {
  const isDark = theme.value === "dark";
  return (
    <IconButton name="theme" label={TEXTS.bar.dark} isPressed={isDark} onClick={switchTheme} />
  );
}

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

interface IconButtonProps {
  readonly name: IconName;
  readonly label: string;
  readonly onClick: () => void;
  /** For toggles only. */
  readonly isPressed?: boolean;
  readonly class?: string;
  readonly buttonRef?: Ref<HTMLButtonElement>;
}

export function IconButton({
  name,
  label,
  onClick,
  isPressed,
  buttonRef,
  ...rest
}: IconButtonProps) {
  return (
    <button
      type="button"
      class={`icon-button ${rest.class ?? ""}`}
      aria-label={label}
      title={label}
      aria-pressed={isPressed}
      ref={buttonRef ?? null}
      onClick={onClick}
    >
      <Icon name={name} />
    </button>
  );
}

interface SwitchProps<Value extends string> {
  readonly label: string;
  readonly names: Readonly<Record<Value, string>>;
  readonly chosen: Signal<Value>;
}

/** One of a few values, each a button. */
export function Switch<Value extends string>({ label, names, chosen }: SwitchProps<Value>) {
  return (
    <div class="switch" role="group" aria-label={label}>
      {(Object.keys(names) as Value[]).map((value) => (
        <button
          key={value}
          type="button"
          aria-pressed={chosen.value === value}
          onClick={() => (chosen.value = value)}
        >
          {names[value]}
        </button>
      ))}
    </div>
  );
}

export function ConnectionMark({ event }: { readonly event: LiveEvent }) {
  const { value } = event.connection;
  return <span class={`connection ${value}`}>{TEXTS.connection[value]}</span>;
}

/** The mark of a state, as on the map. */
export function Mark({ state }: { readonly state: number }) {
  return (
    <svg class={`mark state-${state}`} viewBox="-8 -8 16 16" aria-hidden="true">
      {shapeOf(state)}
    </svg>
  );
}

function shapeOf(state: number) {
  if (state === SeatState.FREE) return <circle r="5.6" />;
  if (state === SeatState.SOLD) return <circle r="6.5" />;
  if (state === SeatState.UNPRICED) return <circle r="2.4" />;
  if (state === SeatState.BLOCKED)
    return (
      <>
        <rect x="-6" y="-6" width="12" height="12" rx="2.5" />
        <path d="M-3-3 3 3M3-3-3 3" />
      </>
    );
  return (
    <>
      <circle r="6.5" />
      <circle class="hole" r="2.4" />
    </>
  );
}

/** The hue of a price, as on the map: a style with `--hue`. */
export function hueOf(event: LiveEvent, priceId: number) {
  return { "--hue": `var(--map-price-${event.priceIndex(priceId) % PRICE_HUES})` };
}
