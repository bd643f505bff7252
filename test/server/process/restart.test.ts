/** A planned restart: SIGTERM while requests come, and a start on the same folder. */
import { createServer, type AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { type ServerProcess, sleep, startServer, V2 } from "../../support/server-process.ts";

const SLOW = { timeout: 120_000 };
/** On an idle machine it is less than a second. */
const GAP_MS_MAX = 10_000;
const RETRY_MS = 10;
/** As in `main.ts`: a signal that follows sooner is the same request. */
const SAME_SIGNAL_MS = 200;
/** As many as may wait. */
const LOGINS = 100;

interface Asked {
  readonly endMs: number;
  readonly isGood: boolean;
}

/** A client that locks a seat and gives it back, again and again, also while there is no server. */
class Client {
  readonly asked: Asked[] = [];
  readonly #server: ServerProcess;
  readonly #seatId: number;
  #isStopped = false;

  constructor(server: ServerProcess, seatId: number) {
    this.#server = server;
    this.#seatId = seatId;
  }

  async run(): Promise<void> {
    for (let turn = 0; !this.#isStopped; turn++) {
      const isGood = await this.book(turn % 2 === 0 ? "lock" : "unlock");
      this.asked.push({ endMs: Date.now(), isGood });
      if (!isGood) await sleep(RETRY_MS);
    }
  }

  stop(): void {
    this.#isStopped = true;
  }

  async book(call: string): Promise<boolean> {
    const target = `${V2}/booking/${call}?eventId=${this.#server.eventId}`;
    try {
      const answer = await this.#server.request("POST", target, this.body("ann"));
      return (await answer.text()) === "true";
    } catch {
      return false;
    }
  }

  body(sessionId: string): object {
    return { seats: [{ id: this.#seatId }], sessionId };
  }

  async until(isTrue: () => boolean): Promise<void> {
    while (!isTrue()) await sleep(RETRY_MS);
  }
}

async function clientOf(server: ServerProcess): Promise<Client> {
  const listing = await server.request("GET", `${V2}/events/${server.eventId}/seats/?sort=state`);
  const { content } = (await listing.json()) as { content: { seatId: number }[] };
  return new Client(server, content[0]!.seatId);
}

async function freePort(): Promise<string> {
  const taken = createServer();
  await new Promise<void>((resolve) => void taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as AddressInfo;
  await new Promise((resolve) => taken.close(resolve));
  return String(port);
}

const saidOf = (server: ServerProcess, message: string) =>
  server.logLines.find(({ msg }) => String(msg).startsWith(message));

test(
  "clients notice a planned restart only after its snapshot was made, and not for long",
  SLOW,
  async () => {
    const args = ["--demo", "--port", await freePort()];
    const first = await startServer({ args });
    const client = await clientOf(first);
    const running = client.run();
    await client.until(() => client.asked.length > 200);
    expect(client.asked.every(({ isGood }) => isGood)).toBe(true);
    expect(await first.kill("SIGTERM")).toEqual({ code: 0, signal: null });
    const second = await startServer({ folder: first.folder, args });
    const before = client.asked.length;
    await client.until(() => client.asked.length > before + 50);
    client.stop();
    await running;

    const made = saidOf(first, "snapshot made")!;
    const bad = client.asked.filter(({ isGood }) => !isGood);
    const firstBadMs = Math.min(...bad.map(({ endMs }) => endMs));
    expect(firstBadMs).toBeGreaterThanOrEqual(Number(made["time"]));
    const good = client.asked.filter(({ isGood }) => isGood).map(({ endMs }) => endMs);
    const gaps = good.map((endMs, i) => endMs - (good[i - 1] ?? endMs));
    expect(Math.max(...gaps)).toBeLessThan(GAP_MS_MAX);
    // The next start reads that snapshot, and only the records after it.
    const recovered = saidOf(second, "recovered")!;
    expect(recovered).toMatchObject({ snapshot: made["name"], cleanShutdown: true, tornBytes: 0 });
    expect(recovered["records"]).toBeLessThan(Number(recovered["sequence"]) / 2);
  },
);

test("a second signal ends a server that still waits for answers at once", SLOW, async () => {
  const server = await startServer({ args: ["--demo", "--bad-logins-per-minute", "1000"] });
  const client = await clientOf(server);
  expect(await client.book("lock")).toBe(true);
  // Passwords are checked one after the other, so these answers take seconds.
  const logins = Array.from({ length: LOGINS }, (_, i) => {
    const credentials = { username: `nobody-${i}@x.example`, password: "guessed-password" };
    return server.request("POST", "/api/auth/login", credentials, "").then(
      () => true,
      () => false,
    );
  });
  await logins[0];
  const ended = server.kill("SIGTERM");
  while (saidOf(server, "stopping") === undefined) await sleep(RETRY_MS);
  await sleep(SAME_SIGNAL_MS + 100);
  void server.kill("SIGTERM");
  expect(await ended).toEqual({ code: 0, signal: null });
  expect(saidOf(server, "stopped")).toBeUndefined();
  expect(await Promise.all(logins)).toContain(false);
  const next = await startServer({ folder: server.folder, args: ["--demo"] });
  expect(saidOf(next, "recovered")).toMatchObject({ cleanShutdown: false });
  const target = `${V2}/booking/lock?eventId=${next.eventId}`;
  expect((await next.request("POST", target, client.body("bob"))).status).toBe(400);
});
