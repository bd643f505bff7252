/** The files of the console, and the theme of its chart. */
import { expect, test } from "vitest";
import { startServer } from "../../support/server-process.ts";
import { browserOfTest, openDemo } from "./browser-page.ts";

test("the page of the console is small, compressed, and protected by its policy", async () => {
  const server = await startServer({ args: ["--demo"] });
  const page = await fetch(`${server.url}/console`);
  expect(page.headers.get("content-security-policy")).toContain("require-trusted-types-for");
  expect(page.headers.get("cache-control")).toBe("no-cache");
  const assets = [...(await page.text()).matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)];
  expect(assets.length).toBeGreaterThanOrEqual(2);
  const bytes = { js: 0, css: 0 };
  for (const [, path = ""] of assets) {
    const asset = await fetch(server.url + path, { headers: { "accept-encoding": "gzip" } });
    expect(asset.headers.get("cache-control")).toContain("immutable");
    const sent = Number(asset.headers.get("content-length"));
    bytes[path.endsWith(".css") ? "css" : "js"] += sent;
    const plain = await fetch(server.url + path, { headers: { "accept-encoding": "identity" } });
    expect((await plain.text()).length).toBeGreaterThan(sent);
  }
  expect(bytes.js).toBeLessThanOrEqual(80_000);
  expect(bytes.css).toBeLessThanOrEqual(8_000);
  expect(await fetch(`${server.url}/console/../package.json`)).toMatchObject({ status: 404 });
});

test("a change of theme → the chart has the new colours in the next frames", async () => {
  const server = await startServer({ args: ["--demo"] });
  const page = await openDemo(await browserOfTest(), server);
  await page.locator(".for-readers tbody tr").nth(2).waitFor({ state: "attached" });
  for (const colorScheme of ["dark", "light", "dark", "light"] as const) {
    // oxlint-disable-next-line no-await-in-loop -- one theme after the other
    await page.emulateMedia({ colorScheme });
    // oxlint-disable-next-line no-await-in-loop
    await page.waitForSelector(`html[data-theme=${colorScheme}]`);
    // oxlint-disable-next-line no-await-in-loop
    expect(await page.evaluate<boolean>(CHART_HAS_FREE_COLOUR), colorScheme).toBe(true);
  }
});

/** Chart pixels after three frames: the chart draws once a second by itself. */
const CHART_HAS_FREE_COLOUR = `(async () => {
  for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
  const canvas = document.querySelector(".chart canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const free = getComputedStyle(document.documentElement).getPropertyValue("--map-free").trim();
  const [r, g, b] = [1, 3, 5].map((at) => Number.parseInt(free.slice(at, at + 2), 16));
  for (let i = 0; i < data.length; i += 4) {
    if (data[i] === r && data[i + 1] === g && data[i + 2] === b) return true;
  }
  return false;
})()`;
