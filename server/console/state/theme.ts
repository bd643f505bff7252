/** Dark or light: as the system, until the person chooses. */
import { computed, effect, signal } from "@preact/signals";

type Theme = "light" | "dark";

const system = matchMedia("(prefers-color-scheme: dark)");
const isSystemDark = signal(system.matches);
const chosen = signal<Theme | null>(null);

export const theme = computed<Theme>(() => chosen.value ?? (isSystemDark.value ? "dark" : "light"));

export function switchTheme(): void {
  chosen.value = theme.value === "dark" ? "light" : "dark";
}

system.addEventListener("change", ({ matches }) => (isSystemDark.value = matches));
effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
});
