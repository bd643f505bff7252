/** The recipes of the guide for programs that poll, while seats are sold between two answers. */
import { expect, test } from "vitest";
import { type PageBody, type SeatBody, TestServer, V2 } from "../../support/server.ts";

const SIZE = 3;

type Rows = Map<number, SeatBody>;

class Shop {
  readonly server = new TestServer();
  readonly #event = `${V2}/events/${this.server.a.eventId}`;
  /** The rows as the program knows them. */
  readonly rows: Rows = new Map();
  #largest = "";

  /** Something happens a moment later. */
  async books(call: "lock" | "sale" | "unlock", label: string): Promise<void> {
    this.server.world.clock.timeMs += 1;
    await this.server.book(call, "ann", label);
  }

  async #page(query: string) {
    const reply = await this.server.get<PageBody<SeatBody>>(`${this.#event}/seats/?${query}`);
    expect(reply.status).toBe(200);
    return { ...reply.body, sequence: reply.headers["X-Sequence"]! };
  }

  /** All rows now, in one answer. */
  async listed(): Promise<Rows> {
    const { content } = await this.#page("size=100");
    return new Map(content.map((row) => [row.seatId, row]));
  }

  /**
   * The listing in pages, each from the second on as of the first one's `X-Sequence`.
   *
   * @param between - Happens after each page.
   */
  async poll(between: () => Promise<void>, sort = ""): Promise<void> {
    let asOf = "";
    for (let [page, isLast] = [0, false]; !isLast; page++) {
      const query = `page=${page}&size=${SIZE}&lastUpdated=${this.#largest}${sort}${asOf}`;
      const { content, last, sequence } = await this.#page(query);
      isLast = last;
      asOf ||= `&asOf=${sequence}`;
      for (const row of content) this.rows.set(row.seatId, row);
      await between();
    }
    const times = [...this.rows.values()].map(({ updatedAt }) => updatedAt);
    this.#largest = times.toSorted().at(-1)!;
  }

  /** The map, then `changes/` since the last record that is known. */
  async follow(between: () => Promise<void>): Promise<Map<number, string | null>> {
    const map = await this.server.get<{
      readonly sequence: number;
      readonly columns: { readonly ids: readonly number[]; readonly states: string };
    }>(`${this.#event}/map/`);
    const { ids, states } = map.body.columns;
    const names: Record<string, string> = { A: "ACTIVE", L: "LOCKED", S: "SOLD", B: "BLOCKED" };
    const known = new Map(ids.map((id, i) => [id, names[states[i]!] ?? null]));
    let since = map.body.sequence;
    for (let hasMore = true; hasMore;) {
      await between();
      const { body } = await this.server.get<{
        readonly sequence: number;
        readonly more: boolean;
        readonly changes: readonly {
          readonly seats: readonly { readonly id: number; readonly state: string | null }[];
        }[];
      }>(`${this.#event}/changes/?since=${since}&limit=1`);
      for (const { seats } of body.changes) for (const { id, state } of seats) known.set(id, state);
      since = body.sequence;
      hasMore = body.more;
    }
    return known;
  }
}

/** Sells a seat of an earlier page, then changes one of a later page, so many times. */
function salesIn(shop: Shop, times: number): () => Promise<void> {
  const [earlier, later] = [
    ["A1", "A2", "A3", "A4"],
    ["B4", "B3", "B2", "B1"],
  ] as const;
  let done = 0;
  return async () => {
    if (done === times) return;
    await shop.books("lock", earlier[done]!);
    await shop.books("sale", earlier[done]!);
    await shop.books("lock", later[done]!);
    done += 1;
  };
}

const NOTHING = async () => {};

test.each(["", "&sort=updatedAt"])(
  "seats are sold between pages of a poll%s → no change is missed",
  async (sort) => {
    const shop = new Shop();
    await shop.poll(salesIn(shop, 3), sort);
    await shop.poll(salesIn(shop, 2), sort);
    await shop.poll(NOTHING, sort);
    expect(shop.rows).toEqual(await shop.listed());
  },
);

test("seats are sold between the map and each answer of changes → no change is missed", async () => {
  const shop = new Shop();
  const known = await shop.follow(salesIn(shop, 4));
  const listed = [...(await shop.listed())].map(([id, { state }]) => [id, state]);
  expect([...known]).toEqual(listed);
});
