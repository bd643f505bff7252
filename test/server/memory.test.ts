/** The memory of the process: the least for a start, and the content of a small container. */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import {
  ensureMemory,
  type Memory,
  memoryBudgets,
  memoryOfProcess,
  MEMORY_MIN,
  PROGRAM_BYTES,
  tooMuchMemory,
} from "../../server/memory.ts";
import { limitedGroup, missingCgroup } from "../support/cgroup.ts";
import {
  runCli,
  type ServerProcess,
  startServer,
  temporaryFolder,
  V2,
} from "../support/server-process.ts";

const MIB = 1_024 * 1_024;
const NO_CHOICE = { catalogMemory: null, eventMemory: null, replyMemory: null };

/** In MiB: the limit, the heap that Node 20 chooses for it, and the budgets. */
const CONTAINERS = [
  [192, 259, 8, 16, 4],
  [256, 259, 24, 48, 12],
  [384, 259, 56, 112, 28],
  [512, 259, 88, 176, 44],
  [768, 396, 152, 304, 76],
  [1_024, 524, 216, 432, 108],
  [16_384, 2_096, 1_048, 8_112, 512],
] as const;

describe.each(CONTAINERS)("a container of %d MiB", (total, heap, ...shares) => {
  const memory: Memory = { total: total * MIB, heap: heap * MIB };
  const budgets = memoryBudgets(NO_CHOICE, memory);

  test("the budgets are shares of what the program leaves", () => {
    const [catalog, events, replies] = shares.map((mebibytes) => mebibytes * MIB);
    expect(budgets).toEqual({ catalog, events, replies });
    expect(() => ensureMemory(memory)).not.toThrow();
  });

  test("all budgets full, and the program, leave an eighth for requests under way", () => {
    const full = PROGRAM_BYTES + budgets.catalog + budgets.events + budgets.replies;
    expect(full).toBeLessThanOrEqual(memory.total - (memory.total - PROGRAM_BYTES) / 8);
    expect(tooMuchMemory(budgets, memory)).toBeNull();
  });
});

test.each([64, 128, 160, 191])(
  "a container of %d MiB → the start is refused, with the limit",
  (total) => {
    const memory = { total: total * MIB, heap: 259 * MIB };
    expect(() => ensureMemory(memory)).toThrow(
      `may use ${total} MiB of memory, and needs ${MEMORY_MIN / MIB} MiB: raise the limit`,
    );
    for (const bytes of Object.values(memoryBudgets(NO_CHOICE, memory))) {
      expect(bytes).toBeGreaterThanOrEqual(0);
    }
  },
);

test("chosen budgets count instead of the shares; beyond the limit there is a warning", () => {
  const memory = { total: 512 * MIB, heap: 259 * MIB };
  const chosen = { catalogMemory: 100, eventMemory: 0.5, replyMemory: null };
  const budgets = memoryBudgets(chosen, memory);
  expect(budgets).toEqual({ catalog: 100 * MIB, events: MIB / 2, replies: 44 * MIB });
  expect(tooMuchMemory(budgets, memory)).toBeNull();
  const more = memoryBudgets({ ...chosen, eventMemory: 400 }, memory);
  expect(tooMuchMemory(more, memory)).toMatch(/add up to 704 MiB .* may use 512 MiB/);
});

test("the limit is known: that of the machine at most", () => {
  const { total, heap } = memoryOfProcess();
  expect([total, heap].every((bytes) => bytes > 100 * MIB && bytes < Infinity)).toBe(true);
});

const missing = missingCgroup();

/** Creates rows until there is no memory for more. @returns Rows created, and the refusal. */
async function fill(create: (number: number) => Promise<Response>) {
  for (let made = 0; ; made++) {
    const answer = await create(made);
    if (answer.status < 300) {
      await answer.arrayBuffer();
      continue;
    }
    const { errorCode } = (await answer.json()) as { readonly errorCode: string };
    return { made, status: answer.status, errorCode };
  }
}

async function idOf(answer: Response): Promise<number> {
  return ((await answer.json()) as { readonly id: number }).id;
}

/** Arenas until the budget for layouts is used up, and events on them until that for seats is. */
async function fillStore(server: ServerProcess) {
  const arena = gunzipSync(readFileSync("server/examples/arena.json.gz")).toString();
  const put = (schemaId: number) =>
    fetch(`${server.url}${V2}/schemas/${schemaId}/layout`, {
      method: "PUT",
      headers: { "X-API-Key": server.key, "Content-Type": "application/json" },
      body: arena,
    });
  const venueId = await idOf(await server.request("POST", `${V2}/venues/`, { name: "Arena" }));
  let schemaId = 0;
  const layouts = await fill(async (number) => {
    const schema = { name: `Schema ${number}`, venueId };
    const id = await idOf(await server.request("POST", `${V2}/schemas/`, schema));
    const answer = await put(id);
    if (answer.ok) schemaId = id;
    return answer;
  });
  const times = { start: "2030-01-01T20:00:00", endDate: "2030-01-01T23:00:00" };
  const events = await fill((number) =>
    server.request("POST", `${V2}/events/`, { name: `Night ${number}`, schemaId, ...times }),
  );
  return { layouts, events };
}

const why = missing === null ? "" : ` (skipped: ${missing})`;
describe.skipIf(missing !== null)(`in a container of the kernel${why}`, () => {
  test.each([192, 256, 384])(
    "%d MiB, filled → 429 rather than an end by the kernel, a clean stop, and a start with all",
    { timeout: 120_000 },
    async (total) => {
      const group = limitedGroup(total * MIB);
      const limited = { args: ["--demo"], enter: group.enter };
      const server = await startServer(limited);
      const { layouts, events } = await fillStore(server);
      const refusal = { status: 429, errorCode: "RATE_LIMITED" };
      expect([layouts, events]).toMatchObject([refusal, refusal]);
      expect(layouts.made).toBeGreaterThan(0);
      expect(events.made).toBeGreaterThan(20);
      expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
      const again = await startServer({ ...limited, folder: server.folder });
      expect((await again.kill("SIGTERM")).code).toBe(0);
      expect(group.killed()).toBe(0);
    },
  );

  test("128 MiB → the start is refused with one sentence, and no folder is created", async () => {
    const { enter } = limitedGroup(128 * MIB);
    const args = ["serve", "--port", "0", "--data", `${temporaryFolder()}/data`];
    const { code, stdout, stderr } = await runCli({ args, enter });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(
      /^frontrow: this process may use 128 MiB of memory, and needs 192 MiB: .*\n$/,
    );
  });
});
