/** Fixture of the operations: organizations with a large layout, and events on it. */
import { TENANT_TOKEN } from "../contenders/venue.ts";
import { EVENT_TIMES } from "../harness/event-data.ts";

export const PASSWORD = "bench-password";
export const ADMIN_EMAIL = "admin@example.org";
const V2 = "/api/private/v2.0";
/** Requests in flight while events are created. */
const LANES = 16;

export interface StageSize {
  readonly seats: number;
  /** Events on the large layout. */
  readonly events: number;
  /** Events of the other organization, which has no layout. */
  readonly listed: number;
}

/** An object of a stored layout. */
interface Stored {
  readonly id: number;
  readonly guid: string;
}

/** Ids and texts that operations leave for later ones, by name. */
type Notes = Record<string, string | number>;

export interface Ask {
  readonly body?: unknown;
  /** The key of the large organization by default. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses of the answer; by default those of a success. */
  readonly statuses?: readonly number[];
}

export class Stage {
  readonly size: StageSize;
  readonly layout: LargeLayout;
  readonly notes: Notes = {};
  key = "";
  organizationId = 0;
  /** Of the organization with the many events. */
  listedKey = "";
  venueId = 0;
  schemaId = 0;
  sectors: readonly Stored[] = [];
  rows: readonly Stored[] = [];
  seats: readonly Stored[] = [];
  /** By event: its id and that of its price. */
  events: { readonly id: string; readonly priceId: number }[] = [];
  readonly #url: URL;

  constructor(url: URL, size: StageSize) {
    this.#url = url;
    this.size = size;
    this.layout = largeLayout(size.seats);
  }

  get event() {
    return this.events[0]!;
  }

  /** @throws Error when the server refuses. @returns The answer; null when it is empty. */
  async ask<Answer = unknown>(line: string, ask: Ask = {}): Promise<Answer> {
    const { body, headers, statuses } = ask;
    const [method = "", target = ""] = line.split(" ");
    const sent = typeof body === "string" ? body : JSON.stringify(body);
    const response = await fetch(new URL(target, this.#url), {
      method,
      redirect: "manual",
      headers: { "Content-Type": "application/json", ...(headers ?? { "X-API-Key": this.key }) },
      ...(body === undefined ? {} : { body: sent }),
    });
    const text = await response.text();
    const isExpected = statuses?.includes(response.status) ?? response.status < 400;
    if (!isExpected) throw new Error(`${line}: ${response.status} ${text.slice(0, 1_000)}`);
    const isJson = response.headers.get("Content-Type")?.includes("json") === true;
    return (isJson ? JSON.parse(text) : null) as Answer;
  }

  async createOrganization(name: string): Promise<{ id: number; secretKey: string }> {
    const email = `${name.toLowerCase().replaceAll(" ", "-")}@example.org`;
    return this.ask("POST /api/private/management/v2.0/organizations/", {
      body: { name, email, firstName: "Bench", lastName: "Mark", password: PASSWORD },
      headers: { "X-API-Key": TENANT_TOKEN },
    });
  }

  async createSchema(name: string): Promise<number> {
    const body = { name, venueId: this.venueId };
    return (await this.ask<Stored>(`POST ${V2}/schemas/`, { body })).id;
  }

  async build(): Promise<void> {
    const organization = await this.createOrganization("Large");
    this.key = organization.secretKey;
    this.organizationId = organization.id;
    const venue = await this.ask<Stored>(`POST ${V2}/venues/`, { body: { name: "Venue" } });
    this.venueId = venue.id;
    this.schemaId = await this.createSchema("Large plan");
    const put = `PUT ${V2}/schemas/${this.schemaId}/layout`;
    type Answer = Pick<Stage, "sectors" | "rows" | "seats">;
    Object.assign(this, await this.ask<Answer>(put, { body: this.layout.text }));
    for (let event = 0; event < this.size.events; event++) await this.#openEvent();
    // The audit trail keeps each seat that gets a price: those of two events are enough.
    await this.#assignPrices(this.events[0]!);
    await this.#assignPrices(this.events.at(-1)!);
    await this.#listEvents();
  }

