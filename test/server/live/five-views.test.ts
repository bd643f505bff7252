/**
 * An on-sale in the real program, with kills: the listing, the stream, the list of changes, the
 * listing of the past, and the deliveries of a webhook show the same at any sequence number.
 * `npm run views` compares them at 1,000 sequence numbers.
 */
import { expect, test } from "vitest";
import { type ServerProcess, startServer } from "../../support/server-process.ts";
import { type PageBody, type SeatBody, V2 } from "../../support/server.ts";
import { Random } from "../../sim/workload/random.ts";
import { Receiver } from "../webhooks/receiver.ts";
import { type StreamChange, StreamClient } from "./stream-client.ts";

const SAMPLES = Number(process.env["FRONTROW_VIEWS"] ?? 150);
const KILLS = 3;
const LONG = { timeout: 60_000 + 200 * SAMPLES };

const ARGS = ["--webhook-private-addresses"];
const DELIVERY_MS_MAX = 60_000;

/** Seat id and first letter of the state, in the order of the listing. */
type Shown = readonly (readonly [id: number, state: string])[];

class OnSale {
  server: ServerProcess;
  readonly key: string;
  readonly eventId: string;
  readonly #random = new Random(7);
  seatIds: readonly number[] = [];

  constructor(server: ServerProcess) {
    this.server = server;
    this.key = server.key;
    this.eventId = server.eventId;
  }

  async get(target: string): Promise<Response> {
    const path = `${V2}/events/${this.eventId}/${target}`;
    return this.server.request("GET", path, undefined, this.key);
  }

  async listing(query = ""): Promise<{ readonly sequence: number; readonly shown: Shown }> {
    const answer = await this.get(`seats/?size=60&sort=seatId${query}`);
    expect(answer.status).toBe(200);
    const { content } = (await answer.json()) as PageBody<SeatBody>;
    const shown = content.map(({ seatId, state }) => [seatId, state?.[0] ?? "-"] as const);
    return { sequence: Number(answer.headers.get("x-sequence")), shown };
  }

  /** A random booking call on one or two of the seats; most are granted. */
  async book(): Promise<void> {
    const random = this.#random;
    const call = random.pick(["lock", "lock", "sale", "unlock", "block", "unblock", "revertsale"]);
    const first = random.below(this.seatIds.length - 1);
    const seats = this.seatIds.slice(first, first + 1 + random.below(2)).map((id) => ({ id }));
    const path = `${V2}/booking/${call}?eventId=${this.eventId}`;
    await this.server.request("POST", path, { sessionId: null, seats }, this.key);
  }

  stream(query = ""): Promise<StreamClient> {
    const url = this.server.url.replace("http", "ws");
    return StreamClient.open(`${url}${V2}/events/${this.eventId}/stream${query}`, this.key);
  }

  /** Kills the server while it books, and starts it again. */
  async killAndStart(): Promise<void> {
    const { folder } = this.server;
    const bookings = Promise.allSettled([this.book(), this.book(), this.book()]);
    await this.server.kill("SIGKILL");
    await bookings;
    this.server = await startServer({ folder, args: ARGS });
  }

  async createWebhook(): Promise<Receiver> {
    const receiver = await Receiver.open();
    const body = { url: receiver.url, events: ["change"] };
    const answer = await this.server.request("POST", `${V2}/webhooks/`, body, this.key);
    expect(answer.status).toBe(201);
    receiver.secrets = [((await answer.json()) as { secret: string }).secret];
    return receiver;
  }

  /** Every change since the event was created. */
  async changes(): Promise<readonly StreamChange[]> {
    const all: StreamChange[] = [];
    for (let since = 0; ;) {
      const answer = await this.get(`changes/?since=${since}&limit=50`);
      const page = (await answer.json()) as {
        sequence: number;
        more: boolean;
        changes: StreamChange[];
      };
      all.push(...page.changes);
      if (!page.more) return all;
      since = page.sequence;
    }
  }
}

/** The states after the changes up to a sequence. */
function fold(start: ReadonlyMap<number, string>, changes: readonly StreamChange[], until: number) {
  const states = new Map(start);
  for (const { sequence, seats } of changes) {
    if (sequence > until) break;
    for (const { id, state } of seats) states.set(id, state?.[0] ?? "-");
  }
  return states;
}

test("five views of an event are the same at any sequence number, over kills", LONG, async () => {
  const sale = new OnSale(await startServer({ args: ["--demo", ...ARGS] }));
  sale.seatIds = (await sale.listing()).shown.map(([id]) => id);
  const receiver = await sale.createWebhook();
  let client = await sale.stream();
  await client.until((await sale.listing()).sequence);
  const [snapshot] = client.messages;
  const begun = snapshot!.sequence!;
  const start = new Map(client.states);
  const streamed: StreamChange[] = [];
  const samples = [];
  for (let round = 0; round < SAMPLES; round++) {
    const bookings = [sale.book(), sale.book(), sale.book()];
    const [sample] = await Promise.all([sale.listing(), ...bookings]);
    samples.push(sample);
    if (round % Math.ceil(SAMPLES / KILLS) !== Math.floor(SAMPLES / KILLS / 2)) continue;
    await sale.killAndStart();
    await client.closed;
    streamed.push(...client.messages.flatMap(({ changes = [] }) => changes));
    const next = await sale.stream(`?since=${client.sequence}`);
    next.sequence = client.sequence;
    client = next;
  }
  samples.push(await sale.listing());
  const { sequence: end } = samples.at(-1)!;
  await client.until(end);
  streamed.push(...client.messages.flatMap(({ changes = [] }) => changes));
  const changes = await sale.changes();
  expect(changes.filter(({ sequence }) => sequence > begun)).toEqual(streamed);
  const wait = { timeout: DELIVERY_MS_MAX, interval: 50 };
  await expect.poll(() => receiver.changes.at(-1)?.sequence, wait).toBe(end);
  const delivered = receiver.changes;
  expect(delivered).toEqual(streamed);
  expect(receiver.received.filter(({ signedBy }) => signedBy.length !== 1)).toEqual([]);
  for (const { sequence, shown } of samples) {
    const past = await sale.listing(`&asOf=${sequence}`);
    expect(past).toEqual({ sequence, shown });
    const ofStream = fold(start, streamed, sequence);
    const ofWebhook = fold(start, delivered, sequence);
    const ofChanges = fold(new Map(), changes, sequence);
    expect(shown.map(([id]) => [id, ofStream.get(id)])).toEqual(shown);
    expect(shown.map(([id]) => [id, ofWebhook.get(id)])).toEqual(shown);
    expect(shown.map(([id]) => [id, ofChanges.get(id)])).toEqual(shown);
  }
});
