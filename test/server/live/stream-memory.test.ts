/** Open streams cost little memory, however much they were sent. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { sleep } from "../../support/server-process.ts";
import { stageArena, V2 } from "../console/stage.ts";
import { StreamClient } from "./stream-client.ts";

const CLIENTS = 100;
/** The first changes have more than twice as many; without them a client takes about 20. */
const KIB_OF_CLIENT = 160;
const TEST_MS_MAX = 120_000;

function residentKib(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]);
}

test(
  "the memory of what streams have been sent is free again while they are open",
  async () => {
    const { server, key, eventId } = await stageArena();
    const stream = `${server.url.replace("http", "ws")}${V2}/events/${eventId}/stream?since=1`;
    const open = async () => {
      const client = await StreamClient.open(stream, key);
      await client.until(1);
      client.messages.length = 0;
      client.states.clear();
      return client;
    };
    const openAll = async () => {
      const clients: StreamClient[] = [];
      for (let i = 0; i < CLIENTS; i++) {
        clients.push(await open());
      }
      await sleep(1_000);
      return clients;
    };
    // The first ones make the heap as large as it needs to be.
    for (const client of await openAll()) client.socket.close();
    await sleep(1_000);
    const before = residentKib(server.pid);
    const clients = await openAll();
    expect((residentKib(server.pid) - before) / CLIENTS).toBeLessThan(KIB_OF_CLIENT);
    for (const client of clients) client.socket.close();
  },
  TEST_MS_MAX,
);