  async #openEvent(): Promise<void> {
    const body = { name: "Show", schemaId: this.schemaId, ...EVENT_TIMES };
    const { id } = await this.ask<{ id: string }>(`POST ${V2}/events/`, { body });
    const prices = `POST ${V2}/event/${id}/prices/`;
    const [price] = await this.ask<Stored[]>(prices, { body: [{ name: "Seat", eventId: id }] });
    this.events.push({ id, priceId: price!.id });
  }

  async #assignPrices({ id, priceId }: Stage["event"]): Promise<void> {
    const groupOfSeats = this.sectors.map((sector) => ({
      objectId: sector.id,
      assignmentId: priceId,
    }));
    await this.ask(`POST ${V2}/event/${id}/prices/assignments/`, { body: { groupOfSeats } });
  }

  async #listEvents(): Promise<void> {
    const { secretKey } = await this.createOrganization("Listed");
    this.listedKey = secretKey;
    const headers = { "X-API-Key": secretKey };
    const venue = await this.ask<Stored>(`POST ${V2}/venues/`, { body: { name: "V" }, headers });
    const plan = { name: "Plan", venueId: venue.id };
    const schema = await this.ask<Stored>(`POST ${V2}/schemas/`, { body: plan, headers });
    let left = this.size.listed;
    const lane = async () => {
      while (left-- > 0) {
        const body = { name: `Évening ${left}`, schemaId: schema.id, ...EVENT_TIMES };
        await this.ask(`POST ${V2}/events/`, { body, headers });
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  }
}

// A layout of many seats in sections, with the members that a drawing tool sends.

const SEATS_PER_ROW = 40;
const ROWS_PER_SECTION = 250;
const AREAS = 2;
const DISTANCE = 28;

interface Sector {
  readonly guid: string;
  readonly name: string;
  readonly ga: boolean;
  readonly gaCapacity?: number;
}

interface Row {
  readonly guid: string;
  readonly sectorGuid: string;
  readonly rowNumber: string;
}

interface Seat {
  readonly guid: string;
  readonly rowGuid: string;
  readonly name: string;
}

interface LargeLayout {
  readonly sectors: readonly Sector[];
  readonly rows: readonly Row[];
  readonly seats: readonly Seat[];
  /** The layout as JSON. */
  readonly text: string;
}

export function largeLayout(seatCount: number): LargeLayout {
  const rowCount = Math.ceil(seatCount / SEATS_PER_ROW);
  const sectionCount = Math.ceil(rowCount / ROWS_PER_SECTION);
  const sections = Array.from({ length: sectionCount }, (_, i): Sector => ({
    guid: guidOf(1, i),
    name: `Section ${i + 1}`,
    ga: false,
  }));
  const areas = Array.from({ length: AREAS }, (_, i): Sector => ({
    guid: guidOf(2, i),
    name: `Floor ${i + 1}`,
    ga: true,
    gaCapacity: 500,
  }));
  const rows = Array.from({ length: rowCount }, (_, i): Row => ({
    guid: guidOf(3, i),
    sectorGuid: guidOf(1, Math.floor(i / ROWS_PER_SECTION)),
    rowNumber: `${(i % ROWS_PER_SECTION) + 1}`,
  }));
  const seats = Array.from({ length: seatCount }, (_, i) => {
    const [row, place] = [Math.floor(i / SEATS_PER_ROW), i % SEATS_PER_ROW];
    const at = { x: place * DISTANCE, y: (row % ROWS_PER_SECTION) * DISTANCE };
    return {
      guid: guidOf(4, i),
      rowGuid: guidOf(3, row),
      name: `${place + 1}`,
      ...at,
      ax: at.x + 100,
      ay: at.y + 100,
      angle: 0,
      isAccessible: false,
    };
  });
  const layout = { sectors: [...sections, ...areas], rows, seats };
  return { ...layout, text: JSON.stringify({ ...layout, shapes: [] }) };
}

function guidOf(kind: number, number: number): string {
  return `0000000${kind}-0000-4000-8000-${String(number).padStart(12, "0")}`;
}
