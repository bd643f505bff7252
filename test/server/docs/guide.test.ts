/** The guide keeps its word: its commands and its code run as they stand. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { Listening } from "../wire/connection.ts";
import { describeWith } from "../../support/programs.ts";
import { PRINTED, shopCallsIn, shopOf } from "../../support/shop-calls.ts";
import { startServer, temporaryFolder } from "../../support/server-process.ts";

const GUIDE = "server/docs/guide";

test("the commands of the first sale end with two sold seats", async () => {
  const page = readFileSync(`${GUIDE}/first-sale.md`, "utf8");
  const [start = "", ...blocks] = [...page.matchAll(/```sh\n([^]*?)```/g)].map(
    ([, block]) => block!,
  );
  const [, token = ""] = /FRONTROW_TENANT_TOKEN=(\S+)/.exec(start) ?? [];
  const server = await startServer({ env: { FRONTROW_TENANT_TOKEN: token } });
  const commands = blocks.join("echo\n").replace("http://127.0.0.1:8080", server.url);
  const run = promisify(execFile)("bash", ["-e", "-c", commands], { cwd: temporaryFolder() });
  const { stdout, stderr } = await run;
  expect(stderr).toBe("");
  const lines = stdout.trim().split("\n");
  const [assigned, lock, refusal, sale, map] = lines.filter((line) => line !== "");
  expect([assigned, lock, sale]).toEqual(["true", "true", "true"]);
  expect(refusal).toContain('"errorCode":"INVENTORY_NOT_AVAILABLE"');
  expect(page).toContain(`It prints \`${map}\``);
});

test("the first sale stops at a refusal and shows it", async () => {
  const page = readFileSync(`${GUIDE}/first-sale.md`, "utf8");
  const [, setUp = "", organization = ""] = [...page.matchAll(/```sh\n([^]*?)```/g)].map(
    ([, block]) => block!,
  );
  const { url } = await startServer({});
  const commands = (setUp + organization).replace("http://127.0.0.1:8080", url);
  const run = promisify(execFile)("bash", ["-e", "-c", `${commands}\necho "key $key"`]);
  await expect(run).rejects.toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/returned error: 403\n.*"errorCode":"ACCESS_DENIED"/) as string,
  });
});

describe.each([
  ["curl", "sh", ["bash", "-e", "-c"], "jq"],
  ["Python", "python", ["python3", "-c"], "python3"],
] as const)("the calls of a shop in %s", (_, language, [program, ...flags], needed) => {
  describeWith([needed], "on a server with a demo", () => {
    test("map, lock, refusal, unlock, sale, changes, listing → the lines of the guide", async () => {
      const env = { ...process.env, ...shopOf(await startServer({ args: ["--demo"] })) };
      const run = promisify(execFile)(program, [...flags, shopCallsIn(language)], { env });
      const { stdout, stderr } = await run;
      expect(stderr).toBe("");
      // curl shows an answer as it comes, without an end of line.
      const lines = stdout.replaceAll("true", "true\n").split("\n");
      expect(lines.filter((line) => line !== "")).toEqual(PRINTED);
    });
  });
});

interface Order {
  readonly key: string;
  readonly selection: object;
  readonly orderId: string;
}
type Book = (url: string, order: Order) => Promise<unknown>;

/** A function in the code of a page of the guide. */
async function functionOf<Of>(file: string, name: string): Promise<Of> {
  const page = readFileSync(`${GUIDE}/${file}`, "utf8");
  const blocks = page.matchAll(/<!-- test: [^>]*-->\n```js\n([^]*?)```/g);
  const code = Array.from(blocks, ([, block]) => block!).find((block) => block.includes(name));
  const source = `data:text/javascript,${encodeURIComponent(`${code}\nexport { ${name} };`)}`;
  return ((await import(/* @vite-ignore */ source)) as Record<string, Of>)[name]!;
}

const bookOfTheGuide = () => functionOf<Book>("retries.md", "book");

interface Shop {
  readonly url: string;
  readonly key: string;
  readonly eventId: string;
}
type HoldBest = (
  shop: Shop,
  sessionId: string,
  wishes: object,
) => Promise<Readonly<Record<string, unknown>>>;

test("the code of the guide holds places together, else near each other, else says how many", async () => {
  const holdBest = await functionOf<HoldBest>("holds.md", "holdBest");
  const { base, server } = await Listening.start();
  const { key, eventId } = server.a;
  const shop = { url: base, key, eventId };
  expect(await holdBest(shop, "ann", { quantity: 2 })).toMatchObject({ together: true });
  expect(await holdBest(shop, "bob", { quantity: 5 })).toMatchObject({ together: false });
  const { together, free } = await holdBest(shop, "eve", { quantity: 50 });
  expect(free).toBeGreaterThanOrEqual(Number(together));
  await expect(holdBest(shop, "eve", { quantity: 51 })).rejects.toThrow("not valid");
});

interface Night {
  readonly eventId: string;
  readonly seats: readonly number[];
  readonly sequence?: number;
}
type HoldPackage = (shop: Shop, sessionId: string, nights: readonly Night[]) => Promise<object>;

test("the code of the guide holds a package of nights whole, or says what is refused", async () => {
  const holdPackage = await functionOf<HoldPackage>("holds.md", "holdPackage");
  const { base, server } = await Listening.start();
  const { a, world, engine } = server;
  const shop = { url: base, key: a.key, eventId: a.eventId };
  const late = world.createEvent(a.caller, a.schemaId);
  const assignmentId = world.createPrice("Late", late, a.caller);
  const seat = a.labels.idOf("A1");
  const body = { seats: [{ objectId: seat, assignmentId }], groupOfSeats: [] };
  world.must("assignPrices", a.caller, { eventId: late, body });
  const nights = [a.eventId, late].map((eventId) => ({
    eventId,
    seats: [seat],
    sequence: engine.state.sequenceOf(engine.state.catalog.events.get(eventId)!),
  }));
  expect(await holdPackage(shop, "ann", nights)).toMatchObject({
    items: [{ seats: [{ state: "LOCKED" }] }, { seats: [{ state: "LOCKED" }] }],
  });
  expect(await holdPackage(shop, "bob", nights)).toEqual({
    refused: ["items[0].ifSequence CHANGED", "items[1].ifSequence CHANGED"],
  });
});

/** A server that answers with these statuses in turn, or breaks the connection for 0. */
async function answering(...statuses: readonly number[]) {
  const keys: unknown[] = [];
  const server = createServer((request, response) => {
    const status = statuses[keys.length]!;
    keys.push(request.headers["idempotency-key"]);
    if (status === 0) {
      request.socket.destroy();
      return;
    }
    response.writeHead(status, { "Content-Type": "application/json", "Retry-After": "0" });
    response.end(status === 200 ? "true" : `{"errorCode":"E${status}"}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, keys };
}

test.each([
  ["after lost answers and refusals for the moment", [0, 503, 429, 200], true],
  ["not after a refusal", [400], { errorCode: "E400" }],
  ["seven times at most", Array<number>(7).fill(503), { errorCode: "E503" }],
])("the code of the guide retries %s, with the same key", async (_, statuses, expected) => {
  const book = await bookOfTheGuide();
  const { url, keys } = await answering(...statuses);
  const answer = await book(url, { key: "k", selection: {}, orderId: "order-1" });
  expect(answer).toEqual(expected);
  expect(keys).toEqual(statuses.map(() => "order-1"));
});
