/** Actions of the console in Chromium: refusals seat by seat, dry runs, undo, logins that end. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import {
  bar,
  browserOfTest,
  button,
  logInWithAccount,
  logInWithKey,
  mapIsPainted,
  openPage,
  TEST_MS_MAX,
} from "./browser-page.ts";
import { must, stageArena, type Staged } from "./stage.ts";

test(
  "with the keyboard, refused seats are read, left out, and a hold is undone",
  async () => {
    const staged = await stageArena();
    const { seats, eventId } = staged;
    const page = await openEvent(staged);
    await must(staged, `POST /booking/lock?eventId=${eventId}`, {
      sessionId: "web\u202e-3",
      seats: seats.slice(1, 3).map(({ id }) => ({ id })),
    });
    await selectFirstSeats(page, 3);
    await bar(page).getByText("1 free · 2 held").waitFor();
    // Raw, it would turn the direction of the text after it.
    const sessions = page.locator("code");
    await expect.poll(() => sessions.allTextContents()).toContain(String.raw`web\u202e-3`);
    await pressOn(page, "Hold");
    const refused = bar(page).locator(".refused li");
    await refused.first().waitFor();
    expect(await refused.allTextContents()).toEqual([
      "Block 101 · Row A · Seat 2Held",
      "Block 101 · Row A · Seat 3Held",
    ]);
    await pressOn(page, "Leave out these 2");
    await bar(page).getByText("Held 1 place.").waitFor();
    expect(await page.getByRole("status").textContent()).toBe("Held 1 place.");
    await pressOn(page, "Undo");
    await bar(page).getByText("Undone: 1 place").waitFor();
    await bar(page).getByText("1 free").waitFor();
  },
  TEST_MS_MAX,
);

test(
  "places of an area are blocked by number after a dry run, and unblocked",
  async () => {
    const staged = await stageArena();
    const page = await openEvent(staged);
    await button(page, "List of seats").click();
    await page.getByRole("button", { name: /^Standing Left/ }).click();
    await button(page, "Close the list").click();
    await bar(page).getByRole("spinbutton").fill("30");
    await button(bar(page), "Block").click();
    await bar(page).getByText("Dry run: all 30 places can be booked.").waitFor();
    await button(bar(page), "Block 30 places").click();
    await bar(page).getByText("Blocked 30 places.").waitFor();
    await bar(page).getByText("770 free · 0 held").waitFor();
    await bar(page).getByRole("spinbutton").fill("900");
    await button(bar(page), "Hold").click();
    await bar(page).getByText("1 of 900 are refused").waitFor();
    expect(await bar(page).locator(".refused li").textContent()).toMatch(/^Standing Left/);
    await bar(page).getByRole("spinbutton").fill("30");
    await button(bar(page), "Unblock").click();
    await button(bar(page), "Unblock 30 places").click();
    await bar(page).getByText("800 free · 0 held").waitFor();
  },
  TEST_MS_MAX,
);

test(
  "a key that was replaced is renewed with the login, until the login has ended",
  async () => {
    const staged = await stageArena();
    const page = await openPage(await browserOfTest(), staged, `#event/${staged.eventId}`);
    const answered = page.waitForResponse(/\/api\/auth\/login$/);
    await logInWithAccount(page);
    const { refreshToken } = (await (await answered).json()) as { refreshToken: string };
    await mapIsPainted(page);
    // The stream of changes ends with the key, and asks for the new one.
    const renewal = page.waitForResponse(/\/api\/auth\/refresh$/);
    const rotated = { ...staged, ...(await rotateKey(staged)) };
    const renewed = (await (await renewal).json()) as { refreshToken: string };
    expect(renewed.refreshToken).not.toBe(refreshToken);
    await selectFirstSeats(page, 1);
    await button(bar(page), "Hold").click();
    await bar(page).getByText("Held 1 place.").waitFor();
    await must(rotated, "POST /api/auth/logout", { refreshToken: renewed.refreshToken });
    await rotateKey(rotated);
    await page.getByText("Your login has ended. Log in again to continue.").waitFor();
  },
  TEST_MS_MAX,
);

async function openEvent(staged: Staged): Promise<Page> {
  const page = await openPage(await browserOfTest(), staged, `#event/${staged.eventId}`);
  await logInWithKey(page, staged);
  await mapIsPainted(page);
  return page;
}

/** The first seats of the first block, in the list, with the keyboard alone. */
async function selectFirstSeats(page: Page, count: number): Promise<void> {
  await pressOn(page, "List of seats");
  const section = page.getByRole("button", { name: /^Block 101 / });
  await section.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /^Block 101 · Row A · Seat 1,/ }).focus();
  for (let seat = 1; seat <= count; seat++) {
    await page.keyboard.press("Space");
    await page.keyboard.press("ArrowRight");
  }
  await page.keyboard.press("Escape");
}

async function pressOn(page: Page, name: string): Promise<void> {
  await button(page, name).focus();
  await page.keyboard.press("Enter");
}

function rotateKey(staged: Staged): Promise<{ key: string }> {
  const rotation = must<{ secretKey: string }>(staged, "POST /keys/rotate", { graceSeconds: 0 });
  return rotation.then(({ secretKey }) => ({ key: secretKey }));
}
