/**
 * The state of every page: login, address, theme, announcements for screen readers. Keys and tokens
 * are in memory only: a reload forgets them.
 */
import { computed, effect, signal } from "@preact/signals";
import {
  endLogin,
  listEvents,
  type Login,
  logInWith,
  type Organization,
  readOrganizations,
  refreshLogin,
} from "../api/calls.ts";
import { type Access, Api } from "../api/http.ts";

/** Before the login ends, after an hour. A refused key renews it, too. */
const RENEW_MS = 50 * 60_000;

export interface Session {
  readonly api: Api;
  /** Null for a login with a key. */
  readonly organization: Organization | null;
  readonly organizations: readonly Organization[];
}

/** Null before the login. */
export const session = signal<Session | null>(null);
/** True after the server has ended the login. */
export const hasExpired = signal(false);

let login: Login | null = null;
let renewing: Promise<Login | null> | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;

/** @throws ApiError for an invalid key. */
export async function logInWithKey(key: string): Promise<void> {
  const api = new Api({ key });
  await listEvents(api, { page: 0, size: 1, sort: "start,asc" });
  hasExpired.value = false;
  session.value = { api, organization: null, organizations: [] };
}

/** @throws ApiError for a wrong password, or an account without organizations. */
export async function logInWithAccount(email: string, password: string): Promise<void> {
  const opened = await logInWith(email, password);
  const { tenantToken } = opened;
  const own = opened.organizations;
  const organizations =
    tenantToken === undefined || own.length > 0 ? own : await readOrganizations(tenantToken);
  keep(opened);
  hasExpired.value = false;
  enter(organizations, organizations[0] ?? null);
}

/** Continues as another organization of the account. */
export function chooseOrganization(id: number): void {
  const { organizations } = session.value!;
  enter(organizations, organizations.find((one) => one.id === id) ?? null);
}

export function logOut(): void {
  if (login !== null) void endLogin(login.refreshToken);
  forget();
}

function enter(organizations: readonly Organization[], organization: Organization | null): void {
  const access = { ...accessTo(organization), renew: () => renewAccess(organization) };
  session.value = { api: new Api(access), organization, organizations };
}

/** With the key of the organization; a super admin who is no member has the tenant token. */
function accessTo(organization: Organization | null): Access {
  const own = login?.organizations.find(({ id }) => id === organization?.id)?.secretKey;
  if (own !== undefined) return { key: own };
  return { key: login?.tenantToken ?? "", organizationId: organization?.id };
}

async function renewAccess(organization: Organization | null): Promise<Access | null> {
  const renewed = await renewLogin();
  return renewed === null ? null : accessTo(organization);
}

/** One renewal at a time, shared by all calls. @returns Null when the login is over. */
function renewLogin(): Promise<Login | null> {
  renewing ??= refreshLogin(login?.refreshToken ?? "")
    .then(keep, (error: { status: number }) => {
      if (error.status === 401) expire();
      return null;
    })
    .finally(() => (renewing = null));
  return renewing;
}

function keep(opened: Login): Login {
  login = opened;
  clearTimeout(timer);
  timer = setTimeout(() => void renewLogin(), RENEW_MS);
  return opened;
}

function expire(): void {
  hasExpired.value = true;
  forget();
}

function forget(): void {
  clearTimeout(timer);
  login = null;
  session.value = null;
}

/** The current page: the fragment of the address, kept by reloads and links. */
export type Place =
  | { readonly kind: "events" }
  | { readonly kind: "setup" }
  | { readonly kind: "event" | "prices"; readonly id: string };

export const place = signal<Place>(placeOf(location.hash));

export function hashOf(of: Place): string {
  if (of.kind === "event") return `#event/${of.id}`;
  if (of.kind === "prices") return `#event/${of.id}/prices`;
  return of.kind === "setup" ? "#new" : "#events";
}

export function go(to: Place): void {
  location.hash = hashOf(to);
}

function placeOf(hash: string): Place {
  const [, id, prices] = /^#event\/([0-9a-fA-F-]{36})(\/prices)?$/.exec(hash) ?? [];
  if (id !== undefined) return { kind: prices === undefined ? "event" : "prices", id };
  return { kind: hash === "#new" ? "setup" : "events" };
}

addEventListener("hashchange", () => (place.value = placeOf(location.hash)));

type Theme = "light" | "dark";

const system = matchMedia("(prefers-color-scheme: dark)");
const isSystemDark = signal(system.matches);
const chosen = signal<Theme | null>(null);

/** As the system, until the person chooses. */
export const theme = computed<Theme>(() => chosen.value ?? (isSystemDark.value ? "dark" : "light"));

export function switchTheme(): void {
  chosen.value = theme.value === "dark" ? "light" : "dark";
}

system.addEventListener("change", ({ matches }) => (isSystemDark.value = matches));
effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
});

/** A live region says it: changes of the selection, and results. */
export const announcement = signal("");

export function announce(text: string): void {
  announcement.value = text;
}
