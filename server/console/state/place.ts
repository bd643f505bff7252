/** What the page shows, as the fragment of its address: a reload or a link leads to it again. */
import { signal } from "@preact/signals";

export type Place =
  | { readonly kind: "events" }
  | { readonly kind: "setup" }
  | { readonly kind: "event" | "prices"; readonly id: string };

export const place = signal<Place>(placeOf(location.hash));

export function hashOf(of: Place): string {
  if (of.kind === "event") return `#event/${of.id}`;
  if (of.kind === "prices") return `#event/${of.id}/prices`;
  return of.kind === "setup" ? "#new" : "#events";
}

export function go(to: Place): void {
  location.hash = hashOf(to);
}

function placeOf(hash: string): Place {
  const [, id, prices] = /^#event\/([0-9a-fA-F-]{36})(\/prices)?$/.exec(hash) ?? [];
  if (id !== undefined) return { kind: prices === undefined ? "event" : "prices", id };
  return { kind: hash === "#new" ? "setup" : "events" };
}

addEventListener("hashchange", () => (place.value = placeOf(location.hash)));
