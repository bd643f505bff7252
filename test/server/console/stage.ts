/** A server with an arena on sale, for the browser: an account, events, prices, first sales. */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { expect } from "vitest";
import { type ServerProcess, startServer, V2 } from "../../support/server-process.ts";

export { V2 };

const TENANT_TOKEN = "a-tenant-token-of-the-console-tests";
export const ARENA = "server/examples/arena.json.gz";
const DAY_MS = 24 * 3_600_000;
const CATEGORIES = ["Category 1", "Category 2", "Category 3", "Floor", "Standing"];

/** The administrator of the organization. */
export const ACCOUNT = { email: "ann@lakeside.example", password: "a long password" };

export interface Staged {
  readonly server: ServerProcess;
  readonly key: string;
  readonly eventId: string;
  /** In the order of the layout. */
  readonly seats: readonly { readonly id: number }[];
}

interface Created<Id = number> {
  readonly id: Id;
}

interface Sector extends Created {
  readonly ga: boolean;
}

/** @param call - As `POST /events/`. */
export async function must<T>(staged: Pick<Staged, "server" | "key">, call: string, body: unknown) {
  const [method = "", path = ""] = call.split(" ");
  const target = path.startsWith("/api") ? path : V2 + path;
  const response = await staged.server.request(method, target, body, staged.key);
  const text = await response.text();
  expect(response.ok, `${call}: ${text.slice(0, 400)}`).toBe(true);
  return (text === "" ? null : JSON.parse(text)) as T;
}

export async function stageArena(): Promise<Staged> {
  const server = await startServer({ env: { FRONTROW_TENANT_TOKEN: TENANT_TOKEN } });
  const tenant = { server, key: TENANT_TOKEN };
  const people = { firstName: "Ann", lastName: "Lee", ...ACCOUNT };
  const { secretKey: key } = await must<{ secretKey: string }>(
    tenant,
    "POST /api/private/management/v2.0/organizations/",
    { name: "Lakeside", ...people },
  );
  const house = { server, key };
  const venue = await must<Created>(house, "POST /venues/", { name: "Lakeside Arena" });
  const plan = { name: "Centre stage", venueId: venue.id };
  const { id: schemaId } = await must<Created>(house, "POST /schemas/", plan);
  const layout = await must<{ sectors: Sector[]; seats: Created[] }>(
    house,
    `PUT /schemas/${schemaId}/layout`,
    JSON.parse(gunzipSync(readFileSync(ARENA)).toString()),
  );
  const at = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 11);
  const event = (name: string, days: number) =>
    must<Created<string>>(house, "POST /events/", {
      name,
      schemaId,
      start: `${at(days)}20:00:00`,
      endDate: `${at(days)}23:00:00`,
    });
  const { id: eventId } = await event("Aurora Tour · Night 1", 20);
  const second = await event("Aurora Tour · Night 2", 21);
  await event("A winter gala of the Lakeside symphony with choir", 40);
  const staged = { ...house, eventId, seats: layout.seats };
  await setPrices(staged, layout.sectors);
  await setPrices({ ...staged, eventId: second.id }, layout.sectors);
  await sellSome(staged);
  return staged;
}

async function setPrices(staged: Staged, sectors: readonly Sector[]): Promise<void> {
  const { eventId } = staged;
  const prices = await must<Created[]>(
    staged,
    `POST /event/${eventId}/prices/`,
    CATEGORIES.map((name) => ({ name, eventId })),
  );
  const groupOfSeats = sectors.map(({ id, ga }, i) => {
    const price = ga ? 4 : Math.min(3, Math.floor(i / 7));
    return { objectId: id, assignmentId: prices[price]!.id };
  });
  await must(staged, `POST /event/${eventId}/prices/assignments/`, { groupOfSeats });
}

/** Sales, holds and blocked seats all over the arena, apart from its first block. */
async function sellSome(staged: Staged): Promise<void> {
  const { eventId, seats } = staged;
  const book = (call: string, from: number, count: number) =>
    must(staged, `POST /booking/${call}?eventId=${eventId}`, {
      sessionId: "web-1",
      seats: seats.slice(from, from + count).map(({ id }) => ({ id })),
    });
  for (let from = 1_000; from + 500 < seats.length; from += 1_000) {
    await book("directsale", from, 300);
    await book("lock", from + 340, 60);
  }
  await book("block", 700, 40);
}
