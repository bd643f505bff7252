/** Prices of an event on sale in Chromium: the question about taken places, undo, no chosen price. */
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import {
  bar,
  browserOfTest,
  button,
  logInWithKey,
  lookAtAll,
  mapIsPainted,
  openPage,
  picture,
  policyFaults,
  TEST_MS_MAX,
} from "./browser-page.ts";
import { must, stageArena, type Staged, V2 } from "./stage.ts";

/** In the first block, in pixels of the page; the question has a button there. */
const BLOCK_101 = [905, 520] as const;
/** Seats of the first block, in the order of the layout. */
const SOLD = [0, 170] as const;
const HELD = [170, 182] as const;
const BLOCKED = [182, 186] as const;
const UNPRICED = [190, 194] as const;
const QUESTION = "170 seats are sold, 12 held, 4 blocked: keep their price?";
const SESSION = "web-7";

test(
  "block with sold and held seats → a question, whose default changes the free seats alone; undo restores",
  async () => {
    const staged = await stageOnSale();
    const page = await openPrices(staged);
    const before = await pricesOf(staged);
    const free = staged.block.filter((id) => !before.get(id)!.isTaken);
    await choose(page, "Category 2");
    // Its second click is no answer.
    await page.mouse.dblclick(...BLOCK_101);
    await title(page, QUESTION);
    const faults = await lookAtAll(page, "prices-question");
    await page.keyboard.press("Escape");
    await question(page).waitFor({ state: "detached" });
    expect(await pricesOf(staged)).toEqual(before);

    await pressOn(blockButton(page));
    await page
      .getByText(`Only the ${free.length} free seats of Block 101 get Category 2.`)
      .waitFor();
    await page.keyboard.press("Enter");
    const told = `Category 2: Block 101, ${free.length} seats. 186 keep their price.`;
    await bar(page).getByText(told, { exact: true }).waitFor();
    expect(await page.getByRole("status").textContent()).toBe(`${told} Control+Z undoes it.`);
    expect(await pricesOf(staged)).toEqual(withPrice(before, free, "Category 2"));
    await blockButton(page).getByText("Several prices").waitFor();
    faults.push(...(await lookAtAll(page, "prices-changed")));

    await pressOn(button(page, "Undo"));
    await bar(page).getByText("Undone: Block 101.", { exact: true }).waitFor();
    expect(await page.getByRole("status").textContent()).toBe("Undone: Block 101.");
    expect(await pricesOf(staged)).toEqual(before);
    expect(await button(page, "Undo").count()).toBe(0);
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Close");
    expect(faults).toEqual([]);
    expect(await policyFaults(page)).toEqual([]);
  },
  TEST_MS_MAX,
);

test(
  "answer to change taken seats too → all seats change, also one sold during the question; Control+Z restores",
  async () => {
    const staged = await stageOnSale();
    const page = await openPrices(staged);
    const before = await pricesOf(staged);
    await choose(page, "Category 2");
    await pressOn(blockButton(page));
    await title(page, QUESTION);
    await book(staged, "directsale", [200, 201]);
    await title(page, "171 seats are sold, 12 held, 4 blocked: keep their price?");
    before.set(staged.block[200]!, { ...before.get(staged.block[200]!)!, isTaken: true });
    await pressOn(button(page, "Change them too"));
    await bar(page).getByText(`Category 2: Block 101, ${staged.block.length} seats.`).waitFor();
    expect(await pricesOf(staged)).toEqual(withPrice(before, staged.block, "Category 2"));
    await blockButton(page).getByText("Category 2").waitFor();
    await page.keyboard.press("Control+z");
    await bar(page).getByText("Undone: Block 101.", { exact: true }).waitFor();
    expect(await pricesOf(staged)).toEqual(before);
  },
  TEST_MS_MAX,
);

