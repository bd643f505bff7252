/** The pages below `/docs` in Chromium: accessibility, the policy, phones, search, copy buttons. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { ERROR_CODES, ERRORS_PATH, SOURCES } from "../../../server/docs/pages.ts";
import { startServer } from "../../support/server-process.ts";
import {
  accessibilityFaults,
  browserOfTest,
  button,
  DESK,
  LOOKS,
  openAddress,
  openDemo,
  PHONE,
  picture,
  policyFaults,
  TEST_MS_MAX,
  until,
} from "../console/browser-page.ts";

const GUIDE = SOURCES.map(({ path }) => path);
const CODE = `${ERRORS_PATH}INVENTORY_NOT_AVAILABLE`;
const CODES = ERROR_CODES.map(({ code }) => ERRORS_PATH + code);
/** A button says for two seconds that it has copied. */
const PATIENCE = { timeout: 10_000 };
const MISSING = "/docs/nothing";

async function openDocs(path = "/docs"): Promise<{ page: Page; url: string }> {
  const { url } = await startServer();
  return { page: await openAddress(await browserOfTest(), url + path), url };
}

/** Types into the search and waits for its results. */
async function searchFor(page: Page, text: string): Promise<void> {
  await page.keyboard.press("/");
  await page.keyboard.type(text);
  await page.locator(".results a").first().waitFor();
}

test(
  "every page on a phone → no wider than the screen; tables stack their cells, code scrolls in its box",
  async () => {
    const { page, url } = await openDocs();
    await page.setViewportSize(PHONE);
    const wide: string[] = [];
    const scrolling = { table: 0, pre: 0 };
    for (const path of [...GUIDE, ERRORS_PATH, ...CODES, MISSING]) {
      // oxlint-disable-next-line no-await-in-loop -- one page, which goes from one to the next
      await page.goto(url + path);
      // oxlint-disable-next-line no-await-in-loop
      const found = await page.evaluate<{ width: number; table: number; pre: number }>(`({
        width: document.documentElement.scrollWidth,
        table: [...document.querySelectorAll(".table")]
          .filter((box) => box.scrollWidth > box.clientWidth).length,
        pre: document.querySelectorAll("pre[tabindex='0']").length,
      })`);
      if (found.width > PHONE.width) wide.push(`${path}: ${found.width}`);
      scrolling.table += found.table;
      scrolling.pre += found.pre;
    }
    expect(wide).toEqual([]);
    expect(scrolling.table).toBe(0);
    expect(scrolling.pre).toBeGreaterThan(5);
  },
  TEST_MS_MAX,
);

test(
  "every page keeps the rules of axe and the policy",
  async () => {
    const { page, url } = await openDocs();
    const faults: string[] = [];
    for (const [i, path] of [...GUIDE, ERRORS_PATH, CODE, MISSING].entries()) {
      // The looks take turns: all pages have one style sheet.
      const { size, theme } = LOOKS[i % LOOKS.length]!;
      // oxlint-disable-next-line no-await-in-loop -- one picture after the other
      await page.setViewportSize(size);
      // oxlint-disable-next-line no-await-in-loop
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      // oxlint-disable-next-line no-await-in-loop
      await page.goto(url + path);
      const name = `docs-${path.split("/").at(-1)}-${size.width}-${theme}`;
      // oxlint-disable-next-line no-await-in-loop
      await picture(page, name);
      // oxlint-disable-next-line no-await-in-loop
      for (const fault of await accessibilityFaults(page)) faults.push(`${name}: ${fault}`);
      // oxlint-disable-next-line no-await-in-loop
      for (const fault of await policyFaults(page)) faults.push(`${name}: ${fault}`);
    }
    expect(faults).toEqual([]);
  },
  TEST_MS_MAX,
);

test("open results keep the rules of axe, light and dark, desk and phone", async () => {
  const { page } = await openDocs();
  await searchFor(page, "hold");
  for (const { size, theme } of LOOKS) {
    // oxlint-disable-next-line no-await-in-loop -- one picture after the other
    await page.setViewportSize(size);
    // oxlint-disable-next-line no-await-in-loop
    await page.emulateMedia({ colorScheme: theme });
    // oxlint-disable-next-line no-await-in-loop
    await picture(page, `docs-search-${size.width}-${theme}`);
    // oxlint-disable-next-line no-await-in-loop
    expect([size.width, theme, await accessibilityFaults(page)]).toEqual([size.width, theme, []]);
  }
});

