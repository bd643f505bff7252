/**
 * Every recipe of the README, the guide and the operating manual is run by a test as a reader would
 * run it: by the test that `RUN_BY` names, or here. A recipe is a block of code meant to be run or
 * sent; pictures and answers are not.
 */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { CommandClient } from "../server/client/client.ts";
import { CommandClient as JsonClient, JSON_PROTOCOL } from "./server/commands/client.ts";
import { startServer, temporaryFolder } from "./support/server-process.ts";

const GUIDE = "server/docs/guide";
const PAGES = [
  "README.md",
  "server/OPERATING.md",
  ...readdirSync(GUIDE, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => path.join(GUIDE, name)),
];

/** Blocks of code by page and position: `holds.md 3`. Those without a language are pictures. */
const BLOCKS: ReadonlyMap<string, string> = new Map(
  PAGES.flatMap((page) => {
    const blocks = readFileSync(page, "utf8").matchAll(/^```(\w+)\n([^]*?)^```$/gm);
    return [...blocks].map(([, , text], i) => [`${path.basename(page)} ${i + 1}`, text!] as const);
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

/** Run by the test below. */
const RUN_HERE = [
  "README.md 4",
  "audit-trail.md 1",
  "audit-trail.md 2",
  "calls.md 1",
  "cells.md 5",
  "commands.md 2",
  "commands.md 4",
  "concepts.md 1",
  "holds.md 1",
  "holds.md 2",
  "holds.md 3",
  "holds.md 4",
  "holds.md 7",
  "holds.md 8",
  "holds.md 9",
  "webhooks.md 1",
  "webhooks.md 2",
  "webhooks.md 5",
];

/** By pattern of recipes: file and title of the test that runs them. */
const RUN_BY: readonly (readonly [RegExp, file: string, title: string])[] = [
  [/^README.md 1$/, "server/process/start", "SIGTERM to npm start"],
  [/^README.md 3$/, "server/process/start", "SIGTERM to the README's command"],
  [/^README.md 5$/, "server/process/examples", "walk.sh sells two seats"],
  [/^README.md 6$/, "server/onsale/demo", "the demo sells out the sample arena"],
  [/^OPERATING.md /, "operating", "every command of the manual is in a tested block"],
  [/^checkout.md /, "server/docs/checkout", "kills, messages that are late"],
  [/^first-sale.md /, "server/docs/guide", "the commands of the first sale"],
  [/^going-live.md 1$/, "server/ops/nginx", "its requests are answered"],
  [/^holds.md 6$/, "server/docs/guide", "the code of the guide holds places together"],
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
  [/^cells.md 1$/, "server/cells/routes", "a data folder keeps the number of its cell"],
  [/^cells.md 2$/, "server/cells/routes", "a map for HAProxy"],
  [/^cells.md 3$/, "server/cells/routes", "a key leads to its cell"],
  [/^cells.md 4$/, "server/cells/move", "an organization arrives with all it has"],
  [/^cluster.md 1$/, "server/cluster/tools", "compare says where two logs differ"],
  [/^gateways.md 1$/, "server/gateway/process", "a gateway with a certificate speaks TLS"],
  [/^kubernetes.md 2$/, "server/ops/kubernetes", "a server with its variables starts"],
];

/** By recipe: why no test can run it. */
const NOT_RUN: Readonly<Record<string, string>> = {
  "kubernetes.md 1": "kubectl needs a cluster of Kubernetes",
};

const runnersOf = (recipe: string) => RUN_BY.filter(([of]) => of.test(recipe));

test("every recipe is run once, and every runner exists", () => {
  const recipes = [...BLOCKS.keys()].filter((name) => !ANSWERS.includes(name));
  for (const name of [...ANSWERS, ...RUN_HERE, ...Object.keys(NOT_RUN)])
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
  }
  const notRun = Object.keys(NOT_RUN).length;
  expect([recipes.length - notRun, notRun]).toEqual([88, 1]);
});

const TOKEN = "a-token-of-your-own";
const [, ...FIRST_SALE] = [...BLOCKS.keys()].filter((name) => name.startsWith("first-sale.md "));
/** From the variables to the event on sale. */
const SET_UP = FIRST_SALE.slice(0, 4).map((name) => BLOCKS.get(name)!);

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
  const wish = reader.block("holds.md 8").replace("{", '{ "holdType": "CHECKOUT",');
  expect(await reader.book("lock", wish)).toBe(true);
  const extended = await reader.book("extend", reader.block("holds.md 2"));
  const { seats: extendedSeats } = extended as { seats: { fence: number }[] };
  const fence = extendedSeats[0]!.fence;
  const holds = `${reader.url}/api/private/v2.0/events/${reader.event}/holds/?sessionId=order-8123`;
  const listed = await fetch(holds, { headers: { "X-API-Key": reader.key } });
  expect(await listed.json()).toMatchObject({ content: [{ fence, holdType: "CHECKOUT" }] });
  const fenced = reader.block("holds.md 3").replace(": 44 ", `: ${fence} `);
  expect(await reader.book("sale", fenced)).toBe(true);
  const house = reader.block("holds.md 7");
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
  expect(await reader.book("unlock", reader.block("holds.md 9"))).toBe(true);
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
  expect(await reader.curl("webhooks.md 5")).toEqual([{ due: 0 }]);
});
