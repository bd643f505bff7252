/** The walk of a person who runs an on-sale, in Chromium, with a picture of each step. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import {
  bar,
  browserOfTest,
  button,
  logInWithAccount,
  mapIsPainted,
  openPage,
  picture,
  policyFaults,
  soldCount,
  TEST_MS_MAX,
} from "./browser-page.ts";
import { stageArena, type Staged, V2 } from "./stage.ts";

/** A part of the first block, in pixels of the page. */
const FROM = { x: 820, y: 450 };
const TO = { x: 850, y: 500 };

type Step = (page: Page, staged: Staged) => Promise<void>;

/** In order: the title, also the name of the picture, and the person's act. */
const STEPS: readonly (readonly [title: string, step: Step])[] = [
  ["log-in", logIn],
  ["open-the-arena", openTheArena],
  ["sell-by-box", sellByBox],
  ["another-process-buys", watchAnotherProcess],
  ["history-of-a-seat", readSeatHistory],
  ["back-in-time", goBackInTime],
  ["compared-with-now", compareWithNow],
  ["played-to-now", playToNow],
];

test(
  "a person logs in, sells seats, sees another process buy, reads a history, and goes back in time",
  async () => {
    const staged = await stageArena();
    const page = await openPage(await browserOfTest(), staged);
    const errors: string[] = [];
    page.on("pageerror", ({ message }) => errors.push(message));
    for (const [i, [title, step]] of STEPS.entries()) {
      await step(page, staged);
      await picture(page, `walk-${i + 1}-${title}`);
    }
    expect(errors).toEqual([]);
    expect(await policyFaults(page)).toEqual([]);
  },
  TEST_MS_MAX,
);

async function logIn(page: Page): Promise<void> {
  await logInWithAccount(page);
  await page.getByText("19.8 % sold").waitFor();
  expect(await page.getByLabel("Organization").inputValue()).not.toBe("");
  await page.getByLabel("Search events").fill("night 1");
  await page.getByText("1 event", { exact: true }).waitFor();
}

async function openTheArena(page: Page): Promise<void> {
  await page.locator(".event-row", { hasText: "Night 1" }).click();
  await mapIsPainted(page);
  expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Aurora Tour · Night 1");
}

async function sellByBox(page: Page): Promise<void> {
  const before = await soldCount(page);
  await page.getByRole("button", { name: /rectangle/ }).click();
  await page.mouse.move(FROM.x, FROM.y);
  await page.mouse.down();
  await page.mouse.move(TO.x, TO.y, { steps: 4 });
  await page.mouse.up();
  const text = await bar(page).locator(".act-count strong").textContent();
  const count = Number(text!.split(" ")[0]);
  expect(count).toBeGreaterThan(0);
  await button(bar(page), "Sell").click();
  // A large sale is checked first, and waits for a confirmation.
  if (count >= 20) {
    await bar(page)
      .getByText(/^Dry run/)
      .waitFor();
    expect(await soldCount(page)).toBe(before);
    await button(bar(page), `Sell ${count} places`).click();
  }
  await bar(page).getByText(`Sold ${count} places.`).waitFor();
  await bar(page).getByText("A sale cannot be undone here.").waitFor();
  await expect.poll(() => soldCount(page)).toBe(before + count);
}

async function watchAnotherProcess(page: Page, { server, key, eventId, seats }: Staged) {
  const before = await soldCount(page);
  const body = JSON.stringify({ sessionId: "web-2", seats: seats.slice(300, 304).map(idOf) });
  const target = `${server.url}${V2}/booking/directsale?eventId=${eventId}`;
  const headers = ["-H", `X-API-Key: ${key}`, "-H", "Content-Type: application/json"];
  const { stdout } = await promisify(execFile)("curl", ["-s", ...headers, "-d", body, target]);
  expect(stdout).toBe("true");
  await expect.poll(() => soldCount(page)).toBe(before + 4);
}

/** Of one of the seats that were just sold. */
async function readSeatHistory(page: Page): Promise<void> {
  await button(page, "Close").click();
  await page.getByRole("button", { name: /rectangle/ }).click();
  const middle = { x: (FROM.x + TO.x) / 2, y: (FROM.y + TO.y) / 2 };
  await page.mouse.move(middle.x, middle.y);
  for (let i = 0; i < 6; i++) await page.mouse.wheel(0, -240);
  await mapIsPainted(page);
  await page.mouse.click(middle.x, middle.y);
  const history = page.locator(".seat-history");
  await history.getByText("direct sale").waitFor();
  expect(await history.locator("li").count()).toBeGreaterThan(0);
}

async function goBackInTime(page: Page): Promise<void> {
  const sold = await soldCount(page);
  const slider = page.getByLabel("Moment that is shown");
  await slider.waitFor();
  await slider.fill("0");
  await expect.poll(() => soldCount(page)).toBeLessThan(sold);
  expect(await page.locator(".act-bar").count()).toBe(0);
}

async function compareWithNow(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Compare with now" }).click();
  await page.getByText(/seats are different now · .* sold/).waitFor();
}

async function playToNow(page: Page): Promise<void> {
  await page.getByLabel("Speed").selectOption("3600");
  await page.getByRole("button", { name: "Play" }).click();
  await page.locator(".time-at", { hasText: "Now" }).waitFor();
  expect(await page.getByRole("button", { name: "Compare with now" }).count()).toBe(0);
  await page.getByText("20.5").waitFor();
}

function idOf({ id }: { readonly id: number }) {
  return { id };
}
