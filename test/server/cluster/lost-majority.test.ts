/** Answers of the leader after etcd has lost its majority during a change. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { describeWith } from "../../support/programs.ts";
import { ClusterHosts, until } from "../../support/cluster/cluster-hosts.ts";
import { TestServer, V2 } from "../../support/server.ts";
import { expectProblem } from "../wire/wire.ts";

const NOT_READY = { status: 503, errorCode: "LOG_UNAVAILABLE" };
const TIMEOUT_MS = 120_000;
/** Much less than the majority is away. */
const AT_ONCE_MS = 5_000;
/** More than the lease. */
const PAUSE_MS = 8_000;

test("a host that may not lead refuses at once, while earlier requests wait", async () => {
  const server = new TestServer();
  server.journal.withholds = true;
  const answered: string[] = [];
  const lock = server.book("lock", "s", "A1");
  const read = server.get(`${V2}/events/${server.a.eventId}`);
  void lock.then(() => answered.push("lock"));
  void read.then(() => answered.push("read"));
  server.isReady = false;
  const before = server.digest;
  expectProblem(await server.get(`${V2}/events/${server.a.eventId}`), NOT_READY);
  expectProblem(await server.book("lock", "s", "A2"), NOT_READY);
  expectProblem(await server.call("GET", `${V2}/events/${server.a.eventId}`), NOT_READY);
  expect(server.digest).toBe(before);
  expect(answered).toEqual([]);
  server.journal.withholds = false;
  server.journal.sync();
  expect((await lock).text).toBe("true");
  expect((await read).status).toBe(200);
});

test("a host that may not lead says so, however many requests wait", async () => {
  const server = new TestServer({ waitingMax: 1 });
  server.journal.withholds = true;
  const lock = server.book("lock", "s", "A1");
  server.isReady = false;
  expectProblem(await server.book("lock", "s", "A2"), NOT_READY);
  server.journal.sync();
  expect((await lock).text).toBe("true");
});

describeWith(["etcd"], "with etcd", () => {
  test(
    "with a lock on its way, all requests after the lease get 503 at once",
    async () => {
      const hosts = await ClusterHosts.begin(1);
      const leader = hosts.spawn(0, { args: ["--demo"] });
      await leader.ready(true);
      const event = `${V2}/events/${leader.eventId}`;
      const seats = await leader.request("GET", `${event}/seats/?size=2`);
      const { content } = (await seats.json()) as { content: { seatId: number }[] };
      const lock = (place: number) =>
        leader.request("POST", `${V2}/booking/lock?eventId=${leader.eventId}`, {
          sessionId: "s",
          seats: [{ id: content[place]!.seatId }],
        });
      await hosts.loseMajority();
      let isAnswered = false;
      const onItsWay = lock(0).finally(() => (isAnswered = true));
      onItsWay.catch(() => {});
      await until(
        "the lease has ended",
        async () => (await leader.request("GET", "/readyz")).status === 503,
      );
      const refused = [
        () => leader.request("GET", event),
        () => lock(1),
        () => leader.request("GET", event, undefined, {}),
      ];
      for (const request of refused) {
        const answer = await Promise.race([request(), sleep(AT_ONCE_MS, null)]);
        expect(answer?.status).toBe(503);
        expect(await answer!.json()).toMatchObject({ errorCode: "NOT_LEADER" });
      }
      expect(isAnswered).toBe(false);
    },
    TIMEOUT_MS,
  );

  test(
    "a leader that was paused ends with 76, and its log says calmly to start it again",
    async () => {
      const hosts = await ClusterHosts.begin(1);
      const leader = hosts.spawn(0);
      await leader.ready(false);
      process.kill(leader.pid, "SIGSTOP");
      await sleep(PAUSE_MS);
      process.kill(leader.pid, "SIGCONT");
      expect((await leader.exited).code).toBe(76);
      const last = leader.logLines.at(-1)!;
      expect(last).toMatchObject({ level: 50, exitCode: 76 });
      expect(last["msg"]).toMatch(/^the process ends: this host no longer leads: .*restart it/);
      expect(leader.stderr).not.toContain("    at ");
    },
    TIMEOUT_MS,
  );
});
