/**
 * The picture of the README: the console while the demo sells its arena. With `FRONTROW_RECORD=1`,
 * it is taken after minutes of sales, and kept.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  openConsole,
  type RunningBrowser,
  startBrowser,
  violations,
} from "../../../bench/console/page.ts";
import { type ServerProcess, startServer } from "../../support/server-process.ts";

const FILE = new URL("../../../server/docs/assets/console.webp", import.meta.url);
const SIZE = { width: 1_440, height: 900 };
const IS_RECORDING = process.env["FRONTROW_RECORD"] !== undefined;
const RECORDED_AFTER_MS = 240_000;
const BYTES_MAX = 400_000;
/** Of a channel from 0 to 255, over all cells of a coarse grid. */
const MEAN_DIFFERENCE_MAX = 9;

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

/** Puts pictures into a page without a policy, as `images`. */
async function withPictures<T>(pictures: readonly Buffer[], script: string): Promise<T> {
  const page = await running.browser.newPage();
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

function compare(first: Buffer, second: Buffer): Promise<Comparison> {
  return withPictures(
    [first, second],
    `const [a, b] = images.map((image) => drawn(image, 48, 30).getImageData(0, 0, 48, 30).data);
    const difference = a.reduce((sum, value, i) => sum + Math.abs(value - b[i]), 0) / a.length;
    const sizes = images.map((image) => ({ width: image.width, height: image.height }));
    return { sizes, difference, colours: [a, b].map((data) => new Set(data).size) };`,
  );
}

/** A third of the size. */
async function webpOf(png: Buffer): Promise<Buffer> {
  const base64 = await withPictures<string>(
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
    const page = await openArena(server);
    if (IS_RECORDING) await page.waitForTimeout(RECORDED_AFTER_MS);
    const taken = await webpOf(await page.screenshot());
    expect(await violations(page)).toEqual([]);
    await page.close();
    if (IS_RECORDING) writeFileSync(FILE, taken);
    const kept = readFileSync(FILE);
    const { sizes, difference, colours } = await compare(taken, kept);
    expect(sizes).toEqual([SIZE, SIZE]);
    expect(Math.max(taken.length, kept.length)).toBeLessThan(BYTES_MAX);
    expect(Math.min(...colours)).toBeGreaterThan(100);
    expect(difference).toBeLessThan(MEAN_DIFFERENCE_MAX);
    const blank = await running.browser.newPage({ viewport: SIZE });
    expect((await compare(await blank.screenshot(), kept)).difference).toBeGreaterThan(
      MEAN_DIFFERENCE_MAX * 1.5,
    );
  },
  60_000 + (IS_RECORDING ? RECORDED_AFTER_MS : 0),
);

test("the legend fades a state on the map; the list is filtered by call and session", async () => {
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
