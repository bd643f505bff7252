/** Icons: lines on a square of 24 units. */
const PATHS = {
  theme: "M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z",
  leave: "M9 4H5v16h4M14 8l4 4-4 4M18 12H9",
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

export function Icon({ name }: { readonly name: keyof typeof PATHS }) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
