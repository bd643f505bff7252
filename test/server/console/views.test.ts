/** Each view in both themes, on a desk and on a phone: pictures, rules of axe, the policy. */
import { expect, test } from "vitest";
import {
  bar,
  browserOfTest,
  button,
  logInWithKey,
  lookAtAll,
  mapIsPainted,
  openPage,
  policyFaults,
  TEST_MS_MAX,
} from "./browser-page.ts";
import { stageArena } from "./stage.ts";

test(
  "login, events and setup keep the rules of axe and the policy",
  async () => {
    const staged = await stageArena();
    const page = await openPage(await browserOfTest(), staged);
    const faults = await lookAtAll(page, "login");
    await logInWithKey(page, staged);
    await page.locator(".fullness-bar").nth(1).waitFor();
    faults.push(...(await lookAtAll(page, "events")));
    await page.getByRole("link", { name: "New event" }).click();
    await page.waitForSelector("form.setup");
    faults.push(...(await lookAtAll(page, "setup")));
    expect(faults).toEqual([]);
    expect(await policyFaults(page)).toEqual([]);
  },
  TEST_MS_MAX,
);

test(
  "map, list, actions and prices keep the rules of axe and the policy",
  async () => {
    const staged = await stageArena();
    const page = await openPage(await browserOfTest(), staged, `#event/${staged.eventId}`);
    await logInWithKey(page, staged);
    await mapIsPainted(page);
    const faults = await lookAtAll(page, "event");
    await button(page, "List of seats").click();
    await page.getByRole("button", { name: /^Block 101 / }).click();
    faults.push(...(await lookAtAll(page, "seats")));
    await button(page, "Select Block 101").click();
    await button(page, "Close the list").click();
    await button(bar(page), "Block").click();
    await bar(page)
      .getByText(/^Dry run/)
      .waitFor();
    faults.push(...(await lookAtAll(page, "act")));
    await page.getByRole("link", { name: "Prices" }).click();
    await page.waitForSelector(".price-groups");
    faults.push(...(await lookAtAll(page, "prices")));
    expect(faults).toEqual([]);
    expect(await policyFaults(page)).toEqual([]);
  },
  TEST_MS_MAX,
);
