/** A new event in Chromium: venue, plan from a layout file, prices by clicks, publication. */
import { expect, test } from "vitest";
import {
  bar,
  browserOfTest,
  button,
  logInWithKey,
  mapIsPainted,
  openPage,
  picture,
  TEST_MS_MAX,
} from "./browser-page.ts";
import { ARENA, stageArena } from "./stage.ts";

/** Of the layout. */
const SECTIONS = 32;
const AREAS = 2;

test(
  "an event is created from a layout file, priced by clicks with an undo, and published",
  async () => {
    const staged = await stageArena();
    const page = await openPage(await browserOfTest(), staged, "#new");
    await logInWithKey(page, staged);
    await page.getByLabel("Name of the venue").fill("Harbour hall");
    await page.getByLabel("Name of the plan").fill("Boxing ring");
    await page.getByLabel(/^Layout file/).setInputFiles("package.json");
    await page.getByText("This is not a layout").waitFor();
    await page.getByLabel(/^Layout file/).setInputFiles(ARENA);
    await page.getByText(/ seats in \d+ sections, 2 areas$/).waitFor();
    await page.getByLabel("Name of the event").fill("Title fight");
    await page.getByLabel("Starts").fill("2030-05-01T20:00");
    await page.getByLabel("Ends").fill("2030-05-01T23:00");
    await button(page, "Create the event").click();
    await page.getByText("Draft: nothing can be sold").waitFor();
    await mapIsPainted(page);
    await page.getByLabel("Add a price").fill("Ringside");
    await button(page, "Add").click();
    await page.getByRole("radio", { name: "Ringside" }).waitFor();
    // The first block, on the right of the stage.
    await page.mouse.click(905, 520);
    const block = page.locator(".price-groups li", { hasText: "Block 101" });
    await block.getByText("Ringside").waitFor();
    await page.getByLabel("Add a price").fill("Standing");
    await button(page, "Add").click();
    expect(await page.getByRole("radio", { name: "Standing" }).isChecked()).toBe(true);
    const area = page.locator(".price-area", { hasText: "Standing Left" });
    await button(page, "Give it to everything without a price").click();
    await area.getByText("Standing", { exact: true }).waitFor();
    expect(await block.textContent()).toContain("Ringside");
    await picture(page, "setup-prices");
    // More seats than one call takes.
    await page.keyboard.press("Control+z");
    await bar(page).getByText("Undone: Everything without a price.").waitFor();
    await expect.poll(() => page.getByText("No price yet").count()).toBe(SECTIONS + AREAS - 1);
    expect(await block.textContent()).toContain("Ringside");
    await button(page, "Give it to everything without a price").click();
    await area.getByText("Standing", { exact: true }).waitFor();
    expect(await area.getByRole("spinbutton").inputValue()).toBe("800");
    await button(page, "Publish the event").click();
    await page.getByText("Draft: nothing can be sold").waitFor({ state: "detached" });
  },
  TEST_MS_MAX,
);