test("the search by keyboard → results from guide, calls and error codes; Enter opens a heading", async () => {
  const { page, url } = await openDocs("/docs/concepts");
  await searchFor(page, "lock");
  const status = page.getByRole("status");
  await expect.poll(() => status.textContent()).toMatch(/^\d+ results$/);
  await page.keyboard.press("Escape");
  await page.locator(".results").waitFor({ state: "hidden" });

  await page.fill(".search input", "lock seats");
  const call = page.locator(".results a").first();
  await expect.poll(() => call.getAttribute("href")).toContain("/docs/reference#tag/booking/POST");
  await page.keyboard.press("ArrowDown");
  await until(page, "document.activeElement.matches('.results li:nth-child(1) a')");
  await page.keyboard.press("ArrowDown");
  await until(page, "document.activeElement.matches('.results li:nth-child(2) a')");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await until(page, "document.activeElement.matches('.search input')");

  await page.fill(".search input", "rphan_seat");
  await until(page, "document.querySelector('.search .none') !== null");
  await page.fill(".search input", "orphan_seat");
  await expect.poll(() => call.getAttribute("href")).toBe("/docs/errors/ORPHAN_SEAT");
  await page.fill(".search input", "whose hold");
  await expect.poll(() => call.getAttribute("href")).toBe("/docs/holds#whose-hold-it-is");
  await page.keyboard.press("Enter");
  await page.waitForURL(`${url}/docs/holds#whose-hold-it-is`);
  await until(
    page,
    "document.querySelector('#whose-hold-it-is').getBoundingClientRect().top < 200",
  );

  await page.keyboard.press("/");
  await page.keyboard.type("nothing has such a word");
  await page.getByText("Nothing has all of these words").first().waitFor();
});

test("a call of the results → the reference shows this call", async () => {
  const { page } = await openDocs("/docs/reference");
  await searchFor(page, "map of an event");
  const path = "/api/private/v2.0/events/{id}/map/";
  await page.locator(`.results a[href$="GET${path}"]`).first().click();
  const shown = `document.getElementById("api-1/tag/events/GET${path}")?.getBoundingClientRect()`;
  await expect.poll(() => page.evaluate(`${shown}?.top`), PATIENCE).toBeLessThan(DESK.height);
});

test("copy by keyboard → the code is in the clipboard and read out; without a clipboard it is selected", async () => {
  const { page } = await openDocs("/docs/first-sale");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const code = (await page.locator("main pre code").first().textContent())!;
  await button(page, "Copy this code").first().focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => page.getByRole("status").textContent()).toBe("Copied");
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(code);
  await expect.poll(() => page.getByRole("status").textContent(), PATIENCE).toBe("");

  await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.getByRole("status").textContent()).toContain("Selected");
  expect(await page.evaluate("getSelection().toString().trim()")).toBe(code.trim());
});

test("without JavaScript → no copy button and no search; the page is whole", async () => {
  const { url } = await startServer();
  const browser = await browserOfTest();
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${url}/docs/first-sale`);
  expect(await page.getByRole("heading", { name: "First sale" }).isVisible()).toBe(true);
  expect(await page.locator("main pre").first().isVisible()).toBe(true);
  expect(await page.locator(".search").isVisible()).toBe(false);
  expect(await page.locator("button").count()).toBe(0);

  await page.goto(`${url}/docs/calls`);
  const first = page.locator(".tabs").first();
  await first.getByText("Python", { exact: true }).click();
  expect(await first.locator("pre:visible").allTextContents()).toEqual([
    expect.stringMatching(/^import json\n/),
  ]);
  expect(await page.locator(".tabs pre:visible").count()).toBe(await page.locator(".tabs").count());
});

test("Python is chosen by keyboard at the last step → all steps show it, none moves away", async () => {
  const { page } = await openDocs("/docs/calls");
  const last = page.locator(".tabs").last();
  await last.locator("input").first().focus();
  const topOf = async () => (await last.boundingBox())!.y;
  const top = await topOf();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => page.locator(".tabs input:checked[value=python]").count()).toBe(8);
  expect(await page.locator(".tabs pre:visible").count()).toBe(8);
  expect(Math.abs((await topOf()) - top)).toBeLessThan(2);
  for (const { size, theme } of LOOKS) {
    // oxlint-disable-next-line no-await-in-loop -- one picture after the other
    await page.setViewportSize(size);
    // oxlint-disable-next-line no-await-in-loop
    await page.emulateMedia({ colorScheme: theme });
    // oxlint-disable-next-line no-await-in-loop
    await picture(page, `docs-python-${size.width}-${theme}`);
    // oxlint-disable-next-line no-await-in-loop
    expect([size.width, theme, await accessibilityFaults(page)]).toEqual([size.width, theme, []]);
  }
});

test("docs and console lead to each other", async () => {
  const server = await startServer({ args: ["--demo"] });
  const page = await openDemo(await browserOfTest(), server);
  await page.getByRole("link", { name: "Guide and API reference" }).click();
  await expect.poll(() => page.url(), PATIENCE).toBe(`${server.url}/docs`);
  await page.getByRole("link", { name: "Console", exact: true }).click();
  await expect.poll(() => page.url(), PATIENCE).toBe(`${server.url}/console`);
});
