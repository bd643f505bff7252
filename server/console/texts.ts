/** Every text of the console. */

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** As `1,004`. */
export function whole(value: number): string {
  return WHOLE.format(value);
}

interface PriceChange {
  readonly price: string;
  readonly name: string;
  /** Changed seats. */
  readonly seats: number;
  /** Places with their earlier price. */
  readonly kept: number;
}

export const TEXTS = {
  product: "Frontrow",
  logIn: {
    title: "Seats, live",
    lead: "See your on-sale as it happens, act on it, and go back in time.",
    ways: "How to log in",
    by: { key: "API key", account: "Account" },
    email: "Email",
    password: "Password",
    key: "Secret key of the organization",
    submit: "Log in",
    note: "Nothing is stored: a reload of the page logs you out.",
    opening: "Logging in…",
    expired: "Your login has ended. Log in again to continue.",
  },
  bar: {
    events: "Events",
    allEvents: "Frontrow: all events",
    organization: "Organization",
    logOut: "Log out",
    dark: "Dark colours",
    docs: "Guide and API reference",
    newEvent: "New event",
    prices: "Prices",
  },
  events: {
    title: "Events",
    search: "Search events",
    past: "Past events, too",
    none: "There is no event yet.",
    noneFound: "No event has this name.",
    next: (name: string, when: string) => `${name} starts ${when}`,
    nextLabel: "Next event",
    count: (events: number) => (events === 1 ? "1 event" : `${events} events`),
    free: (count: string) => `${count} free`,
    held: (count: string) => `${count} held`,
    soldShare: (share: string) => `${share} % sold`,
    notOnSale: "Nothing is on sale yet",
    status: { DRAFT: "Draft", PUBLISHED: "Published", ARCHIVED: "Archived" } as Readonly<
      Record<string, string>
    >,
    previous: "Previous",
    nextPage: "Next",
    page: (page: number, pages: number) => `Page ${page} of ${pages}`,
    loading: "Loading…",
  },
  connection: { live: "Live", broken: "Reconnecting…", over: "Ended" },
  colorBy: "Colour by",
  colours: { state: "State", price: "Price" },
  map: {
    label: "Seat map",
    zoomIn: "Zoom in",
    zoomOut: "Zoom out",
    fit: "Show everything",
    box: "Select seats with a rectangle",
    help:
      "Arrow keys move, plus and minus zoom, 0 shows everything, Escape clears the selection. " +
      "The list of seats has every seat as a button.",
  },
  states: ["", "Not on sale", "Free", "Held", "Sold", "Blocked"],
  watch: {
    label: "Figures",
    share: (percent: string) => `${percent} % sold`,
    legend: "Show on the map",
    overTime: "Sold, held and free over time",
    overTimeIs: (from: string, to: string) => `From ${from} to ${to}`,
    time: "Time",
    rates: "In the last minute",
    sold: "Sold",
    held: "Held",
    released: "Released",
    expired: "Ran out",
    soldBySecond: (count: string) => `Sold second by second; ${count} in the last minute`,
    byPrice: "By price",
    left: (count: string) => `${count} left`,
    noPrices: "Nothing has a price yet.",
    endingHolds: "Holds that end soon",
    holdCount: (count: string) => `${count} in all`,
    noHolds: "Nothing is held that ends.",
    happenings: "What happens",
    call: "Call",
    everyCall: "All calls",
    session: "Session",
    nothingHappened: "Nothing has happened lately.",
    nothingPasses: "Nothing passes this filter.",
    paused: "Paused while you are here",
    places: (area: string, count: number) =>
      `${area} · ${count} ${count === 1 ? "place" : "places"}`,
    more: (label: string, count: number) => `${label} +${count}`,
    wholeEvent: "Event",
    server: "Server",
    serverHidden: "This server shows its figures only to those who have its metrics token.",
    serverWaits: "Reading…",
    writable: "Takes changes",
    notWritable: "Takes no changes",
    requests: "Requests per second",
    requestTime: "99 % answered within",
    syncTime: "99 % on disk within",
    logGrowth: "Growth of the log per second",
    refusals: "Requests refused per minute",
    milliseconds: (value: string) => `${value} ms`,
    kilobytes: (value: string) => `${value} KB`,
    none: "–",
  },
  past: {
    label: "Back in time",
    moment: "Moment that is shown",
    now: "Now",
    live: "Live",
    play: "Play",
    pause: "Pause",
    speed: "Speed",
    times: (speed: string) => `${speed}×`,
    compare: "Compare with now",
    differ: (count: number, text: string) =>
      count === 1 ? "1 seat is different now" : `${text} seats are different now`,
    isNow: (count: string, state: string) => `${count} ${state.toLowerCase()}`,
    seatHistory: "History",
    neverSold: "Nothing has happened to this seat.",
    unread: "The history cannot be read at the moment.",
    noState: "not listed",
    stateNames: { ACTIVE: "free", LOCKED: "held", SOLD: "sold", BLOCKED: "blocked" },
  },
  calls: {
    lock: "hold",
    best: "hold",
    extend: "extend",
    unlock: "release",
    expire: "ran out",
    sale: "sale",
    directsale: "direct sale",
    revertsale: "revert",
    block: "block",
    unblock: "unblock",
    cart: "cart",
    event: "event",
    prices: "prices",
    deleteprice: "price deleted",
    layout: "layout",
    deleteevent: "deleted",
  } as Readonly<Record<string, string>>,
  sold: "sold",
  of: (part: string, all: string) => `${part} of ${all}`,
  row: (name: string) => `Row ${name}`,
  seat: (label: string) => `Seat ${label}`,
  act: {
    bar: "Actions on the selection",
    selected: (count: string) => `${count} selected`,
    cleared: "Nothing is selected",
    state: (count: string, state: string) => `${count} ${state.toLowerCase()}`,
    actions: {
      hold: "Hold",
      sell: "Sell",
      block: "Block",
      release: "Release",
      unblock: "Unblock",
    },
    rows: "Whole rows",
    sections: "Whole sections",
    clear: "Clear the selection",
    session: "Session",
    holdType: "Hold type",
    area: (name: string) => `Places in ${name}`,
    areaCounts: (free: string, held: string) => `${free} free · ${held} held`,
    places: (count: number) => (count === 1 ? "1 place" : `${whole(count)} places`),
    busy: "Waiting for the server…",
    checked: (places: string) => `Dry run: all ${places} can be booked. Nothing has changed yet.`,
    dry: "Dry run: nothing has changed yet.",
    refusedOf: (refused: string, count: string) => `${refused} of ${count} are refused`,
    nothing: "Nothing has changed: an action is done for all seats or for none.",
    confirm: (action: string, places: string) => `${action} ${places}`,
    leaveOut: (count: number) => (count === 1 ? "Leave it out" : `Leave out these ${count}`),
    cancel: "Cancel",
    close: "Close",
    undo: "Undo",
    done: {
      hold: (places: string) => `Held ${places}.`,
      sell: (places: string) => `Sold ${places}.`,
      block: (places: string) => `Blocked ${places}.`,
      release: (places: string) => `Released ${places}.`,
      unblock: (places: string) => `Unblocked ${places}.`,
    },
    undone: {
      hold: (places: string) => `Undone: ${places} are free again.`,
      sell: (places: string) => `Undone: ${places}.`,
      block: (places: string) => `Undone: ${places} are free again.`,
      release: (places: string) => `Undone: ${places}.`,
      unblock: (places: string) => `Undone: ${places} are blocked again.`,
    },
    final: {
      sell: "A sale cannot be undone here.",
      release: "A release cannot be undone: the hold and its end are gone.",
    } as Readonly<Record<string, string>>,
    tooMany: (max: number) => `More than ${whole(max)} seats: select fewer for one action.`,
    notFree: "Some places are not free.",
    onlyFree: (count: number) => `Only ${whole(count)} free`,
    more: (count: number) => `and ${whole(count)} more`,
    reasons: {
      ACTIVE: "Free",
      LOCKED: "Held",
      SOLD: "Sold",
      BLOCKED: "Blocked",
      NO_PRICE: "Not on sale",
      NOT_FOUND: "Not in this event",
      HELD_BY_ANOTHER_SESSION: "Held by another session",
      HELD_BY_THIS_SESSION: "Held by this session already",
      PRICE_CHANGED: "Has another price now",
      STALE_FENCE: "Was sold or blocked again since",
      INSUFFICIENT_CAPACITY: "Not enough places",
      ORPHAN_SEAT: "Would leave a single seat",
    } as Readonly<Record<string, string>>,
  },
  list: {
    open: "List of seats",
    title: "Seats and areas",
    close: "Close the list",
    selectSection: (name: string) => `Select ${name}`,
    seats: (free: string, all: string) => `${free} of ${all} free`,
    selected: "selected",
    hint: "Arrow keys move between seats, Space selects.",
  },
  setup: {
    title: "New event",
    lead: "A venue, a seating plan from a layout file, and an event. Prices come next.",
    venue: "Venue",
    newVenue: "A new venue",
    venueName: "Name of the venue",
    plan: "Seating plan",
    newPlan: "A new plan from a layout file",
    planName: "Name of the plan",
    file: "Layout file (JSON, or JSON compressed with gzip)",
    content: (seats: string, sections: string, areas: string) =>
      `${seats} seats in ${sections} sections, ${areas} areas`,
    noLayout: "This is not a layout: it has no sectors, rows and seats.",
    unreadable: "The file cannot be read as JSON.",
    needsFile: "Choose a layout file.",
    event: "Event",
    eventName: "Name of the event",
    start: "Starts",
    end: "Ends",
    submit: "Create the event",
    creating: {
      venue: "Creating the venue…",
      plan: "Creating the plan…",
      layout: "Importing the layout…",
      event: "Creating the event…",
    },
  },
  prices: {
    title: "Prices",
    lead: "Choose a price, then click sections and areas on the map or in the list.",
    price: "Price for the next click",
    add: "Add a price",
    name: "Name",
    submit: "Add",
    sections: "Sections and areas",
    none: "No price yet",
    several: "Several prices",
    rest: "Give it to everything without a price",
    everything: "Everything without a price",
    places: (name: string) => `Places on sale in ${name}`,
    seats: (count: number) => (count === 1 ? "1 seat" : `${whole(count)} seats`),
    assigned: ({ price, name, seats, kept }: PriceChange) => {
      const where = seats === 0 ? name : `${name}, ${TEXTS.prices.seats(seats)}`;
      const rest = kept === 1 ? "1 keeps its price." : `${whole(kept)} keep their price.`;
      return `${price}: ${where}.${kept === 0 ? "" : ` ${rest}`}`;
    },
    unchanged: (name: string) => `${name}: nothing has changed.`,
    uncertain: (name: string) => `${name}: a part may have changed. Undo takes it back.`,
    undone: (name: string) => `Undone: ${name}.`,
    undoneBut: (name: string, left: number) =>
      `Undone: ${name}. ${whole(left)} taken since ${left === 1 ? "keeps" : "keep"} the new price.`,
    undo: "Undo",
    undoKeys: "Control+Z undoes it.",
    close: "Close",
    chooseFirst: "Choose a price first.",
    notLive:
      "The map is not live: seats may be sold without being shown. Wait until it is live, or log in again.",
    question: {
      /** @param taken - Counts and states: some sold, held, blocked. */
      title: (taken: readonly (readonly [number, string])[], noun: string) => {
        const [first = [0, ""], ...others] = taken;
        const [count, state] = first;
        const head =
          count === 1 ? `1 ${noun} is ${state}` : `${whole(count)} ${noun}s are ${state}`;
        const tail = others.map(([more, name]) => `, ${whole(more)} ${name}`).join("");
        const isOne = count === 1 && others.length === 0;
        return `${head}${tail}: keep ${isOne ? "its" : "their"} price?`;
      },
      seat: "seat",
      place: "place",
      sold: "sold",
      held: "held",
      blocked: "blocked",
      free: (price: string, name: string, count: number) => {
        if (count === 0) return `${name} has no free seat to change.`;
        return count === 1
          ? `Only the free seat of ${name} gets ${price}.`
          : `Only the ${whole(count)} free seats of ${name} get ${price}.`;
      },
      area: (price: string, name: string) =>
        `All places of ${name} have one price: all of them get ${price}, or none.`,
      effect: "If changed too, sales are reported and holds are sold at the new price.",
      keep: "Keep their price",
      all: "Change them too",
      cancel: "Cancel",
    },
    publish: "Publish the event",
    published: "The event is published.",
    draft: "Draft: nothing can be sold until the event is published.",
    open: "Open the map",
  },
  bySession: (session: string) => `by ${session}`,
  since: (time: string) => `since ${time}`,
  until: (time: string) => `until ${time}`,
} as const;
