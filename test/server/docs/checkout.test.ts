/** The code of the page about a checkout, while everything around it fails. */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { LayoutDocument } from "../../../engine/layout/document.ts";
import { area, layoutOf, section } from "../../support/layout.ts";
import { quietPort, type ServerProcess, startServer } from "../../support/server-process.ts";
import { Random } from "../../sim/workload/random.ts";

const TOKEN = "the-token-of-the-checkout";
const ORDERS = 60;
const SEATS = 24;
const PLACES = 60;
const HOLD_SECONDS = 1;

interface Order {
  readonly id: string;
  readonly eventId: string;
  readonly seats: readonly { readonly id: number }[];
  readonly groupOfSeats: readonly { readonly id: number; readonly capacity: number }[];
  readonly priceIds: Readonly<Record<string, number>>;
  readonly holdType?: string;
  readonly state?: string;
  readonly paymentId?: string | null;
}

interface Message {
  readonly orderId: string;
  readonly paymentId: string;
}

interface Checkout {
  reserve(shop: Shop, order: Order): Promise<Order | { readonly errorCode: string }>;
  settle(shop: Shop, message: Message): Promise<boolean>;
  catchUp(shop: Shop, orderId: string): Promise<void>;
}

/** The module of the page. */
async function checkoutOfTheGuide(): Promise<Checkout> {
  const page = readFileSync("server/docs/guide/checkout.md", "utf8");
  const [, code = ""] = /<!-- test: [^>]*-->\n```js\n([^]*?)```/.exec(page) ?? [];
  const source = `data:text/javascript,${encodeURIComponent(code)}`;
  return (await import(/* @vite-ignore */ source)) as Checkout;
}

type Payment = "authorized" | "captured" | "voided";

/** A shop with a durable database and provider; its process breaks off anywhere. */
class Shop {
  url = "";
  key = "";
  readonly rows = new Map<string, Order>();
  readonly ledger = new Map<string, Payment>();
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Before or after a step, as a killed process. */
  #mayBreak(): void {
    if (this.#random.once(12)) throw new Error("the shop breaks off");
  }

  readonly orders = {
    save: async (order: Order) => {
      this.#mayBreak();
      this.rows.set(order.id, order);
      this.#mayBreak();
    },
    claim: async (id: string, paymentId: string) => {
      const order = this.rows.get(id)!;
      const claimed = { ...order, paymentId: order.paymentId ?? paymentId };
      this.rows.set(id, claimed);
      this.#mayBreak();
      return claimed;
    },
  };

  readonly payments = {
    find: async (orderId: string) =>
      [...this.ledger.keys()].filter((id) => id.startsWith(`${orderId} `)).map((id) => ({ id })),
    capture: async (id: string) => this.#end(id, "captured"),
    void: async (id: string) => this.#end(id, "voided"),
  };

  async #end(id: string, end: Payment): Promise<void> {
    this.#mayBreak();
    expect([id, "authorized", end]).toContain(this.ledger.get(id));
    this.ledger.set(id, end);
    this.#mayBreak();
  }
}

/** Repeats what breaks off, as a queue delivers a message until it is acknowledged. */
async function untilDone<T>(act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!/breaks off|no answer/.test(String(error))) throw error;
      await sleep(20);
    }
  }
}

interface Sale {
  readonly server: () => ServerProcess;
  readonly eventId: string;
  readonly key: string;
  readonly seatIds: readonly number[];
  readonly areaId: number;
  readonly priceId: number;
  readonly restart: () => Promise<void>;
}

async function openSale(): Promise<Sale> {
  const options = {
    env: { FRONTROW_TENANT_TOKEN: TOKEN },
    args: ["--port", String(quietPort())],
  };
  let server = await startServer(options);
  const { folder } = server;
  let key: string | Record<string, string> = TOKEN;
  const post = async <T>(path: string, body: unknown, method = "POST") => {
    const response = await server.request(method, `/api/private/${path}`, body, key);
    const answer = (await response.json()) as T;
    expect(response.ok, JSON.stringify(answer)).toBe(true);
    return answer;
  };
  const admin = {
    firstName: "A",
    lastName: "B",
    email: "a@b.example",
    password: "a long password",
  };
  const organization = { name: "Shop", ...admin };
  const made = await post<{ id: number; secretKey: string }>(
    "management/v2.0/organizations/",
    organization,
  );
  key = { "X-API-Key": TOKEN, "X-Organization-ID": String(made.id) };
  const types = [{ name: "CART", ttlSeconds: HOLD_SECONDS }];
  await post("management/v2.0/hold-types/", types, "PUT");
  key = made.secretKey;
  const { id: venueId } = await post<{ id: number }>("v2.0/venues/", { name: "House" });
  const { id: schemaId } = await post<{ id: number }>("v2.0/schemas/", { name: "Plan", venueId });
  const row = Array.from({ length: SEATS }, (_, seat) => String(seat + 1)).join(" ");
  const layout = layoutOf(section("Stalls", { A: row }), area("Pit", PLACES));
  const path = `v2.0/schemas/${schemaId}/layout`;
  const stored = await post<LayoutDocument>(path, layout, "PUT");
  const times = { start: "2030-05-01T20:00", endDate: "2030-05-01T22:00" };
  const event = await post<{ id: string }>("v2.0/events/", { name: "Night", schemaId, ...times });
  const prices = await post<{ id: number }[]>(`v2.0/event/${event.id}/prices/`, [
    { name: "Full", eventId: event.id },
  ]);
  const priceId = prices[0]!.id;
  const groupOfSeats = stored.sectors.map(({ id }) => ({ objectId: id, assignmentId: priceId }));
  await post(`v2.0/event/${event.id}/prices/assignments/`, { groupOfSeats });
  return {
    server: () => server,
    eventId: event.id,
    key: made.secretKey,
    seatIds: stored.seats.map(({ id }) => id),
    areaId: stored.sectors.find(({ ga }) => ga)!.id,
    priceId,
    restart: async () => {
      await server.kill("SIGKILL");
      server = await startServer({ ...options, folder });
    },
  };
}