test(
  "seats sold between a change and its undo → keep the new price, which their buyers saw",
  async () => {
    const staged = await stageOnSale();
    const page = await openPrices(staged);
    const before = await pricesOf(staged);
    await choose(page, "Category 2");
    await pressOn(blockButton(page));
    await pressOn(button(page, "Keep their price"));
    await bar(page).getByText("186 keep their price.").waitFor();
    // One of them had no price before.
    await book(staged, "directsale", [UNPRICED[0], UNPRICED[0] + 1]);
    await book(staged, "lock", [200, 202]);
    // The page shows them now.
    await choose(page, "Category 3");
    await pressOn(blockButton(page));
    await title(page, "171 seats are sold, 14 held, 4 blocked: keep their price?");
    await page.keyboard.press("Escape");
    await pressOn(button(page, "Undo"));
    await bar(page).getByText("Undone: Block 101. 3 taken since keep the new price.").waitFor();
    const taken = [UNPRICED[0], 200, 201].map((seat) => staged.block[seat]!);
    const after = withPrice(before, taken, "Category 2");
    for (const id of taken) after.set(id, { ...after.get(id)!, isTaken: true });
    expect(await pricesOf(staged)).toEqual(after);
  },
  TEST_MS_MAX,
);

test(
  "price that another client makes and assigns → the page lists its name, and undo restores it",
  async () => {
    const staged = await stageOnSale();
    const { eventId, block } = staged;
    const page = await openPrices(staged);
    const next = page.locator(".price-groups").getByRole("button", { name: /^Block 102 ?/ });
    await next.getByText("Category 1").waitFor();
    const path = `POST /event/${eventId}/prices/`;
    const [late] = await must<{ id: number }[]>(staged, path, [{ name: "Late", eventId }]);
    const objectId = staged.sections.get("Block 102")!;
    const groupOfSeats = [{ objectId, assignmentId: late!.id }];
    await must(staged, `${path}assignments/`, { groupOfSeats });
    await next.getByText("Late").waitFor();
    const before = await pricesOf(staged);
    await choose(page, "Category 2");
    await pressOn(next);
    await bar(page)
      .getByText(/^Category 2: Block 102, /)
      .waitFor();
    expect((await pricesOf(staged)).get(staged.seats[block.length]!.id)!.price).toBe("Category 2");
    await pressOn(button(page, "Undo"));
    await bar(page).getByText("Undone: Block 102.", { exact: true }).waitFor();
    expect(await pricesOf(staged)).toEqual(before);
  },
  TEST_MS_MAX,
);

