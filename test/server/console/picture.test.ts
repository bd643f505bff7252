/**
 * The picture of the README: the console while the demo sells its arena. With `FRONTROW_RECORD=1`,
 * after a minute of sales, it is written anew.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningBrowser, startBrowser } from "../../../bench/console/browser.ts";
import { openConsole, violations } from "../../../bench/console/page.ts";
import { type ServerProcess, startServer } from "../../support/server-process.ts";

const FILE = new URL("../../../server/docs/assets/console.png", import.meta.url);
const SIZE = { width: 1_440, height: 900 };
const IS_RECORDING = process.env["FRONTROW_RECORD"] !== undefined;
const RECORDED_AFTER_MS = 300_000;
const BYTES_MAX = 400_000;
/** Of a channel from 0 to 255, over all cells of a coarse grid. */
const MEAN_DIFFERENCE_MAX = 16;

let running: RunningBrowser;
beforeAll(async () => {
  running = await startBrowser();
});
afterAll(() => running.stop());

/** Opens the arena that the demo sells, and waits until the panel has figures. */
async function openArena(server: ServerProcess) {
  const eventId = /on sale\s+([\w-]+)/.exec(server.stdout)![1]!;
  const access = { url: new URL(server.url), key: server.key, eventId, seatIds: [] };
  const { page } = await openConsole(running, access, SIZE);
  for (const part of [".by-price li", ".ending-holds li", ".happenings li", ".server-health dl"]) {
    // oxlint-disable-next-line no-await-in-loop -- one part after the other
    await page.waitForSelector(part, { timeout: 30_000 });
  }
  return page;
}

/** Mean colours of the cells of two pictures: how much they differ, and how much within each. */
async function compare(first: Buffer, second: Buffer) {
  const page = await running.browser.newPage();
  const sources = [first, second].map((png) => `data:image/png;base64,${png.toString("base64")}`);
  const result = await page.evaluate(`(async () => {
    const [columns, rows] = [48, 30];
    const cells = await Promise.all(${JSON.stringify(sources)}.map(async (source) => {
      const image = new Image();
      image.src = source;
      await image.decode();
      const canvas = new OffscreenCanvas(columns, rows).getContext("2d");
      canvas.imageSmoothingQuality = "high";
      canvas.drawImage(image, 0, 0, columns, rows);
      return canvas.getImageData(0, 0, columns, rows).data;
    }));
    const [a, b] = cells;
    const difference = a.reduce((sum, value, i) => sum + Math.abs(value - b[i]), 0) / a.length;
    const colours = cells.map((data) => new Set(data).size);
    return { difference, colours };
  })()`);
  await page.close();
  return result as { readonly difference: number; readonly colours: readonly number[] };
}

function sizeOf(png: Buffer) {
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}

test(
  "the picture of the README shows the console as it is",
  async () => {
    const server = await startServer({ args: ["--demo", "--demo-traffic"] });
    const page = await openArena(server);
    if (IS_RECORDING) await page.waitForTimeout(RECORDED_AFTER_MS);
    const taken = await page.screenshot();
    expect(await violations(page)).toEqual([]);
    await page.close();
    if (IS_RECORDING) writeFileSync(FILE, taken);
    const kept = readFileSync(FILE);
    for (const png of [taken, kept]) {
      expect(sizeOf(png)).toEqual(SIZE);
      expect(png.length).toBeLessThan(BYTES_MAX);
    }
    const { difference, colours } = await compare(taken, kept);
    expect(difference).toBeLessThan(MEAN_DIFFERENCE_MAX);
    expect(Math.min(...colours)).toBeGreaterThan(100);
    const blank = await running.browser.newPage({ viewport: SIZE });
    expect((await compare(await blank.screenshot(), kept)).difference).toBeGreaterThan(20);
  },
  60_000 + (IS_RECORDING ? RECORDED_AFTER_MS : 0),
);

test("the legend takes a state off the map, and filters what happens by call and session", async () => {
  const server = await startServer({ args: ["--demo", "--demo-traffic"] });
  const page = await openArena(server);
  const sold = page.locator(".share-legend button").first();
  expect(await sold.getAttribute("aria-pressed")).toBe("true");
  const before = await page.locator(".map").screenshot();
  await sold.click();
  expect(await sold.getAttribute("aria-pressed")).toBe("false");
  await expect
    .poll(async () => (await compare(before, await page.locator(".map").screenshot())).difference)
    .toBeGreaterThan(1);
  await page.selectOption(".filters select", "lock");
  const calls = () => page.locator(".happenings .call").allTextContents();
  await expect.poll(async () => new Set(await calls())).toEqual(new Set(["hold"]));
  await page.fill(".filters input", "nobody");
  await expect.poll(() => page.locator(".happenings li").count()).toBe(0);
  expect(await page.locator(".happenings .note").textContent()).toContain("filter");
  expect(await page.locator(".for-readers tbody tr").count()).toBeGreaterThan(1);
  await page.close();
});
