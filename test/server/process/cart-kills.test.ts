/**
 * kill -9 of the real program under carts over five events: after each start every cart is in all of
 * its events or in none, under one sequence, and none that was answered is missing.
 */
import { expect, test } from "vitest";
import {
  type ServerProcess,
  startServer,
  temporaryFolder,
  V2,
} from "../../support/server-process.ts";

const EVENTS = 5;
const KILLS = 6;
const LANES = 8;
const SEATS_PER_CART = 2;
const BEST_PLACES = 2;
const ANSWERS_BEFORE_KILL = 60;
/** Bodies may be cut by the kill, answers not. */
const SLOW = { timeout: 180_000 };
/** Snapshots while carts are written. */
const ARGS = ["--demo", "--snapshot-every", "0.02"];

interface Shop {
  readonly key: string;
  readonly events: readonly string[];
  /** Of every event, for locks. */
  readonly seats: readonly number[];
  /** Sections and areas apart from these, for the best places. */
  readonly bestIn: readonly number[];
}

interface ListedSeat {
  readonly seatId: number;
  readonly sectionId: number;
  readonly state: string;
}

interface Figures {
  readonly groupOfSeatsId: number;
  readonly active: number;
}

interface Change {
  readonly sequence: number;
  readonly previous: number;
  readonly call: string;
  readonly seats: readonly { readonly id: number; readonly state: string }[];
}

async function read<Body>(server: ServerProcess, key: string, target: string): Promise<Body> {
  const reply = await server.request("GET", V2 + target, undefined, key);
  expect(reply.status, target).toBe(200);
  return (await reply.json()) as Body;
}

async function openShop(server: ServerProcess): Promise<Shop> {
  const { key, eventId } = server;
  const events = [eventId];
  while (events.length < EVENTS) {
    const body = { status: "PUBLISHED" };
    const reply = await server.request("POST", `${V2}/events/${eventId}/clone`, body, key);
    events.push(((await reply.json()) as { id: string }).id);
  }
  const list = await read<{ content: ListedSeat[] }>(
    server,
    key,
    `/events/${eventId}/seats/?size=100`,
  );
  const own = list.content.filter(({ state }) => state === "ACTIVE");
  const { bySection } = await read<{ bySection: Figures[] }>(
    server,
    key,
    `/events/${eventId}/summary/`,
  );
  const others = bySection.filter(({ groupOfSeatsId, active }) => {
    const isApart = own.every(({ sectionId }) => sectionId !== groupOfSeatsId);
    return isApart && active >= LANES * BEST_PLACES;
  });
  const seats = own.map(({ seatId }) => seatId);
  return { key, events, seats, bestIn: others.map(({ groupOfSeatsId }) => groupOfSeatsId) };
}

/** Locks its own seats and some of the best in all events, and unlocks them, until the server is gone. */
async function lane(server: ServerProcess, shop: Shop, number: number, answered: number[]) {
  const own = shop.seats.slice(number * SEATS_PER_CART, (number + 1) * SEATS_PER_CART);
  const seats = own.map((id) => ({ id }));
  const sessionId = `lane ${number}`;
  const wish = { quantity: BEST_PLACES, adjacent: "preferred" };
  for (let turn = 0; ; turn++) {
    // An earlier life may have ended between the two.
    for (const call of ["unlock", "lock"]) {
      const best = { call: "best", ...wish, groupOfSeatsIds: shop.bestIn };
      const calls = call === "lock" ? [{ call, seats }, best] : [{ call, all: true }];
      const items = shop.events.flatMap((eventId) => calls.map((one) => ({ ...one, eventId })));
      try {
        const body = { sessionId, items };
        const reply = await server.request("POST", `${V2}/booking/cart`, body, shop.key);
        const { sequence } = (await reply.json()) as { sequence: number };
        expect(reply.status).toBe(200);
        // The first unlock may have nothing to do, and has the sequence of another record then.
        if (call === "lock" || turn > 0) answered.push(sequence);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        return;
      }
    }
  }
}

async function changesOf(server: ServerProcess, key: string, eventId: string, since: number) {
  const all: Change[] = [];
  for (let position = since; ;) {
    const target = `/events/${eventId}/changes/?limit=1000&since=${position}`;
    const page = await read<{ changes: Change[]; sequence: number; more: boolean }>(
      server,
      key,
      target,
    );
    all.push(...page.changes);
    if (!page.more) return all;
    position = page.sequence;
  }
}

interface MapBody {
  readonly sequence: number;
  readonly columns: { readonly states: string };
}

test(
  `${KILLS} kills under carts of locks and best → each cart in all of its events or in none`,
  SLOW,
  async () => {
    const folder = `${temporaryFolder()}/data`;
    let server = await startServer({ folder, args: ARGS });
    const shop = await openShop(server);
    const first = shop.events[1]!;
    const begin = (await read<MapBody>(server, shop.key, `/events/${first}/map/`)).sequence;
    const answered: number[] = [];
    let [carts, unanswered] = [0, 0];
    for (let kill = 0; kill < KILLS; kill++) {
      const before = answered.length;
      const running = Array.from({ length: LANES }, (_, i) => lane(server, shop, i, answered));
      while (answered.length < before + ANSWERS_BEFORE_KILL) {
        await Promise.race([...running, new Promise((resolve) => setTimeout(resolve, 1))]);
      }
      await server.kill("SIGKILL");
      await Promise.all(running);
      server = await startServer({ folder, args: ARGS });
      const found = await Promise.all(
        shop.events.map((id) => changesOf(server, shop.key, id, Math.max(begin, 1))),
      );
      const sequences = found.map((changes) =>
        changes.filter(({ call }) => call === "cart").map(({ sequence }) => sequence),
      );
      const [one, ...others] = sequences;
      for (const other of others) expect(other).toEqual(one);
      expect(new Set(one).size).toBe(one!.length);
      const known = new Set(one);
      const written = answered.filter((sequence) => known.has(sequence));
      expect(written).toEqual(answered);
      const places = found.map((changes) => {
        const carted = changes.filter(({ call }) => call === "cart");
        return carted.map(({ sequence, seats }) => [sequence, seats.map(({ state }) => state)]);
      });
      const locks = found[0]!.flatMap(({ call, seats }) => (call === "cart" ? [seats.length] : []));
      expect(new Set(locks)).toEqual(new Set([SEATS_PER_CART + BEST_PLACES]));
      for (const other of places.slice(1)) expect(other).toEqual(places[0]);
      const clones = await Promise.all(
        shop.events.slice(1).map((id) => read<MapBody>(server, shop.key, `/events/${id}/map/`)),
      );
      const states = clones.map(({ columns }) => columns.states);
      expect(new Set(states).size).toBe(1);
      carts = one!.length;
      unanswered = one!.filter((sequence) => !answered.includes(sequence)).length;
    }
    expect(carts).toBeGreaterThan(KILLS * ANSWERS_BEFORE_KILL * 0.9);
    expect(unanswered).toBeLessThan(KILLS * LANES + 1);
  },
);
