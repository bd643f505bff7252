/** The console in Chromium: pictures, rules of accessibility, violations of the policy. */
import { mkdirSync } from "node:fs";
import axe from "axe-core";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { startBrowser } from "../../../bench/console/page.ts";
import type { ServerProcess } from "../../support/server-process.ts";
import { ACCOUNT, type Staged } from "./stage.ts";

/** Kept after the tests, and not in the repository. */
const PICTURES = "test-pictures";
const WATCH = `
  window.violations_ = [];
  document.addEventListener("securitypolicyviolation", (event) =>
    violations_.push(event.violatedDirective + " " + event.blockedURI));
`;
const AXE_OPTIONS = { preload: false, resultTypes: ["violations"] };

/** Each takes some seconds; a busy machine paints slowly. */
export const TEST_MS_MAX = 180_000;

export const DESK = { width: 1_440, height: 900 };
export const PHONE = { width: 390, height: 844 };
export type Theme = "light" | "dark";

export interface Look {
  readonly size: typeof DESK;
  readonly theme: Theme;
}

export const LOOKS: readonly Look[] = [DESK, PHONE].flatMap((size) =>
  (["light", "dark"] as const).map((theme) => ({ size, theme })),
);

/** One for all files of a worker; it ends with the worker. */
let running: ReturnType<typeof startBrowser> | null = null;

/** Chromium without a page; those of a test are closed. @throws Error when it is not installed. */
export async function browserOfTest(): Promise<Browser> {
  running ??= startBrowser();
  const { browser } = await running;
  onTestFinished(async () => {
    await Promise.all(browser.contexts().map((context) => context.close()));
  });
  return browser;
}

/** A page that counts violations of the policy. */
export async function openAddress(browser: BrowserContext | Browser, url: string): Promise<Page> {
  const page = await browser.newPage();
  await page.setViewportSize(DESK);
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.addInitScript(WATCH);
  await page.goto(url);
  return page;
}

/** @param hash - The fragment of the address, as `#event/…`. */
export async function openPage(
  browser: Browser,
  { server }: Pick<Staged, "server">,
  hash = "",
): Promise<Page> {
  const page = await openAddress(browser, `${server.url}/console${hash}`);
  await page.waitForSelector("form");
  return page;
}

/** Opens the event of a demo, painted. */
export async function openDemo(browser: Browser, server: ServerProcess): Promise<Page> {
  const eventId = /on sale\s+([\w-]+)/.exec(server.stdout)?.[1] ?? server.eventId;
  const page = await openPage(browser, { server }, `#event/${eventId}`);
  await logInWithKey(page, server);
  await mapIsPainted(page);
  return page;
}

export async function logInWithKey(page: Page, { key }: Pick<Staged, "key">): Promise<void> {
  await button(page, "API key").click();
  await page.fill("input[name=key]", key);
  await button(page, "Log in").click();
}

export async function logInWithAccount(page: Page): Promise<void> {
  await button(page, "Account").click();
  await page.fill("input[name=email]", ACCOUNT.email);
  await page.fill("input[name=password]", ACCOUNT.password);
  await button(page, "Log in").click();
}

/** The bar of actions, with its results. */
export function bar(page: Page): Locator {
  return page.locator(".map-foot");
}

export function button(page: Page | Locator, name: string): Locator {
  return page.getByRole("button", { name, exact: true });
}

/** Sold seats and places, by the panel. */
export async function soldCount(page: Page): Promise<number> {
  const text = await page.locator(".share strong").first().textContent();
  return Number(text!.split(" ")[0]!.replaceAll(",", ""));
}

/**
 * Waits for a condition of the page, looked at in each frame: the policy forbids the way in which
 * Playwright would do it.
 */
export async function until(page: Page, condition: string): Promise<void> {
  await page.evaluate(`new Promise((done) => {
    const look = () => (${condition}) ? done() : requestAnimationFrame(look);
    look();
  })`);
}

/** Waits until the map is painted as a whole. */
export async function mapIsPainted(page: Page): Promise<void> {
  await until(page, "performance.getEntriesByName('frontrow: painted').length > 0");
}

export async function look(page: Page, { size, theme }: Look): Promise<void> {
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
  await page.waitForSelector(`html[data-theme=${theme}]`);
  // Two frames: the map takes its new size in the first.
  await page.evaluate(
    "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))",
  );
}

/** @param name - Of the file. */
export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: `${PICTURES}/${name}.png` });
}

/** @returns What breaks the rules of axe: the rule, and the first element. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe.source);
  const run = `axe.run(document, ${JSON.stringify(AXE_OPTIONS)})`;
  const { violations } = await page.evaluate<axe.AxeResults>(run);
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html.slice(0, 120)}`);
}

/** A picture in each look, and what axe finds in each. */
export async function lookAtAll(page: Page, view: string): Promise<string[]> {
  const faults: string[] = [];
  for (const one of LOOKS) {
    await look(page, one);
    const name = `${view}-${one.size.width}-${one.theme}`;
    await picture(page, name);
    faults.push(...(await accessibilityFaults(page)).map((fault) => `${name}: ${fault}`));
  }
  await look(page, LOOKS[0]!);
  return faults;
}

/** The directives of the policy that the page has violated. */
export function policyFaults(page: Page): Promise<string[]> {
  return page.evaluate<string[]>("violations_");
}
