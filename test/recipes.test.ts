/**
 * Every recipe of the README, the guide and the pages for operators is run by a test as a reader
 * would run it: by the test that `RUN_BY` names, or here. A recipe is a block of code meant to be run
 * or sent; pictures and answers are not.
 */
import { execFile, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { existsSync, lstatSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { CommandClient } from "../server/client/client.ts";
import { CommandClient as JsonClient, JSON_PROTOCOL } from "./server/commands/client.ts";
import { missingRoot, describeUnless } from "./support/programs.ts";
import {
  begun,
  quietPort,
  ROOT,
  sleep,
  startServer,
  temporaryFolder,
} from "./support/server-process.ts";

const GUIDE = "server/docs/guide";
const PAGES = [
  "README.md",
  "SECURITY.md",
  "bench/README.md",
  "server/OPERATING.md",
  "server/ops/README.md",
  ...readdirSync(GUIDE, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => path.join(GUIDE, name)),
];

const nameOf = (page: string) => (page.endsWith("/README.md") ? page : path.basename(page));
/** Blocks of code by page and position: `holds.md 3`. Those without a language are pictures. */
const BLOCKS: ReadonlyMap<string, string> = new Map(
  PAGES.flatMap((page) => {
    const blocks = readFileSync(page, "utf8").matchAll(/^```(\w+)\n([^]*?)^```$/gm);
    return [...blocks].map(([, , text], i) => [`${nameOf(page)} ${i + 1}`, text!] as const);
  }),
);

/** Answers and messages of the server. */
const ANSWERS = [
  "README.md 2",
  "calls.md 26",
  "commands.md 1",
  "commands.md 3",
  "holds.md 5",
  "live.md 1",
  "live.md 2",
  "webhooks.md 3",
  "webhooks.md 4",
];

/** Run by the tests below. */
const RUN_HERE = [
  "README.md 4",
  "README.md 5",
  "README.md 6",
  "bench/README.md 1",
  "cells.md 1",
  "cells.md 2",
  "cells.md 4",
  "cluster.md 1",
  "gateways.md 1",
  "server/ops/README.md 1",
  "server/ops/README.md 3",
  "audit-trail.md 1",
  "audit-trail.md 2",
  "calls.md 1",
  "cells.md 5",
  "commands.md 2",
  "commands.md 4",
  "concepts.md 1",
  "door.md 1",
  "door.md 2",
  "door.md 3",
  "door.md 4",
  "door.md 5",
  "holds.md 1",
  "holds.md 2",
  "holds.md 3",
  "holds.md 4",
  "holds.md 7",
  "holds.md 8",
  "holds.md 9",
  "holds.md 10",
  "on-sale.md 1",
  "on-sale.md 2",
  "on-sale.md 3",
  "on-sale.md 4",
  "on-sale.md 5",
  "on-sale.md 6",
  "webhooks.md 1",
  "webhooks.md 2",
  "webhooks.md 5",
  "webhooks.md 6",
];

/** By pattern of recipes: file and title of the test that runs them. */
const RUN_BY: readonly (readonly [RegExp, file: string, title: string])[] = [
  [/^README.md 1$/, "server/process/start", "SIGTERM to npm start"],
  [/^README.md 3$/, "server/process/start", "SIGTERM to the README's command"],
  [/^OPERATING.md /, "operating", "every command of the manual is in a tested block"],
  [/^checkout.md /, "server/docs/checkout", "kills, messages that are late"],
  [/^first-sale.md /, "server/docs/guide", "the commands of the first sale"],
  [/^going-live.md 1$/, "server/ops/nginx", "its requests are answered"],
  [/^holds.md 6$/, "server/docs/guide", "the code of the guide holds places together"],
  [/^holds.md 11$/, "server/docs/guide", "the code of the guide holds a package of nights"],
  [/^library.md ([1-8]|10)$/, "persistence/library/package", "the program of the guide runs"],
  [/^library.md 9$/, "persistence/library/cluster", "with the option cluster, open resolves"],
  // By step: curl, TypeScript, Python.
  [
    /^calls.md (2|5|8|11|14|17|20|23|4|7|10|13|16|19|22|25)$/,
    "server/docs/guide",
    "the calls of a shop in %s",
  ],
  [
    /^calls.md (3|6|9|12|15|18|21|24)$/,
    "server/client/package",
    "the calls of a shop in TypeScript",
  ],
  [/^live.md 3$/, "server/live/events", "the guide's EventSource shows a change"],
  [/^live.md 4$/, "server/client/stream", "the guide's client shows the states"],
  [/^retries.md /, "server/docs/guide", "the code of the guide retries"],
  [/^cells.md 3$/, "server/cells/routes", "a key leads to its cell"],
  [/^kubernetes.md 1$/, "server/ops/kubernetes", "its commands make the secret"],
  [/^kubernetes.md 2$/, "server/ops/kubernetes", "a server with its variables starts"],
];

/** Their tests do what the page says, with code of their own. */
const BY_TITLE = new Set([String(/^library.md 9$/)]);

/** By recipe: why no test can run it. */
const NOT_RUN: Readonly<Record<string, string>> = {
  "SECURITY.md 1": "npm clones a repository from GitHub",
  "server/ops/README.md 2": "docker needs its daemon, and pulls images",
  "server/ops/README.md 4": "git clones repositories from GitHub",
};

/** By recipe: the step that no test can run. All others are run. */
const WITHOUT: Readonly<Record<string, string>> = {
  "kubernetes.md 1": "kubectl apply needs a cluster: kubectl reads the manifests instead",
  "server/ops/README.md 1": "systemctl --now needs systemd as the first process",
};

/** The text of a test and of what it imports from beside it. */
function sourcesOf(place: string): string {
  const text = readFileSync(place, "utf8");
  const imports = [...text.matchAll(/ from "(\.[^"]+)"/g)].map(([, name]) => {
    return path.join(path.dirname(place), name!);
  });
  const own = imports.filter((name) => name.startsWith("test/"));
  return [text, ...own.map((name) => readFileSync(name, "utf8"))].join("\n");
}

