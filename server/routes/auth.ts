/** Login of people. Errors of these routes have a shape of their own. */
import { object, text } from "../../engine/schema.ts";
import { Access, bearerOf, organizationsOf } from "../auth/access.ts";
import { LoginRefusal, type Opened } from "../auth/logins.ts";
import { type Handled, type Route, route } from "../api/route.ts";
import type { Services } from "../api/services.ts";
import { type Answer, answer, headersOf, NO_CONTENT } from "../http/answers.ts";
import { LOGIN, USER, userView } from "../api/entities.ts";
import { BODY_BYTES } from "../http/limits.ts";

const BASE = { tag: "Login", access: Access.PUBLIC, durable: true };

const TEXT = text({ minLength: 1, maxLength: 512 });
const CREDENTIALS = object({ username: TEXT, password: TEXT });
const REFRESH = object({ refreshToken: TEXT });

export const AUTH_ROUTES: readonly Route[] = [
  route(BASE, "POST /api/auth/login", {
    body: CREDENTIALS,
    bodyBytesMax: BODY_BYTES.login,
    answers: { 200: LOGIN },
    problems: [400, 401, 429, 503],
    handle: async ({ services, head, body }) =>
      opened(services, await services.logins.open(body, head.address())),
  }),
  route(BASE, "POST /api/auth/refresh", {
    body: REFRESH,
    bodyBytesMax: BODY_BYTES.login,
    answers: { 200: LOGIN },
    problems: [400, 401, 503],
    handle: ({ services, head, body }) =>
      opened(services, services.logins.refresh(body.refreshToken, head.address())),
  }),
  route(BASE, "POST /api/auth/logout", {
    body: REFRESH,
    bodyBytesMax: BODY_BYTES.login,
    answers: { 204: null },
    problems: [400, 401, 503],
    handle: ({ services, body }) => {
      const refusal = services.logins.close(body.refreshToken);
      return refusal === null ? NO_CONTENT : FAILURES[refusal];
    },
  }),
  route(BASE, "GET /api/auth/user/", {
    answers: { 200: USER },
    problems: [401],
    handle: ({ services, authorization }) => {
      const account = services.logins.accountOf(bearerOf(authorization));
      return account === null ? FAILURES[LoginRefusal.WRONG] : answer(200, userView(account));
    },
  }),
];

/** An error under /api/auth. */
export function authFailure(
  status: number,
  error: string,
  headers: Answer["headers"] = [],
): Answer {
  return { ...answer(status, { success: false, error }), headers: headersOf(status, headers) };
}

const FAILURES: Readonly<Record<LoginRefusal, Answer>> = {
  [LoginRefusal.WRONG]: authFailure(401, "The credentials are not valid."),
  [LoginRefusal.THROTTLED]: authFailure(429, "Too many wrong passwords; wait a minute.", [
    ["Retry-After", "60"],
  ]),
  [LoginRefusal.BUSY]: authFailure(429, "Too many logins at the same time; try again shortly.", [
    ["Retry-After", "2"],
  ]),
  [LoginRefusal.UNAVAILABLE]: authFailure(503, "The log takes no changes just now."),
};

function opened(services: Services, result: Opened | LoginRefusal): Handled {
  if (typeof result === "string") return FAILURES[result];
  const { account, token, refreshToken } = result;
  const organizations = organizationsOf(services, account).map((organization) => ({
    id: organization.id,
    name: organization.name,
    secretKey: services.keys.organizationKey(organization),
  }));
  const tenant = services.engine.state.catalog.tenants.get(account.superAdminOf ?? 0);
  const tenantToken = tenant === undefined ? null : services.keys.tenantToken(tenant);
  const user = userView(account);
  const login = { success: true, token, refreshToken, user, organizations };
  return answer(200, tenantToken === null ? login : { ...login, tenantToken });
}
