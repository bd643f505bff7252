/** Makes what the acts of the hostile tenant work on. */
import { largeLayout } from "../../../../bench/stalls/stage.ts";
import type { ServerProcess } from "../../../support/server-process.ts";
import type { HostileForm, Property } from "./tenant.ts";

const V2 = "/api/private/v2.0";
const TIMES = { start: "2030-01-01T20:00:00", endDate: "2030-01-01T22:00:00" };
/** Drawing members of a seat, which the service keeps up to 2 KiB. */
const PADDING = "x".repeat(1_700);
const PADDED_SEAT_BYTES = 1_950;

interface Created {
  readonly id: number;
}

/** A large layout, and an event with prices on it. */
export async function buildProperty(
  server: ServerProcess,
  key: string,
  { seats, bodyBytes }: HostileForm,
): Promise<Property> {
  const call = async <T>(method: string, target: string, body: unknown) => {
    const response = await server.request(method, V2 + target, body, key);
    if (!response.ok) throw new Error(`${method} ${target}: ${await response.text()}`);
    return (await response.json()) as T;
  };
  const venue = await call<Created>("POST", "/venues/", { name: "Hostile" });
  const plan = { name: "Hostile", venueId: venue.id };
  const { id: schemaId } = await call<Created>("POST", "/schemas/", plan);
  const { sectors, rows, seats: drawn } = largeLayout(seats);
  const layout = { sectors, rows, seats: drawn };
  const put = `/schemas/${schemaId}/layout`;
  const stored = await call<{ sectors: Created[] }>("PUT", put, layout);
  const event = { name: "Hostile", schemaId, ...TIMES };
  const { id: eventId } = await call<{ id: string }>("POST", "/events/", event);
  const price = { name: "Full", eventId };
  const [{ id: priceId }] = await call<[Created]>("POST", `/event/${eventId}/prices/`, [price]);
  const groupOfSeats = stored.sectors.map(({ id }) => ({ objectId: id, assignmentId: priceId }));
  await call("POST", `/event/${eventId}/prices/assignments/`, { groupOfSeats });
  const renamed = { ...layout, seats: [{ ...drawn[0]!, name: "Renamed" }, ...drawn.slice(1)] };
  const layouts = [JSON.stringify(layout), JSON.stringify(renamed)] as const;
  const padded = await call<Created>("POST", "/schemas/", { ...plan, name: "Padded" });
  return {
    schemaId,
    eventId,
    priceId,
    sectorId: stored.sectors[0]!.id,
    layouts,
    paddedSchemaId: padded.id,
    paddedLayout: paddedLayout(bodyBytes),
  };
}

/** A layout whose JSON has about so many bytes. */
function paddedLayout(bytes: number): string {
  const { sectors, rows, seats } = largeLayout(Math.floor(bytes / PADDED_SEAT_BYTES));
  const padded = seats.map((seat) => ({ ...seat, padding: PADDING }));
  return JSON.stringify({ sectors, rows, seats: padded });
}