const runnersOf = (recipe: string) => RUN_BY.filter(([of]) => of.test(recipe));

test("every recipe is run once, and every runner exists", () => {
  const recipes = [...BLOCKS.keys()].filter((name) => !ANSWERS.includes(name));
  const causes = { ...NOT_RUN, ...WITHOUT };
  for (const name of [...ANSWERS, ...RUN_HERE, ...Object.keys(causes)])
    expect(BLOCKS.has(name), name).toBe(true);
  for (const name of recipes) {
    const here = [RUN_HERE.includes(name), name in NOT_RUN].filter(Boolean).length;
    expect([name, runnersOf(name).length + here]).toEqual([name, 1]);
  }
  for (const [of, file, title] of RUN_BY) {
    const place = `test/${file}.test.ts`;
    expect(
      recipes.some((name) => of.test(name)),
      String(of),
    ).toBe(true);
    expect(existsSync(place) && readFileSync(place, "utf8"), `${place}: ${title}`).toContain(title);
    const [page = ""] = /^[\w-]+\.md/.exec(of.source.slice(1)) ?? [];
    if (!BY_TITLE.has(String(of))) {
      expect(sourcesOf(place).includes(page), `${place} reads ${page}`).toBe(true);
    }
  }
  const notRun = Object.keys(NOT_RUN).length;
  expect([recipes.length - notRun, notRun]).toEqual([106, 3]);
});

const TOKEN = "a-token-of-your-own";
const [, ...FIRST_SALE] = [...BLOCKS.keys()].filter((name) => name.startsWith("first-sale.md "));
/** From the variables to the event on sale. */
const SET_UP = FIRST_SALE.slice(0, 4).map((name) => BLOCKS.get(name)!);

