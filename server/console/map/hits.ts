/** What a pointer can be at, and how it got there. */

/** What is at a place of the map. The numbers are indexes into the geometry. */
export type Hit =
  | { readonly kind: "seat"; readonly seat: number }
  | { readonly kind: "section"; readonly section: number }
  | { readonly kind: "area"; readonly area: number };

/** CSS pixels from the corner of the map. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Modifiers {
  readonly shift: boolean;
  readonly ctrl: boolean;
}
