/** What screen readers say: changes of the selection, and results. */
import { signal } from "@preact/signals";

export const announcement = signal("");

export function announce(text: string): void {
  announcement.value = text;
}