/** The variables and functions of the page, and the command `frontrow`. */
const FIRST_SALE_TOOLS = `${SET_UP[0]!}PATH=${path.join(ROOT, "dist")}:$PATH\n`;

/** A shop that follows the guide: a server with the event of the first sale. */
class Reader {
  readonly url: string;
  #variables: Readonly<Record<string, string>> = {};
  /** Ids and addresses of the pages, each with the real one. */
  #examples: readonly (readonly [RegExp, string])[] = [];

  private constructor(url: string) {
    this.url = url;
  }

  static async start(hook: string): Promise<Reader> {
    const { url } = await startServer({
      args: ["--webhook-private-addresses"],
      env: { FRONTROW_TENANT_TOKEN: TOKEN },
    });
    const reader = new Reader(url);
    reader.#examples = [[/http:\/\/127\.0\.0\.1:8080/g, url]];
    const show = "third=$(field '.seats[2].id' <<< \"$layout\")\n";
    const names = ["key", "event", "price", "floor", "first", "second", "third"];
    const last = names.map((name) => `echo "${name}=$${name}"`).join("\n");
    const output = await reader.shell([...SET_UP, show, last].join("echo\n"));
    const found = [...output.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]);
    const of = Object.fromEntries(found) as Record<string, string>;
    const { key = "", event = "", price, floor, first, second, third } = of;
    reader.#variables = { ...of, url, id: event, organization: key.split("_")[1]! };
    reader.#variables = { ...reader.#variables, URL: url, KEY: key };
    const ids = { 13: floor, 16: first, 17: second, 22: third, 36: first, 43: price };
    reader.#examples = [
      ...reader.#examples,
      ...Object.entries(ids).map(([id, real]) => [new RegExp(`\\b${id}\\b`, "g"), real!] as const),
      [/6f1c8f0e-58a5-4b0e-9a5d-0b8f3c1d2e4f/g, event],
      [/https:\/\/(odeon\.example\/frontrow)/g, hook],
      [/https:\/\/(tickets|a|b)\.example/g, url],
      [/2026-05-01T20:(00|15:00)/g, new Date().toISOString().slice(0, 23)],
    ];
    return reader;
  }

  get key(): string {
    return this.#variables["key"]!;
  }

  get event(): string {
    return this.#variables["event"]!;
  }

  set webhook(id: string) {
    this.#variables = { ...this.#variables, ID: id };
  }

  /** A block with the real ids and addresses. */
  block(name: string): string {
    return this.#examples.reduce((text, [of, real]) => text.replace(of, real), BLOCKS.get(name)!);
  }

  /** @returns The output of commands. */
  async shell(commands: string): Promise<string> {
    const env = { ...process.env, ...this.#variables, FRONTROW_TENANT_TOKEN: TOKEN };
    const text = commands.replace("http://127.0.0.1:8080", this.url);
    const options = { cwd: temporaryFolder(), env };
    return (await promisify(execFile)("bash", ["-e", "-c", text], options)).stdout;
  }

  /** @returns The answers of the curl lines in blocks of one terminal. */
  async curl(...names: readonly string[]): Promise<unknown[]> {
    const text = names.map((name) => this.block(name)).join("");
    const output = await this.shell(text.replaceAll(/^curl /gm, "echo; curl -sS "));
    return output
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as unknown);
  }

  /** @param body - JSON, as a block has it. */
  async book(call: string, body: string): Promise<unknown> {
    const address = `${this.url}/api/private/v2.0/booking/${call}?eventId=${this.event}`;
    const headers = {
      "X-API-Key": this.key,
      "Content-Type": "application/json",
      Prefer: "handling=strict",
    };
    return (await fetch(address, { method: "POST", headers, body })).json();
  }

  /** Runs a program of the guide. @returns The value of an expression after it. */
  program(name: string, value: string): Promise<unknown> {
    const code = this.block(name).replace(/^import .*\n/, "");
    const body = `return (async () => {${code}; return ${value}; })();`;
    const env = { env: { FRONTROW_KEY: this.key } };
    // oxlint-disable-next-line no-new-func, typescript/no-implied-eval -- the code of the guide
    const run = new Function("CommandClient", "process", "eventId", "key", body);
    return run(CommandClient, env, this.event, this.key) as Promise<unknown>;
  }
}

