/** Each view in both themes, on a desk and on a phone: pictures, rules of axe, the policy. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import {
  bar,
  browserOfTest,
  logInWithKey,
  lookAtAll,
  mapIsPainted,
  openPage,
  policyFaults,
} from "./browser-page.ts";
import { stageArena } from "./stage.ts";

test("every view keeps the rules of axe and the policy, in both themes and at both widths", async () => {
  const staged = await stageArena();
  const page = await openPage(await browserOfTest(), staged);
  const faults = await lookAtAll(page, "login");
  await logInWithKey(page, staged);
  await page.waitForSelector(".fullness-bar");
  faults.push(...(await lookAtAll(page, "events")));
  await page.getByRole("link", { name: "New event" }).click();
  await page.waitForSelector("form.setup");
  faults.push(...(await lookAtAll(page, "setup")));
  await goTo(page, `#event/${staged.eventId}`);
  await mapIsPainted(page);
  faults.push(...(await lookAtAll(page, "event")));
  await page.getByRole("button", { name: "List of seats" }).click();
  await page.getByRole("button", { name: /^Block 101/ }).click();
  faults.push(...(await lookAtAll(page, "seats")));
  await page.getByRole("button", { name: "Select Block 101" }).click();
  await page.getByRole("button", { name: "Close the list" }).click();
  await page.getByRole("button", { name: "Block", exact: true }).click();
  await bar(page)
    .getByText(/^Dry run/)
    .waitFor();
  faults.push(...(await lookAtAll(page, "act")));
  await goTo(page, `#event/${staged.eventId}/prices`);
  await page.waitForSelector(".price-groups");
  faults.push(...(await lookAtAll(page, "prices")));
  expect(faults).toEqual([]);
  expect(await policyFaults(page)).toEqual([]);
});

async function goTo(page: Page, hash: string): Promise<void> {
  await page.evaluate(`location.hash = "${hash}"`);
}
