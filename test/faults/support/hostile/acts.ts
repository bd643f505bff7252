/** Acts of the hostile tenant: former attacks on the service from outside. */
import { type Act, type HostileTenant, MEBIBYTE } from "./tenant.ts";

const PIPELINED = 2_000;
const LOGINS = 8;
const SCRAPES = 10;
const LARGE_BODIES = 10;
const GROUPS_REPEATED = 2_000;
const LISTING_KEYS = ["sectionName", "rowName", "seatName", "state", "priceName", "updatedAt"];
const V2 = "/api/private/v2.0";
const LOGIN = "/api/auth/login";

const layoutOf = ({ property }: HostileTenant) => `${V2}/schemas/${property.schemaId}/layout`;
const eventOf = ({ property }: HostileTenant) => `${V2}/events/${property.eventId}`;

const tooLongRecords: Act = async (tenant) => {
  const { schemaId, paddedSchemaId, paddedLayout } = tenant.property;
  const thumbnail = "x".repeat(MEBIBYTE);
  const schema = JSON.stringify({ id: schemaId, name: "Hostile", thumbnail });
  const first = await tenant.ask({ method: "PUT", target: `${V2}/schemas/`, body: schema });
  const target = `${V2}/schemas/${paddedSchemaId}/layout`;
  return [first, await tenant.ask({ method: "PUT", target, body: paddedLayout })];
};

const idleConnections: Act = (tenant) => tenant.open(tenant.form.sockets, () => "");

/** Asks for a large file again and again, and reads none of it. */
const unreadAnswers: Act = (tenant) =>
  tenant.open(1, () => "GET /docs/reference.js HTTP/1.1\r\nHost: x\r\n\r\n".repeat(PIPELINED));

const keyedLayouts: Act = async (tenant) => {
  const body = tenant.property.layouts[tenant.turn % 2]!;
  const headers = { "Idempotency-Key": `hostile-${tenant.turn}` };
  return [await tenant.ask({ method: "PUT", target: layoutOf(tenant), body, headers })];
};

const largeListings: Act = async (tenant) => {
  const orders = LISTING_KEYS.map((key, at) => {
    const isDescending = ((tenant.turn >> at) & 1) === 1;
    return `sort=${key},${isDescending ? "desc" : "asc"}`;
  });
  const from = tenant.turn % orders.length;
  const query = [...orders.slice(from), ...orders.slice(0, from)].join("&");
  const target = `${eventOf(tenant)}/seats/?size=100&${query}`;
  return [await tenant.ask({ method: "GET", target })];
};

const equalLayouts: Act = async (tenant) => {
  const target = layoutOf(tenant);
  const equal = tenant.property.layouts[0];
  const first = await tenant.ask({ method: "PUT", target, body: equal });
  return [first, await tenant.ask({ method: "PUT", target, body: "{}" })];
};

const escapes: Act = async (tenant) => {
  const layout = tenant.property.layouts[0].replace('"name":"', String.raw`"name":"\u0061`);
  const first = await tenant.ask({ method: "PUT", target: layoutOf(tenant), body: layout });
  const login = JSON.stringify({ username: "b".repeat(600), password: "a long password" });
  const body = login.replaceAll("b", String.raw`\u0062`);
  return [first, await tenant.ask({ method: "POST", target: LOGIN, body })];
};

const repeatedGroups: Act = async (tenant) => {
  const { eventId, sectorId, priceId } = tenant.property;
  const item = { objectId: sectorId, assignmentId: priceId };
  const body = JSON.stringify({
    groupOfSeats: Array.from({ length: GROUPS_REPEATED }, () => item),
  });
  const target = `${V2}/event/${eventId}/prices/assignments/`;
  return [await tenant.ask({ method: "POST", target, body })];
};

const auditReads: Act = (tenant) => {
  const asOf = new Date(Date.now() - 1_000).toISOString().slice(0, 19);
  const targets = ["/audit/", "/seats/?size=100&page=5", `/seats/?asOf=${asOf}`];
  return Promise.all(
    targets.map((target) => tenant.ask({ method: "GET", target: eventOf(tenant) + target })),
  );
};

const loginFloods: Act = (tenant) => {
  const logins = Array.from({ length: LOGINS }, (_, i) => {
    const username = `hostile-${tenant.turn}-${i}@test.example`;
    const body = JSON.stringify({ username, password: "not the password" });
    return tenant.ask({ method: "POST", target: LOGIN, body });
  });
  return Promise.all(logins);
};

const metrics: Act = (tenant) => {
  const scrape = () => tenant.ask({ method: "GET", target: "/metrics" });
  return Promise.all(Array.from({ length: SCRAPES }, scrape));
};

const unfinishedBodies: Act = async (tenant) => {
  const head = `POST ${LOGIN} HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n`;
  const put = `PUT ${layoutOf(tenant)} HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n`;
  await tenant.open(tenant.form.sockets, () => head + "{".repeat(2_000));
  return tenant.open(
    LARGE_BODIES,
    (key) => `${put}X-API-Key: ${key}\r\n\r\n${"[".repeat(1_000_000)}`,
  );
};

export const ACTS: Readonly<Record<string, Act>> = {
  "records that are too long": tooLongRecords,
  "idle connections": idleConnections,
  "answers that nobody reads": unreadAnswers,
  "layouts with Idempotency-Keys": keyedLayouts,
  "sorts of a large listing": largeListings,
  "equal layouts": equalLayouts,
  escapes,
  "repeated groups": repeatedGroups,
  "audit reads": auditReads,
  "login floods": loginFloods,
  "metrics scrapes": metrics,
  "unfinished bodies": unfinishedBodies,
};