const DIST = path.join(ROOT, "dist");

/** @returns The output of commands that end. */
async function shell(commands: string, cwd: string, env: Readonly<Record<string, string>> = {}) {
  const all = { ...process.env, PATH: `${DIST}:${process.env["PATH"]}`, ...env };
  return (await promisify(execFile)("bash", ["-e", "-c", commands], { cwd, env: all })).stdout;
}

/** A server whose commands a page gives, on a free port. */
function served(commands: string, cwd: string, env: Readonly<Record<string, string>> = {}) {
  const own = { PATH: `${DIST}:${process.env["PATH"]}`, FRONTROW_PORT: "0", ...env };
  return begun(commands.replace(/^frontrow /m, "exec $&"), own, cwd);
}

interface Held {
  readonly seats: readonly {
    readonly id: number;
    readonly fence: number;
    readonly expiresAt: string;
  }[];
}

/** The receiver of the guide, as a process on a port of its own. */
class Receiver {
  readonly #port = quietPort();
  readonly url = `http://127.0.0.1:${this.#port}/`;
  output = "";

  async start(program: string, secret: string): Promise<void> {
    const file = path.join(temporaryFolder(), "receiver.mjs");
    writeFileSync(file, program.replace("9000", String(this.#port)));
    const env = { ...process.env, WEBHOOK_SECRET: secret };
    const child = spawn(process.execPath, [file], { env, stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill());
    child.stdout.on("data", (text: Buffer) => (this.output += text.toString()));
    const isUp = () => fetch(this.url).then(Boolean, () => false);
    await vi.waitUntil(isUp, { timeout: 20_000 });
  }

  /** Signed as Standard Webhooks describes. @returns The status of the answer. */
  async send(id: string, secret: string, nowMs: number): Promise<number> {
    const body = '{"type":"test"}';
    const time = Math.floor(nowMs / 1_000);
    const key = Buffer.from(secret.replace("whsec_", ""), "base64");
    const signature = createHmac("sha256", key).update(`${id}.${time}.${body}`).digest("base64");
    const headers = {
      "webhook-id": id,
      "webhook-timestamp": String(time),
      "webhook-signature": `v1,${signature}`,
    };
    return (await fetch(this.url, { method: "POST", headers, body })).status;
  }
}

/** An address that takes deliveries. */
async function receiver(): Promise<string> {
  const server = createServer((_, response) => void response.writeHead(204).end());
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const membersOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(membersOf);
  if (value === null || typeof value !== "object") return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, membersOf(of)]));
};

test("the recipes of the pages → the answers that the pages give", async () => {
  const reader = await Reader.start(await receiver());
  expect(await reader.curl("README.md 4")).toEqual([
    expect.objectContaining({ name: "Roxy", secretKey: expect.stringMatching(/^fro_/) as string }),
  ]);

  const names = ["URL", "KEY", "EVENT"].map((name) => `printenv FRONTROW_${name}`);
  const printed = await reader.shell([reader.block("calls.md 1"), ...names].join("\n"));
  expect(printed.trim().split("\n")).toEqual([reader.url, "…", "…"]);
  expect(await reader.curl("concepts.md 1")).toMatchObject([{ protectSales: true }]);

  // Holds.
  expect(await reader.curl("holds.md 1")).toEqual([
    expect.arrayContaining([{ name: "CHECKOUT", ttlSeconds: 600, maxSeconds: 1200 }]) as unknown[],
  ]);
  const [held] = await reader.curl("holds.md 4");
  expect(membersOf(held)).toEqual(membersOf(JSON.parse(BLOCKS.get("holds.md 5")!)));
  const wish = reader.block("holds.md 9").replace("{", '{ "holdType": "CHECKOUT",');
  expect(await reader.book("lock", wish)).toBe(true);
  const extended = await reader.book("extend", reader.block("holds.md 2"));
  const { seats: extendedSeats } = extended as { seats: { fence: number }[] };
  const fence = extendedSeats[0]!.fence;
  const holds = `${reader.url}/api/private/v2.0/events/${reader.event}/holds/?sessionId=order-8123`;
  const listed = await fetch(holds, { headers: { "X-API-Key": reader.key } });
  expect(await listed.json()).toMatchObject({ content: [{ fence, holdType: "CHECKOUT" }] });
  const fenced = reader.block("holds.md 3").replace(": 44 ", `: ${fence} `);
  expect(await reader.book("sale", fenced)).toBe(true);
  const house = reader.block("holds.md 8");
  expect(await reader.book("block", house.replace(', "fromBlocked": true', ""))).toBe(true);
  expect(await reader.book("directsale", house)).toBe(true);

  // Commands over a connection: what was sold is given back first.
  const [frame] = JSON.parse(reader.block("commands.md 2")) as { seats: unknown }[];
  const seats = JSON.stringify({ seats: frame!.seats });
  expect(await reader.book("revertsale", seats)).toBe(true);
  const open = { base: reader.url, key: reader.key, protocol: JSON_PROTOCOL };
  const socket = await JsonClient.open(open);
  expect(JSON.parse(socket.credit!)).toEqual(JSON.parse(BLOCKS.get("commands.md 1")!));
  socket.send(reader.block("commands.md 2"));
  expect(await socket.answers(1)).toEqual(JSON.parse(BLOCKS.get("commands.md 3")!));
  socket.socket.close();
  expect(await reader.book("unlock", reader.block("holds.md 10"))).toBe(true);
  expect(await reader.program("commands.md 4", "result")).toMatchObject({ ok: true });
  const again = `client.revertSale({ eventId, ...${seats} })`;
  const client = `await ${again}.finally(() => client.close())`;
  expect(await reader.program("cells.md 5", client)).toMatchObject({ ok: true });

  // The past.
  const past = await reader.curl("audit-trail.md 1", "audit-trail.md 2");
  const [ofSeat, ofSession, map] = past as { content: unknown[] }[];
  expect(ofSeat!.content.length).toBeGreaterThan(5);
  expect(ofSession!.content).toEqual([]);
  expect(map!.content).toHaveLength(4);

  // Webhooks.
  const [webhook] = (await reader.curl("webhooks.md 1")) as { id: number; secret: string }[];
  expect(webhook!.secret).toMatch(/^whsec_/);
  reader.webhook = String(webhook!.id);
  const [tried] = await reader.curl("webhooks.md 2");
  expect(tried).toMatchObject({ status: 204, error: null });
  expect(membersOf(tried)).toEqual(membersOf(JSON.parse(BLOCKS.get("webhooks.md 3")!)));
  expect(await reader.curl("webhooks.md 6")).toEqual([{ due: 0 }]);
});

test("the recipes of an on-sale → a rehearsal, rules, best places, a longer hold, its sale", async () => {
  const reader = await Reader.start("");
  const rehearsal = await reader.shell(FIRST_SALE_TOOLS + reader.block("on-sale.md 1"));
  expect(rehearsal).toMatch(/^check: /m);
  const shorter = reader.block("on-sale.md 2").replace("--opens-in 10", "--opens-in 1");
  const behindDoor = await reader.shell(FIRST_SALE_TOOLS + shorter);
  expect(behindDoor).toMatch(/^check: ok +the draw is that of the seed .* \(500 drawn\)$/m);
  const [rules] = await reader.curl("on-sale.md 3");
  const effective = { orphanMode: "lenient", orphanUntilSold: 90, heldPerSession: 6 };
  expect(rules).toMatchObject({ effective });
  await reader.curl("holds.md 1");
  expect(await reader.curl("holds.md 7")).toMatchObject([
    { seats: [{ state: "LOCKED" }], refused: [{ rejectedValue: 20, code: "NOT_FOUND" }] },
  ]);
  expect(await reader.book("unlock", '{"sessionId":"order-8132","all":true}')).toBe(true);
  const held = (await reader.book("best", reader.block("on-sale.md 4"))) as Held;
  expect(held.seats).toHaveLength(2);
  const { fence, expiresAt } = held.seats[0]!;
  const ofHold = (name: string, hold: number) =>
    BLOCKS.get(name)!
      .replace(": 44", `: ${hold}`)
      .replaceAll(/: 1([67])\b/g, (_, digit) => `: ${held.seats[Number(digit) - 6]!.id}`);
  const { until } = (await reader.book("extend", ofHold("on-sale.md 5", fence))) as {
    until: string;
  };
  expect(until >= expiresAt).toBe(true);
  expect(await reader.book("sale", ofHold("on-sale.md 6", fence + 1))).toMatchObject({
    errors: [{ code: "HELD_BY_ANOTHER_SESSION" }, { code: "HELD_BY_ANOTHER_SESSION" }],
  });
  expect(await reader.book("sale", ofHold("on-sale.md 6", fence))).toBe(true);
});

test("the recipes of the door → a visitor is drawn, enters and locks; the draw is verified", async () => {
  const reader = await Reader.start("");
  const opensAt = new Date(Date.now() + 2_000).toISOString().slice(0, 19);
  const setUp = reader.block("door.md 1").replace("2030-05-01T08:00:00", opensAt);
  const tools = `EVENT=${reader.event}\n`;
  expect(JSON.parse(await reader.shell(tools + setUp))).toMatchObject({ state: "before" });
  const joined = JSON.parse(await reader.shell(tools + reader.block("door.md 2"))) as {
    visitor: string;
  };
  expect(joined).toMatchObject({ state: "waiting", place: null });
  const { visitor } = joined;
  expect(await reader.book("lock", reader.block("holds.md 9"))).toMatchObject({
    errorCode: "ADMISSION_REQUIRED",
  });
  const enter = `${reader.url}/door/${reader.event}/visitors/${visitor}/enter`;
  const entered = await vi.waitUntil(
    async () => {
      const answer = await fetch(enter, { method: "POST" });
      return answer.ok && ((await answer.json()) as { admission: string; place: number });
    },
    { timeout: 20_000, interval: 100 },
  );
  expect(entered.place).toBe(1);
  const lock = reader.block("door.md 3").replace(/eyJ[^"]*/, entered.admission);
  expect(await reader.book("lock", lock)).toBe(true);
  const verify = `VISITOR=${visitor}\nPATH=${DIST}:$PATH\n${reader.block("door.md 4")}`;
  expect(await reader.shell(tools + verify)).toMatch(/\b1\b/);

  const admission = `${reader.url}/api/private/v2.0/events/${reader.event}/admission`;
  const headers = { "X-API-Key": reader.key, "Content-Type": "application/json" };
  expect((await fetch(admission, { method: "DELETE", headers })).status).toBe(204);
  const soon = new Date(Date.now() + 2_000).toISOString().slice(0, 19);
  const fulfil = tools + reader.block("door.md 5").replace("2030-05-01T08:00:00", soon);
  const [, settings = ""] = /-d '(.*)'/.exec(fulfil) ?? [];
  const body = settings.replace(/,"value":"[^"]*"/, "");
  expect((await fetch(admission, { method: "PUT", headers, body })).status).toBe(201);
  await vi.waitUntil(
    async () => {
      const { state } = JSON.parse(await reader.shell(fulfil)) as { state?: string };
      return state === "open";
    },
    { timeout: 20_000, interval: 200 },
  );
});

test("the receiver of the guide → takes signed deliveries, refuses others and old ones", async () => {
  const hook = new Receiver();
  const reader = await Reader.start(hook.url);
  const [{ id, secret }] = (await reader.curl("webhooks.md 1")) as [{ id: number; secret: string }];
  await hook.start(reader.block("webhooks.md 5"), secret);
  reader.webhook = String(id);
  expect(await reader.curl("webhooks.md 2")).toMatchObject([{ status: 204 }]);
  expect(hook.output).toContain('"type":"test"');
  expect(await hook.send("msg_1", "wrong", Date.now())).toBe(401);
  expect(await hook.send("msg_2", secret, Date.now())).toBe(204);
  expect(await hook.send("msg_3", secret, Date.now() - 600_000)).toBe(401);
});

test("the recipes about cells and clusters → two cells, a map, a move, and equal logs", async () => {
  const folder = temporaryFolder();
  const values = ["5e".repeat(32), "a-platform-token"];
  const commands = BLOCKS.get("cells.md 1")!
    .replaceAll("=...", () => `=${values.shift()}`)
    .replace("/var/lib/", `${folder}/`);
  const other = await served(commands, folder);
  const demo = commands.replace("--cell 7", "--cell 0 --demo").replace("frontrow-7", "frontrow-0");
  const old = await served(demo, folder);
  while (!old.output.stdout.includes("\ncurl ")) await sleep(10);
  const keyFile = path.join(folder, "frontrow-0/demo-key");
  const [, key = ""] = /^X-API-Key: (fro_\w+)/.exec(readFileSync(keyFile, "utf8")) ?? [];
  const [, organization = ""] = key.split("_");

  const maps = BLOCKS.get("cells.md 2")!.replaceAll(/\/etc\/\w+\//g, "");
  await shell(maps, folder);
  expect(readFileSync(path.join(folder, "cells.map"), "utf8")).toContain("\n48 cell7\n");
  expect(readFileSync(path.join(folder, "cells.conf"), "utf8")).toContain("$frontrow_cell");

  const move = BLOCKS.get("cells.md 4")!
    .replace("48", organization)
    .replace("http://10.0.0.10:8080", old.url)
    .replace("http://10.0.0.17:8080", other.url);
  await shell(move, folder, { FRONTROW_PLATFORM_TOKEN: "a-platform-token" });
  const events = await fetch(`${other.url}/api/private/v2.0/events/`, {
    headers: { "X-API-Key": key },
  });
  expect(await events.json()).toMatchObject({ totalElements: 1 });

  other.child.kill("SIGTERM");
  expect(await other.exited).toEqual({ code: 0, signal: null });
  const compare = BLOCKS.get("cluster.md 1")!.replaceAll(
    "/var/lib/frontrow",
    `${folder}/frontrow-7`,
  );
  expect(await shell(compare, folder)).toContain("they are the same up to record");
});

test("the recipe about gateways → a gateway with TLS in front of a server", async () => {
  const folder = temporaryFolder();
  const [secret = "", serve = "", ...gateway] = BLOCKS.get("gateways.md 1")!.split("\n");
  await shell(secret, folder);
  const engine = await served(
    serve.replace("10.0.0.5", "127.0.0.1").replace("10.0.0.0/24", "127.0.0.0/8"),
    folder,
  );
  const subject = "-subj /CN=seats.example -addext subjectAltName=DNS:seats.example";
  const pem = "-nodes -keyout seats.example.key -out seats.example.pem";
  await shell(`openssl req -x509 -newkey rsa:2048 ${pem} ${subject} 2>&1`, folder);
  const { url } = await served(
    gateway
      .join("\n")
      .replace("http://10.0.0.5:8080", engine.url)
      .replace("0.0.0.0 --port 8443", "127.0.0.1 --port 0"),
    folder,
  );
  const { port } = new URL(url);
  const host = `seats.example:${port}`;
  const curl = `curl -sS --cacert seats.example.pem --resolve ${host}:127.0.0.1`;
  expect(await shell(`${curl} -w '%{http_code}' https://${host}/healthz`, folder)).toMatch(/200$/);
});

test("the recipe of the walk → two seats are sold", async () => {
  const { url } = await startServer({ env: { FRONTROW_TENANT_TOKEN: TOKEN } });
  expect(await shell(BLOCKS.get("README.md 5")!, ROOT, { FRONTROW_URL: url })).toMatch(
    /^lock: true\nsale: true\n/m,
  );
});

test("the recipe about the on-sale → the sample arena is sold out, on a server of its own too", async () => {
  const [demo = "", sale = ""] = BLOCKS.get("README.md 6")!.split("\n");
  expect(await shell(demo, ROOT)).toContain("SOLD OUT: 9,088 tickets");
  const folder = temporaryFolder();
  const { url, folder: data } = await startServer({ args: ["--demo"] });
  const [, key = ""] = /: (\S+)/.exec(readFileSync(path.join(data, "demo-key"), "utf8")) ?? [];
  const played = sale
    .replace("<organization key>", key)
    .replace("<layout file>", path.join(ROOT, "server/examples/arena.json.gz"));
  expect(await shell(played, folder, { FRONTROW_URL: url })).toContain("0 sold twice");
}, 240_000);

test("the recipe about benchmarks → a first look, and the tables of the stored results", async () => {
  const [first = "", stored = ""] = BLOCKS.get("bench/README.md 1")!.split("\n");
  const env = { BENCH_TRIAL: "1", BENCH_RESULTS: temporaryFolder() };
  const toy = first.replace("256", "4").replace("--rounds 3", "--rounds 1 --seconds 0.1");
  expect(await shell(toy, ROOT, env)).toContain("lock, 4 connections");
  expect(await shell(stored, ROOT, env)).toContain("lock, 256 connections");
}, 120_000);

test("the recipe after an update → the list of the installed binaries", async () => {
  const list = path.join(temporaryFolder(), "list");
  const commands = BLOCKS.get("server/ops/README.md 3")!.replace(/^list=.*$/m, `list=${list}`);
  await shell(commands, ROOT);
  const committed = readFileSync("server/ops/binaries.sha256", "utf8");
  expect(readFileSync(list, "utf8").split("\n").toSorted()).toEqual(
    committed.split("\n").toSorted(),
  );
});

describeUnless(missingRoot(), "the recipe of the systemd unit", () => {
  test("below another root → the unit is enabled, with its user, its program and its variables", async () => {
    const root = temporaryFolder();
    const folders = ["etc/systemd/system", "usr/local/bin", "opt"].map((name) => `${root}/${name}`);
    const commands = BLOCKS.get("server/ops/README.md 1")!
      .replaceAll(/ (\/(?:opt|etc|usr\/local)\/)/g, ` ${root}$1`)
      .replace("useradd ", `useradd --prefix ${root} `)
      .replace("systemctl enable --now", `systemctl --root ${root} enable`);
    await shell(`mkdir -p ${folders.join(" ")}; ln -s "$PWD" ${root}/opt/frontrow`, ROOT);
    await shell(commands, ROOT);
    const unit = readFileSync(`${root}/etc/systemd/system/frontrow.service`, "utf8");
    const valueOf = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(unit)![1]!;
    const user = readFileSync(`${root}/etc/passwd`, "utf8");
    expect(user).toMatch(
      new RegExp(`^${valueOf("User")}:.*:/var/lib/frontrow:/usr/sbin/nologin$`, "m"),
    );
    const [program = ""] = valueOf("ExecStart").split(" ");
    expect(existsSync(root + program)).toBe(true);
    expect(statSync(root + valueOf("EnvironmentFile").replace("-", "")).mode & 0o777).toBe(0o600);
    const enabled = `${root}/etc/systemd/system/multi-user.target.wants/frontrow.service`;
    expect(lstatSync(enabled).isSymbolicLink()).toBe(true);
  });
});
