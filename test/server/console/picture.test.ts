/**
 * The picture of the README: the console while the demo sells its arena. With `FRONTROW_RECORD=1`,
 * it is taken after minutes of sales, and kept.
 */
import { readFileSync, writeFileSync } from "node:fs";
import type { Browser } from "playwright-core";
import { expect, test } from "vitest";
import { type ServerProcess, startServer } from "../../support/server-process.ts";
import { browserOfTest, DESK, openDemo, policyFaults } from "./browser-page.ts";

const FILE = new URL("../../../server/docs/assets/console.webp", import.meta.url);
const IS_RECORDING = process.env["FRONTROW_RECORD"] !== undefined;
const RECORDED_AFTER_MS = 240_000;
const BYTES_MAX = 400_000;
/** Of a channel from 0 to 255, over all cells of a coarse grid. */
const MEAN_DIFFERENCE_MAX = 9;

/** Opens the arena of the demo, and waits until the panel has figures. */
async function openArena(browser: Browser, server: ServerProcess) {
  const page = await openDemo(browser, server);
  for (const part of [".by-price li", ".ending-holds li", ".happenings li", ".server-health dl"]) {
    // oxlint-disable-next-line no-await-in-loop -- one part after the other
    await page.waitForSelector(part, { timeout: 30_000 });
  }
  return page;
}

/** Puts pictures into a page without a policy, as `images`. */
async function withPictures<T>(
  browser: Browser,
  pictures: readonly Buffer[],
  script: string,
): Promise<T> {
  const page = await browser.newPage();
  const sources = pictures.map((picture) => `data:;base64,${picture.toString("base64")}`);
  const result = await page.evaluate<T>(`(async () => {
    const images = ${JSON.stringify(sources)}.map((src) => Object.assign(new Image(), { src }));
    await Promise.all(images.map((image) => image.decode()));
    const drawn = (image, width, height) => {
      const canvas = new OffscreenCanvas(width, height);
      const context = canvas.getContext("2d");
      context.imageSmoothingQuality = "high";
      context.drawImage(image, 0, 0, width, height);
      return context;
    };
    ${script}
  })()`);
  await page.close();
  return result;
}

interface Comparison {
  readonly sizes: readonly object[];
  /** The mean over all cells of a coarse grid. */
  readonly difference: number;
  readonly colours: readonly number[];
}

function compare(browser: Browser, first: Buffer, second: Buffer): Promise<Comparison> {
  return withPictures(
    browser,
    [first, second],
    `const [a, b] = images.map((image) => drawn(image, 48, 30).getImageData(0, 0, 48, 30).data);
    const difference = a.reduce((sum, value, i) => sum + Math.abs(value - b[i]), 0) / a.length;
    const sizes = images.map((image) => ({ width: image.width, height: image.height }));
    return { sizes, difference, colours: [a, b].map((data) => new Set(data).size) };`,
  );
}

/** A third of the size. */
async function webpOf(browser: Browser, png: Buffer): Promise<Buffer> {
  const base64 = await withPictures<string>(
    browser,
    [png],
    `const { canvas } = drawn(images[0], images[0].width, images[0].height);
    const blob = await canvas.convertToBlob({ type: "image/webp", quality: 0.9 });
    const bytes = new Uint8Array(await blob.arrayBuffer());
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));`,
  );
  return Buffer.from(base64, "base64");
}

test(
  "the picture of the README shows the console as it is",
  async () => {
    const server = await startServer({ args: ["--demo", "--demo-traffic"] });
    const browser = await browserOfTest();
    const page = await openArena(browser, server);
    if (IS_RECORDING) await page.waitForTimeout(RECORDED_AFTER_MS);
    const taken = await webpOf(browser, await page.screenshot());
    expect(await policyFaults(page)).toEqual([]);
    await page.close();
    if (IS_RECORDING) writeFileSync(FILE, taken);
    const kept = readFileSync(FILE);
    const { sizes, difference, colours } = await compare(browser, taken, kept);
    expect(sizes).toEqual([DESK, DESK]);
    expect(Math.max(taken.length, kept.length)).toBeLessThan(BYTES_MAX);
    expect(Math.min(...colours)).toBeGreaterThan(100);
    expect(difference).toBeLessThan(MEAN_DIFFERENCE_MAX);
    const blank = await browser.newPage({ viewport: DESK });
    expect((await compare(browser, await blank.screenshot(), kept)).difference).toBeGreaterThan(
      MEAN_DIFFERENCE_MAX * 1.5,
    );
  },
  60_000 + (IS_RECORDING ? RECORDED_AFTER_MS : 0),
);

test("the legend fades a state on the map; the list is filtered by call and session", async () => {
  const server = await startServer({ args: ["--demo", "--demo-traffic"] });
  const browser = await browserOfTest();
  const page = await openArena(browser, server);
  const sold = page.locator(".share-legend button").first();
  expect(await sold.getAttribute("aria-pressed")).toBe("true");
  const before = await page.locator(".map").screenshot();
  await sold.click();
  expect(await sold.getAttribute("aria-pressed")).toBe("false");
  await expect
    .poll(
      async () =>
        (await compare(browser, before, await page.locator(".map").screenshot())).difference,
    )
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
