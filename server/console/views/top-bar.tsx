/** The bar at the top of each page: where one is, and what is true everywhere. */
import type { ComponentChildren } from "preact";
import { hashOf, place } from "../state/place.ts";
import { chooseOrganization, logOut, session } from "../state/session.ts";
import { switchTheme, theme } from "../state/theme.ts";
import { TEXTS } from "../texts.ts";
import { Icon } from "./icon.tsx";

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
      <button type="button" class="icon-button" aria-label={TEXTS.bar.logOut} onClick={logOut}>
        <Icon name="leave" />
      </button>
    </div>
  );
}

export function ThemeSwitch() {
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={TEXTS.bar.dark}
      aria-pressed={theme.value === "dark"}
      onClick={switchTheme}
    >
      <Icon name="theme" />
    </button>
  );
}
