/** Operations on organizations, venues, webhooks and logins, and those of the service itself. */
import { TENANT_TOKEN } from "../contenders/venue.ts";
import { type Operation, operation } from "./operation.ts";
import { ADMIN_EMAIL, PASSWORD, type Stage } from "./stage.ts";

const V2 = "/api/private/v2.0";
const MANAGEMENT = "/api/private/management/v2.0";
const ORGANIZATIONS = `${MANAGEMENT}/organizations`;

interface Created {
  readonly id: number;
}
interface Login {
  readonly token: string;
  readonly refreshToken: string;
}

const asTenant = () => ({ headers: { "X-API-Key": TENANT_TOKEN } });
const forLarge = ({ organizationId }: Stage) => ({
  headers: { "X-API-Key": TENANT_TOKEN, "X-Organization-ID": String(organizationId) },
});
const loggedIn = {
  keep: ({ notes }: Stage, { token, refreshToken }: Login) =>
    void Object.assign(notes, { token, refreshToken }),
};
const NO_KEY = { headers: {} };
/** Inactive, so nothing is sent to anybody. */
const HOOK = { url: "https://receiver.example/", events: ["change"], active: false };
const theWebhook = ({ notes }: Stage) => ({ path: [notes["webhook"]!] });

export const OTHER_OPERATIONS: readonly Operation[] = [
  operation(
    "POST /api/auth/login",
    "",
    () => ({ ...NO_KEY, body: { username: ADMIN_EMAIL, password: PASSWORD } }),
    loggedIn,
  ),
  operation(
    "POST /api/auth/login",
    "one escaped letter",
    () => {
      const texts = { username: ADMIN_EMAIL, password: PASSWORD, filling: "a".repeat(3_500) };
      return { ...NO_KEY, body: JSON.stringify(texts).replace(/a/, String.raw`\u0061`) };
    },
    loggedIn,
  ),
  operation(
    "POST /api/auth/refresh",
    "",
    ({ notes }) => ({ ...NO_KEY, body: { refreshToken: notes["refreshToken"] } }),
    loggedIn,
  ),
  operation("GET /api/auth/user/", "", ({ notes }) => ({
    headers: { Authorization: `Bearer ${notes["token"]}` },
  })),
  operation(
    `POST ${V2}/venues/`,
    "one escaped letter in a long body",
    () => {
      const filling = Array.from({ length: 60_000 }, (_, i) => `f${i}`);
      const text = JSON.stringify({ name: "Venue", filling });
      return { body: text.replace("V", String.raw`\u0056`) };
    },
    { keep: ({ notes }, venue: Created) => void (notes["venue"] = venue.id) },
  ),
  operation(`GET ${V2}/venues/`),
  operation(`GET ${V2}/venues/{id}`, "", ({ venueId }) => ({ path: [venueId] })),
  operation(`PUT ${V2}/venues/`, "", ({ venueId }) => ({ body: { id: venueId, name: "Venue" } })),
  operation(`DELETE ${V2}/venues/{id}`, "", ({ notes }) => ({ path: [notes["venue"]!] })),
  operation(
    `POST ${ORGANIZATIONS}/`,
    "",
    () => ({
      ...asTenant(),
      body: {
        name: "Third",
        email: "third@example.org",
        firstName: "Third",
        lastName: "One",
        password: PASSWORD,
      },
    }),
    { keep: ({ notes }, { id }: Created) => void (notes["organization"] = id) },
  ),
  operation(`GET ${ORGANIZATIONS}/`, "", asTenant),
  operation(`GET ${ORGANIZATIONS}/{id}`, "", ({ organizationId }) => ({
    ...asTenant(),
    path: [organizationId],
  })),
  operation(`PUT ${ORGANIZATIONS}/`, "", ({ organizationId }) => ({
    ...asTenant(),
    body: { id: organizationId, name: "Large" },
  })),
  operation(`DELETE ${ORGANIZATIONS}/{id}`, "", ({ notes }) => ({
    ...asTenant(),
    path: [notes["organization"]!],
  })),
  operation(`GET ${ORGANIZATIONS}/{id}/settings`, "", ({ organizationId }) => ({
    ...asTenant(),
    path: [organizationId],
  })),
  operation(`PUT ${ORGANIZATIONS}/{id}/settings`, "", ({ organizationId }) => ({
    ...asTenant(),
    path: [organizationId],
    body: { salesControl: true, orphanPrevention: false },
  })),
  operation(`GET ${MANAGEMENT}/session-config/`, "", forLarge),
  operation(`PUT ${MANAGEMENT}/session-config/`, "", (stage) => ({
    ...forLarge(stage),
    body: { publicSessionsEnabled: true },
  })),
  operation(`GET ${MANAGEMENT}/hold-types/`, "", forLarge),
  operation(`PUT ${MANAGEMENT}/hold-types/`, "", (stage) => ({
    ...forLarge(stage),
    body: [{ name: "VIP", ttlSeconds: 60 }],
  })),
  operation(`POST ${V2}/webhooks/`, "", () => ({ body: HOOK }), {
    keep: ({ notes }, { id }: Created) => void (notes["webhook"] = id),
  }),
  operation(`GET ${V2}/webhooks/`),
  operation(`GET ${V2}/webhooks/{id}`, "", theWebhook),
  operation(`PUT ${V2}/webhooks/`, "", ({ notes }) => ({
    body: { id: notes["webhook"], ...HOOK },
  })),
  operation(`POST ${V2}/webhooks/{id}/rotate`, "", theWebhook),
  operation(`GET ${V2}/webhooks/{id}/deliveries/`, "", theWebhook),
  operation(`DELETE ${V2}/webhooks/{id}`, "", theWebhook),
  operation("GET /healthz"),
  operation("GET /readyz"),
  operation("GET /metrics"),
  operation("GET /openapi.json"),
  operation("GET /asyncapi.json"),
  operation("GET /"),
  operation("GET /docs"),
  operation("GET /console"),
];

/** These end what the others need. */
export const LAST_OTHER_OPERATIONS: readonly Operation[] = [
  operation("POST /api/auth/logout", "", ({ notes }) => ({
    ...NO_KEY,
    body: { refreshToken: notes["refreshToken"] },
  })),
  operation(`POST ${V2}/keys/rotate`, "", ({ listedKey }) => ({
    headers: { "X-API-Key": listedKey },
  })),
  operation(
    `DELETE ${ORGANIZATIONS}/{id}`,
    "the large one",
    ({ organizationId }) => ({
      ...asTenant(),
      path: [organizationId],
    }),
    { hasAftermath: true },
  ),
  operation(`POST ${MANAGEMENT}/keys/rotate`, "", asTenant),
];
