/** `frontrow serve` under faults, and a house with an event on sale. */
import path from "node:path";
import type { SettingsBody } from "../../../engine/bodies.ts";
import { guidOf } from "../../support/layout.ts";
import { CLI, ServerProcess, spawnNode } from "../../support/server-process.ts";
import type { Scope } from "./scope.ts";

/** The token of the first tenant of each store. */
export const TENANT_TOKEN = "token-of-the-fault-tests";
/** The C library gives large blocks back to the system, as in every documented way of starting. */
export const MEMORY_ENVIRONMENT = {
  MALLOC_MMAP_THRESHOLD_: "1048576",
  MALLOC_TRIM_THRESHOLD_: "1048576",
} as const;
/** Generous, because the machine may be busy for minutes. */
const START_MS_MAX = 600_000;
const SEATS = 4_000;
const SEATS_PER_ROW = 50;
const AREA_PLACES = 50_000;

export interface ServeOptions {
  readonly folder: string;
  readonly args?: readonly string[];
  /** For the shim. */
  readonly env?: Readonly<Record<string, string>>;
  /** Words before the command. */
  readonly enter?: readonly string[];
}

/** Starts a server without waiting. It is killed at the end of the scope. */
export function spawnServer(scope: Scope, options: ServeOptions): ServerProcess {
  const { folder, args = [], env = {}, enter = [] } = options;
  const child = spawnNode(CLI, {
    enter,
    args: ["serve", "--port", "0", "--data", path.resolve(folder), ...args],
    env: { ...MEMORY_ENVIRONMENT, FRONTROW_TENANT_TOKEN: TENANT_TOKEN, ...env },
  });
  const server = new ServerProcess(child, folder);
  scope.defer(async () => void (await server.kill("SIGKILL")));
  return server;
}

/** Starts a server and waits until it is ready. @throws Error if it ends before. */
export async function startServer(scope: Scope, options: ServeOptions): Promise<ServerProcess> {
  const server = spawnServer(scope, options);
  await server.ready(false, START_MS_MAX);
  return server;
}

/** An event on sale, and the key to book on it. */
export interface House {
  readonly organizationId: number;
  readonly key: string;
  readonly eventId: string;
  readonly seatIds: readonly number[];
  readonly areaIds: readonly number[];
}

interface Created {
  readonly id: number;
}

interface Layout {
  readonly sectors: readonly (Created & { readonly ga: boolean })[];
  readonly seats: readonly Created[];
}

/** A server that takes requests. */
export type Requested = Pick<ServerProcess, "request">;

/** Some rows of seats, and a meadow. @param name - Of its organization; no other has it. */
export async function createHouse(
  server: Requested,
  seats = SEATS,
  name = "Fault test",
): Promise<House> {
  const { id: organizationId, secretKey: key } = await createOrganization(server, {}, name);
  const v2 = (method: string, target: string, body: object) =>
    call(server, method, `/api/private/v2.0/${target}`, body, key);
  const venue = (await v2("POST", "venues/", { name: "House" })) as Created;
  const schema = (await v2("POST", "schemas/", { name: "Plan", venueId: venue.id })) as Created;
  const layout = (await v2("PUT", `schemas/${schema.id}/layout`, sizedPlan(seats))) as Layout;
  const times = { start: "2030-01-01T20:00:00", endDate: "2030-01-01T22:00:00" };
  const event = { name: "Night", schemaId: schema.id, ...times };
  const { id: eventId } = (await v2("POST", "events/", event)) as { id: string };
  const prices = await v2("POST", `event/${eventId}/prices/`, [
    { name: "Full", eventId },
  ] as object);
  const [{ id: priceId }] = prices as [Created];
  const items = layout.sectors.map(({ id }) => ({ objectId: id, assignmentId: priceId }));
  await v2("POST", `event/${eventId}/prices/assignments/`, { groupOfSeats: items });
  return {
    organizationId,
    key,
    eventId,
    seatIds: layout.seats.map(({ id }) => id),
    areaIds: layout.sectors.filter(({ ga }) => ga).map(({ id }) => id),
  };
}

export async function createOrganization(
  server: Requested,
  settings: SettingsBody = {},
  name = "Fault test",
): Promise<Created & { readonly secretKey: string }> {
  const target = "/api/private/management/v2.0/organizations/";
  const email = `${name.toLowerCase().replaceAll(" ", "-")}@test.example`;
  const organization = { ...ORGANIZATION, name, email };
  const made = await call(server, "POST", target, organization, TENANT_TOKEN);
  const created = made as Created & { readonly secretKey: string };
  await call(server, "PUT", `${target}${created.id}/settings`, settings, TENANT_TOKEN);
  return created;
}

async function call(server: Requested, ...request: Request): Promise<unknown> {
  const [method, target, body, key] = request;
  const response = await server.request(method, target, body, key);
  if (!response.ok) throw new Error(`${method} ${target}: ${await response.text()}`);
  return response.json();
}

type Request = [method: string, target: string, body: unknown, key: string];

const ORGANIZATION = {
  firstName: "Ann",
  lastName: "Lee",
  password: "a long password",
};

/** @param seats - A multiple of the seats of a row. */
export function sizedPlan(seats: number, places = AREA_PLACES): object {
  const rows = Array.from({ length: seats / SEATS_PER_ROW }, (_, row) => `row ${row + 1}`);
  const numbers = Array.from({ length: SEATS_PER_ROW }, (_, index) => index + 1);
  return {
    sectors: [
      { guid: guidOf("stalls"), name: "Stalls", ga: false },
      { guid: guidOf("meadow"), name: "Meadow", ga: true, gaCapacity: places },
    ],
    rows: rows.map((row) => ({
      guid: guidOf(row),
      sectorGuid: guidOf("stalls"),
      name: row,
      rowNumber: row,
    })),
    seats: rows.flatMap((row) =>
      numbers.map((number) => ({
        guid: guidOf(`${row}/${number}`),
        rowGuid: guidOf(row),
        name: String(number),
      })),
    ),
  };
}