test("kills, messages that are late, doubled and lost → who paid has the seats, nobody else", async () => {
  const checkout = await checkoutOfTheGuide();
  const sale = await openSale();
  const random = new Random(7);
  const shop = new Shop(random);
  shop.url = sale.server().url;
  shop.key = sale.key;
  const { eventId, seatIds, areaId, priceId } = sale;

  const buy = async (number: number) => {
    const id = `order-${number}`;
    const first = random.below(SEATS - 1);
    const ids = random.once(3) ? [] : seatIds.slice(first, first + 1 + random.below(2));
    const isStanding = ids.length === 0 || random.once(2);
    const groupOfSeats = isStanding ? [{ id: areaId, capacity: 1 + random.below(2) }] : [];
    const of = [...ids, ...groupOfSeats.map((choice) => choice.id)];
    const priceIds = Object.fromEntries(of.map((object) => [object, priceId]));
    const order = { id, eventId, seats: ids.map((seat) => ({ id: seat })), groupOfSeats, priceIds };
    const reserved = await untilDone(() => checkout.reserve(shop, order));
    if ("errorCode" in reserved) return;
    const payments = random.once(4) ? [`${id} 1`, `${id} 2`] : [`${id} 1`];
    for (const payment of payments) shop.ledger.set(payment, "authorized");
    if (random.once(4)) await sleep(HOLD_SECONDS * 1_000 + 200);
    const isLost = random.once(5);
    const messages = payments.flatMap((paymentId) => {
      const message = { orderId: id, paymentId };
      return isLost ? [] : random.once(3) ? [message, message] : [message];
    });
    await Promise.all(messages.map((message) => untilDone(() => checkout.settle(shop, message))));
    if (isLost) await untilDone(() => checkout.catchUp(shop, id));
  };
  const buyers = async (from: number) => {
    for (let number = from; number < ORDERS; number += 4) await buy(number);
  };
  const selling = { isOver: false };
  const killing = (async () => {
    for (let kills = 0; !selling.isOver && kills < 4; kills++) {
      await sleep(700);
      await sale.restart();
    }
  })();
  await Promise.all([0, 1, 2, 3].map(buyers));
  selling.isOver = true;
  await killing;

  const chosen = { seats: [{ id: seatIds[0]! }], groupOfSeats: [], priceIds: {} };
  const slow = { id: "slow", eventId, ...chosen, holdType: "NONE" };
  const refused = await untilDone(() => checkout.reserve(shop, slow));
  expect(refused).toMatchObject({ errors: [{ field: "holdType", code: "UNKNOWN" }] });

  const ends = [...shop.ledger.values()];
  expect(ends).not.toContain("authorized");
  const paid = [...shop.ledger].filter(([, end]) => end === "captured").map(([id]) => id);
  const orders = paid.map((id) => shop.rows.get(id.split(" ")[0]!)!);
  expect(new Set(orders).size, "an order is paid once").toBe(orders.length);
  expect(orders.length).toBeGreaterThan(5);
  const bought = orders.flatMap(({ seats }) => seats.map(({ id }) => id));
  const response = await sale.server().request("GET", mapOf(eventId), undefined, sale.key);
  const map = (await response.json()) as {
    columns: { ids: number[]; states: string };
    areas: { sold: number }[];
  };
  const sold = map.columns.ids.filter((_, i) => map.columns.states[i] === "S");
  expect(bought.toSorted((a, b) => a - b)).toEqual(sold);
  const places = orders.flatMap(({ groupOfSeats }) => groupOfSeats.map((of) => of.capacity));
  expect(places.reduce((sum, count) => sum + count, 0)).toBe(map.areas[0]!.sold);
}, 120_000);

const mapOf = (eventId: string) => `/api/private/v2.0/events/${eventId}/map/`;
