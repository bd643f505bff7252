/** The pages below `/docs`: every link leads somewhere, and nothing comes from another host. */
import { expect, test } from "vitest";
import { ROUTES, TestServer } from "../../support/server.ts";

const server = new TestServer();
const HTML = "text/html; charset=utf-8";

interface Page {
  readonly path: string;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Targets of an attribute, without those of comments and text. */
function targets(text: string, attribute: string): string[] {
  return [...text.matchAll(new RegExp(`<[^>]*\\s${attribute}="([^"]*)"`, "g"))].map(
    ([, target]) => target!,
  );
}

/** Paths in a script's calls of fetch. */
function fetched(script: string): string[] {
  return [...script.matchAll(/fetch\("([^"]+)"\)/g)].map(([, path]) => path!);
}

/** Path and fragment of a link on a page of this site, as a browser resolves it; empty for others. */
function placeOf(link: string, page: string): readonly [string, string] {
  const { origin, pathname, hash } = new URL(link, `http://docs${page}`);
  return origin === "http://docs" ? [pathname, decodeURIComponent(hash.slice(1))] : ["", ""];
}

/** Follows every link of every page, from the home of the site. */
async function crawl(): Promise<{ pages: Page[]; found: Map<string, number> }> {
  const found = new Map<string, number>();
  const pages: Page[] = [];
  const waiting = ["/docs"];
  for (const path of waiting) {
    if (found.has(path)) continue;
    const reply = await server.call<string>("GET", path);
    found.set(path, reply.status);
    if (path.endsWith(".js")) waiting.push(...fetched(reply.text));
    if (reply.type !== HTML || !path.startsWith("/docs")) continue;
    pages.push({ path, text: reply.text, headers: reply.headers });
    const links = [...targets(reply.text, "href"), ...targets(reply.text, "src")];
    waiting.push(...links.map((link) => placeOf(link, path)[0]).filter((link) => link !== ""));
  }
  return { pages, found };
}

const { pages, found } = await crawl();

test("every link between pages leads to a page, and every page is reached", () => {
  expect([...found].filter(([, status]) => status !== 200)).toEqual([]);
  const served = ROUTES.map(({ path }) => path).filter((path) => path.startsWith("/docs"));
  expect(served.filter((path) => !found.has(path))).toEqual([]);
  expect(pages.length).toBeGreaterThan(30);
});

test("every fragment of a link names a heading or box of its page, and all else leads to another host", () => {
  const ids = new Map(pages.map(({ path, text }) => [path, new Set(targets(text, "id"))]));
  const broken = pages.flatMap(({ path, text }) =>
    targets(text, "href")
      .filter((link) => {
        const [target, fragment] = placeOf(link, path);
        if (target === "") return !link.startsWith("https://");
        // The reference makes its headings in the browser.
        if (fragment === "" || target === "/docs/reference") return false;
        return ids.get(target)?.has(fragment) !== true;
      })
      .map((link) => `${path}: ${link}`),
  );
  expect(broken).toEqual([]);
});

test("a page outside of the list is 404", async () => {
  for (const path of ["/docs/nothing", "/docs/errors/NOTHING", "/docs/errors/orphan_seat"]) {
    const reply = await server.call("GET", path);
    expect([path, reply.status, reply.body.errorCode]).toEqual([path, 404, "ENTITY_NOT_FOUND"]);
  }
});

test("a browser at an unknown page → 404 with the menu and the way back; programs and other paths get the problem", async () => {
  const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
  const browser = { headers: { accept } };
  for (const path of ["/docs/nothing", "/docs/errors/orphan_seat", "/docs/a/b/c"]) {
    const reply = await server.call<string>("GET", path, browser);
    expect([path, reply.status, reply.type]).toEqual([path, 404, HTML]);
    expect(reply.headers["Cache-Control"]).toBe("no-store");
    expect(reply.text).toContain("There is no page here</h1>");
    expect(reply.text).toContain('<nav class="menu"');
    const links = targets(reply.text, "href").map((link) => link.split("#")[0]!);
    expect(links.filter((link) => link !== "" && !found.has(link))).toEqual([]);
    expect(targets(reply.text, "aria-current")).toEqual([]);
  }
  const asked = [
    ["GET", "/docs/nothing", { headers: { accept: "application/json, */*" } }],
    ["POST", "/docs/nothing", browser],
    ["GET", "/nothing", browser],
    ["GET", `/documents`, browser],
  ] as const;
  for (const [method, path, options] of asked) {
    const reply = await server.call(method, path, options);
    expect([path, reply.status, reply.body.errorCode]).toEqual([path, 404, "ENTITY_NOT_FOUND"]);
  }
});

test("pages load from their own host only, and their policy forbids everything else", () => {
  for (const { path, text, headers } of pages) {
    const loaded = [...targets(text, "src"), ...linkTargets(text)];
    expect([path, loaded.filter((target) => !/^\/(?!\/)/.test(target))]).toEqual([path, []]);
    const policy = headers["Content-Security-Policy"]!.split("; ").map((part) => part.split(" "));
    const sources = new Set(policy.flatMap(([, ...values]) => values));
    const allowed =
      path === "/docs/reference"
        ? ["'none'", "'self'", "'unsafe-inline'", "data:"]
        : ["'none'", "'script'", "'self'"];
    expect([path, [...sources].sort()]).toEqual([path, allowed]);
    expect(policy).toContainEqual(["default-src", "'none'"]);
    expect(policy).toContainEqual(["script-src", "'self'"]);
    expect(headers["X-Content-Type-Options"]).toBe("nosniff");
  }
});

/** Loaded by the browser itself: style and icon. */
function linkTargets(text: string): string[] {
  return [...text.matchAll(/<link [^>]*href="([^"]*)"/g)].map(([, target]) => target!);
}

test("pages have no script or style of their own, which the policy would not run", () => {
  for (const { path, text } of pages) {
    expect([path, text.match(/<style|\sstyle="|\son\w+="|javascript:/g)]).toEqual([path, null]);
    expect(text).not.toMatch(/<script[^>]*>[^<]/);
  }
});

interface Section {
  readonly path: string;
  readonly page: string;
  readonly title: string;
  readonly text: string;
}

test("the index of the search has every heading, call and error code, each once and where it is", async () => {
  const reply = await server.call<Section[]>("GET", "/docs/search.json");
  const { text, body: index, headers } = reply;
  expect(headers["Content-Encoding"]).toBe("gzip");
  const places = index.map(({ path }) => path);
  expect(new Set(places).size).toBe(places.length);

  const { paths } = (await server.get<{ paths: Record<string, object> }>("/openapi.json")).body;
  const called = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => method.toUpperCase() + path),
  );
  const [, ...calls] = places.join("\n").split("/docs/reference#tag/");
  const named = calls.map((call) => call.split("\n")[0]!.replace(/^[\w-]+\//, ""));
  expect(named.sort()).toEqual(called.sort());

  const written = pages.flatMap(({ path, text: html }) => headingsOf(path, html));
  expect(places.filter((path) => !path.startsWith("/docs/reference")).sort()).toEqual(
    written.sort(),
  );
  const { text: sentence } = index.find(({ path }) => path === "/docs/errors/ORPHAN_SEAT")!;
  expect(sentence).toMatch(/^422 Orphan seat .* What the client does /);
  expect(text).not.toMatch(/<\/\w|&quot;/);
});

/** Paths of the headings of a page. Those of an error code are one section. */
function headingsOf(path: string, html: string): string[] {
  if (path === "/docs/reference") return [];
  if (/^\/docs\/errors\/./.test(path)) return [path];
  const ids = [...html.matchAll(/<h([1-6]) id="([^"]*)"/g)];
  return ids.map(([, level, id]) => (level === "1" ? path : `${path}#${id}`));
}

test("the menu begins with the pages for a shop; those about several hosts are the last group", () => {
  const [, menu = ""] = /<nav class="menu"[^>]*>(.*?)<\/nav>/.exec(pages[0]!.text) ?? [];
  const groups = menu.split("<h2>").slice(1);
  const names = groups.map((group) => group.split("<")[0]);
  expect(names).toEqual(["Guide", "Reference", "Operation", "Hosts"]);
  const first = targets(groups[0]!, "href").slice(0, 7);
  expect(first).toEqual(
    ["", "/first-sale", "/concepts", "/calls", "/holds", "/checkout", "/retries"].map(
      (path) => `/docs${path}`,
    ),
  );
  expect(targets(groups.at(-1)!, "href")).toEqual(
    expect.arrayContaining(["/docs/gateways", "/docs/cluster", "/docs/cells"]),
  );
});

/** Contrast of two colours by WCAG, such as 4.5. */
function contrast(one: string, other: string): number {
  const luminance = (color: string) => {
    const full = color.length === 4 ? color.replaceAll(/[\da-f]/g, "$&$&") : color;
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
      const part = Number.parseInt(full.slice(at, at + 2), 16) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [dark = 0, bright = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (bright + 0.05) / (dark + 0.05);
}

test("code has colours without a style of its own; each is legible in light and in dark", async () => {
  const { text } = await server.call<string>("GET", "/docs/style.css");
  const colorsIn = (css: string) =>
    new Map(
      [...css.matchAll(/(--[\w-]+): (#[\da-f]+);/g)].map(([, name, color]) => [name!, color!]),
    );
  const [light = "", dark = ""] = text.split("prefers-color-scheme: dark");
  const looks = [colorsIn(light), colorsIn(dark)];
  for (const look of looks) {
    const faint = [...look]
      .filter(([name]) => name.startsWith("--code-"))
      .map(([name, color]) => [name, contrast(color, look.get("--raised")!)] as const);
    expect(faint).toHaveLength(6);
    expect(faint.filter(([, ratio]) => ratio < 4.5)).toEqual([]);
  }
  const used = new Set(
    pages.flatMap(({ text: html }) =>
      [...html.matchAll(/class="(hljs-\w+)/g)].map(([, name]) => name!),
    ),
  );
  expect(used.size).toBeGreaterThan(10);
  const plain = [...used].filter((name) => !new RegExp(`\\.${name}\\b`).test(text));
  expect(plain.sort()).toEqual(["hljs-doctag", "hljs-function", "hljs-params", "hljs-punctuation"]);
});

test("calls in several languages → a choice without script: one radio button and one block for each", () => {
  const { text } = pages.find(({ path }) => path === "/docs/calls")!;
  const groups = text.split('<fieldset class="tabs">').slice(1);
  expect(groups).toHaveLength(8);
  for (const group of groups) {
    const [inside = ""] = group.split("</fieldset>");
    const names = [...inside.matchAll(/<label for="[^"]*">([^<]*)</g)].map(([, name]) => name);
    expect(names).toEqual(["curl", "TypeScript", "Python"]);
    expect(inside.split('<div class="code">')).toHaveLength(4);
    expect(inside.split(" checked>")).toHaveLength(2);
  }
  const ids = targets(text, "id");
  expect(new Set(ids).size).toBe(ids.length);
});

test("the API reference keeps the key, opens no group, and asks nobody else", () => {
  const { text } = pages.find(({ path }) => path === "/docs/reference")!;
  const [, attribute = ""] = /data-configuration="([^"]*)"/.exec(text) ?? [];
  expect(JSON.parse(attribute.replaceAll("&quot;", '"'))).toMatchObject({
    url: "/openapi.json",
    persistAuth: true,
    defaultOpenFirstTag: false,
    telemetry: false,
    withDefaultFonts: false,
    hideSearch: true,
  });
});

test("the files of the pages have their types; the script is compressed", async () => {
  const types = { css: "text/css; charset=utf-8", svg: "image/svg+xml" };
  for (const [name, type] of Object.entries(types)) {
    const files = [...found.keys()].filter((path) => path.endsWith(`.${name}`));
    expect(files.length).toBeGreaterThan(0);
    for (const path of files) {
      const reply = await server.call<string>("GET", path);
      expect([path, reply.type, reply.text.length > 100]).toEqual([path, type, true]);
    }
  }
  const script = await server.call<string>("GET", "/docs/reference.js");
  expect(script.type).toBe("text/javascript; charset=utf-8");
  expect(script.headers["Content-Encoding"]).toBe("gzip");
  expect(script.text.slice(0, 2)).toBe("\u001f\u008b");
});

test("the root leads to the console", async () => {
  const home = await server.call<string>("GET", "/");
  expect([home.status, home.headers["Location"]]).toEqual([302, "/console"]);
});