test(
  "no chosen price → the page says so and sends nothing",
  async () => {
    const staged = await stageOnSale();
    const page = await openPrices(staged);
    const sent: string[] = [];
    page.on("request", (request) => {
      if (request.method() !== "GET") sent.push(request.url());
    });
    expect(await page.getByRole("radio").count()).toBe(5);
    expect(await page.getByRole("radio", { checked: true }).count()).toBe(0);
    const alert = page.getByRole("alert");
    for (const act of [
      () => page.mouse.click(...BLOCK_101),
      () => pressOn(blockButton(page)),
      () => pressOn(areaButton(page, "Standing Left")),
      () => pressOn(button(page, "Give it to everything without a price")),
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one act after the other
      await act();
      // oxlint-disable-next-line no-await-in-loop
      await alert.getByText("Choose a price first.", { exact: true }).waitFor();
    }
    await picture(page, "prices-none-chosen");
    expect(sent).toEqual([]);
  },
  TEST_MS_MAX,
);

test(
  "area with sold and held places → keeps its price by default, and its capacity with every price",
  async () => {
    const staged = await stageOnSale();
    const { left, right } = await sellStanding(staged);
    const page = await openPrices(staged);
    const standing = await areasOf(staged);
    await choose(page, "Category 1");
    await pressOn(areaButton(page, "Standing Left"));
    await title(page, "8 places are sold, 5 held: keep their price?");
    await page.getByText(/^All places of Standing Left have one price/).waitFor();
    const faults = await lookAtAll(page, "prices-question-area");
    await page.keyboard.press("Enter");
    await bar(page).getByText("Standing Left: nothing has changed.").waitFor();
    expect(await areasOf(staged)).toEqual(standing);

    await pressOn(areaButton(page, "Standing Left"));
    await pressOn(button(page, "Change them too"));
    await bar(page).getByText("Category 1: Standing Left.", { exact: true }).waitFor();
    const changed = { ...standing.get(left)!, price: "Category 1" };
    expect(await areasOf(staged)).toEqual(new Map(standing).set(left, changed));
    await pressOn(button(page, "Undo"));
    await bar(page).getByText("Undone: Standing Left.", { exact: true }).waitFor();
    expect(await areasOf(staged)).toEqual(standing);

    await pressOn(areaButton(page, "Standing Right"));
    await bar(page).getByText("Category 1: Standing Right.", { exact: true }).waitFor();
    const other = { ...standing.get(right)!, price: "Category 1" };
    expect(await areasOf(staged)).toEqual(new Map(standing).set(right, other));
    expect(faults).toEqual([]);
  },
  TEST_MS_MAX,
);

test(
  "number of places in the field of an area → its price stays; fewer than are taken are refused",
  async () => {
    const staged = await stageOnSale();
    const { left } = await sellStanding(staged);
    const page = await openPrices(staged);
    const standing = await areasOf(staged);
    const field = page.getByLabel("Places on sale in Standing Left");
    await field.fill("450");
    await field.press("Enter");
    await bar(page).getByText("Standing: Standing Left.", { exact: true }).waitFor();
    const changed = { ...standing.get(left)!, capacity: 450 };
    expect(await areasOf(staged)).toEqual(new Map(standing).set(left, changed));
    await field.fill("12");
    await field.press("Enter");
    await page.getByRole("alert").waitFor();
    await expect.poll(() => field.inputValue()).toBe("450");
    expect(await areasOf(staged)).toEqual(new Map(standing).set(left, changed));
  },
  TEST_MS_MAX,
);

test(
  "lost connection to the server → neither question nor change: its seats may be sold meanwhile",
  async () => {
    const staged = await stageOnSale();
    const page = await openPrices(staged);
    await choose(page, "Category 2");
    await staged.server.kill("SIGKILL");
    await page.getByText("Reconnecting…").waitFor();
    await pressOn(blockButton(page));
    await page
      .getByRole("alert")
      .getByText(/^The map is not live/)
      .waitFor();
    expect(await question(page).count()).toBe(0);
  },
  TEST_MS_MAX,
);

interface OnSale extends Staged {
  /** Seat ids of the first block. */
  readonly block: readonly number[];
  /** Names of prices, by id. */
  readonly names: ReadonlyMap<number, string>;
  /** Ids, by name. */
  readonly sections: ReadonlyMap<string, number>;
}

interface SectionCounts {
  readonly groupOfSeatsId: number;
  readonly name: string;
  readonly active: number;
}

async function stageOnSale(): Promise<OnSale> {
  const staged = await stageArena();
  const { eventId } = staged;
  const { bySection } = await read<{ bySection: SectionCounts[] }>(
    staged,
    `/events/${eventId}/summary/`,
  );
  const { active } = bySection.find(({ name }) => name === "Block 101")!;
  const block = staged.seats.slice(0, active).map(({ id }) => id);
  const { content } = await read<{ content: { id: number; name: string }[] }>(
    staged,
    `/event/${eventId}/prices/`,
  );
  const names = new Map(content.map(({ id, name }) => [id, name]));
  const sections = new Map(bySection.map(({ name, groupOfSeatsId }) => [name, groupOfSeatsId]));
  const onSale = { ...staged, block, names, sections };
  await book(onSale, "directsale", SOLD);
  await book(onSale, "lock", HELD);
  await book(onSale, "block", BLOCKED);
  const keys = block.slice(...UNPRICED).map((id) => ({ compositeKey: String(id) }));
  await must(staged, `DELETE /api/private/v1.0/assignments/?id=${eventId}`, keys);
  return onSale;
}

function book(staged: OnSale, call: string, seats: readonly [number, number]): Promise<unknown> {
  return must(staged, `POST /booking/${call}?eventId=${staged.eventId}`, {
    sessionId: SESSION,
    seats: staged.block.slice(...seats).map((id) => ({ id })),
  });
}

/** Standing Left has 500 places, some of them sold and held; Standing Right has 300 free ones. */
async function sellStanding(staged: OnSale): Promise<{ left: number; right: number }> {
  const { eventId } = staged;
  const [left = 0, right = 0] = (await areasOf(staged)).keys();
  const [standing] = [...staged.names].find(([, name]) => name === "Standing")!;
  await must(staged, `POST /event/${eventId}/prices/assignments/`, {
    groupOfSeats: [
      { objectId: left, assignmentId: standing, activeCount: 500 },
      { objectId: right, assignmentId: standing, activeCount: 300 },
    ],
  });
  for (const [call, capacity] of [
    ["directsale", 8],
    ["lock", 5],
  ] as const) {
    // oxlint-disable-next-line no-await-in-loop
    await must(staged, `POST /booking/${call}?eventId=${eventId}`, {
      sessionId: SESSION,
      groupOfSeats: [{ id: left, capacity }],
    });
  }
  return { left, right };
}

async function read<T>({ server, key }: Staged, path: string): Promise<T> {
  const response = await server.request("GET", V2 + path, undefined, key);
  expect(response.ok).toBe(true);
  return (await response.json()) as T;
}

interface SeatPrice {
  readonly price: string | undefined;
  /** Held, sold or blocked. */
  readonly isTaken: boolean;
}

interface MapColumns {
  readonly prices: readonly number[];
  readonly columns: {
    readonly ids: readonly number[];
    readonly states: string;
    readonly priceIndexes: readonly number[];
  };
}

/** By seat id, as the server has it. */
async function pricesOf(staged: OnSale): Promise<Map<number, SeatPrice>> {
  const { prices, columns } = await read<MapColumns>(staged, `/events/${staged.eventId}/map/`);
  const bare = { price: undefined, isTaken: false };
  const seats = new Map<number, SeatPrice>(staged.seats.map(({ id }) => [id, bare]));
  for (const [i, id] of columns.ids.entries()) {
    const priceId = prices[columns.priceIndexes[i]!] ?? 0;
    const price = staged.names.get(priceId) ?? `price ${priceId}`;
    seats.set(id, { price, isTaken: "LSB".includes(columns.states[i]!) });
  }
  return seats;
}

/** By area id, as the server has it. */
async function areasOf(staged: OnSale) {
  const areas = await read<{ groupOfSeatsId: number; capacity: number; priceId?: number }[]>(
    staged,
    `/events/${staged.eventId}/areas/`,
  );
  return new Map(
    areas.map(({ groupOfSeatsId, priceId = 0, capacity }) => [
      groupOfSeatsId,
      { price: staged.names.get(priceId), capacity },
    ]),
  );
}

function withPrice(seats: ReadonlyMap<number, SeatPrice>, ids: readonly number[], price: string) {
  const changed = new Map(seats);
  for (const id of ids) changed.set(id, { ...changed.get(id)!, price });
  return changed;
}

async function openPrices(staged: Staged): Promise<Page> {
  const page = await openPage(await browserOfTest(), staged, `#event/${staged.eventId}/prices`);
  await logInWithKey(page, staged);
  await mapIsPainted(page);
  return page;
}

async function choose(page: Page, price: string): Promise<void> {
  await page.getByRole("radio", { name: price }).check();
}

function blockButton(page: Page): Locator {
  return page.locator(".price-groups").getByRole("button", { name: /^Block 101 ?/ });
}

function areaButton(page: Page, name: string): Locator {
  return page.locator(".price-area").getByRole("button", { name });
}

function question(page: Page): Locator {
  return page.getByRole("dialog");
}

async function title(page: Page, text: string): Promise<void> {
  await question(page).getByRole("heading", { name: text, exact: true }).waitFor();
}

async function pressOn(target: Locator): Promise<void> {
  await target.focus();
  await target.press("Enter");
}
