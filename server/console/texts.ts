/** Every text of the console. */
export const TEXTS = {
  product: "Frontrow",
  logIn: {
    title: "Frontrow console",
    key: "Secret key of the organization",
    eventId: "Event id",
    submit: "Open",
    note: "The key stays in the memory of this page. A reload forgets it.",
    opening: "Opening…",
  },
  connection: { live: "Live", broken: "Reconnecting…", over: "Ended" },
  colorBy: { label: "Colour by", state: "State", price: "Price" },
  map: {
    label: "Seat map",
    zoomIn: "Zoom in",
    zoomOut: "Zoom out",
    fit: "Show everything",
  },
  states: ["", "Not on sale", "Free", "Held", "Sold", "Blocked"],
  sold: "sold",
  of: (part: string, whole: string) => `${part} of ${whole}`,
  row: (name: string) => `Row ${name}`,
  seat: (label: string) => `Seat ${label}`,
  bySession: (session: string) => `by ${session}`,
  since: (time: string) => `since ${time}`,
  until: (time: string) => `until ${time}`,
} as const;
