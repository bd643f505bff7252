/** The memory that idle WebSockets take in a server. */
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { startServer } from "../contenders/frontrow.ts";
import { call, createVenue, openEvent } from "../contenders/venue.ts";
import { isTrial } from "../harness/command.ts";
import { memoryOf } from "../harness/memory.ts";
import { forkModule } from "../harness/processes.ts";
import { targetAt } from "../load/plan.ts";
import type { IdlePlan, Opened } from "./idle-sockets.ts";

const SEATS = 100;
/** For memory that is freed late. */
const REST_MS = isTrial ? 10 : 3_000;

/** @returns MiB above the server without them; null when unknown. */
export async function memoryOfIdle(
  what: "streams" | "command sockets",
  count: number,
  folder: string,
): Promise<number | null> {
  await mkdir(folder);
  const server = await startServer(folder);
  const venue = await createVenue(server.url, SEATS);
  const { eventId, key } = await openEvent(venue);
  const { sequence } = await call<{ sequence: number }>(venue, `GET v2.0/events/${eventId}/map/`);
  const stream = `events/${eventId}/stream?since=${sequence}`;
  const path = `/api/private/v2.0/${what === "streams" ? stream : "booking/socket"}`;
  await setTimeout(REST_MS);
  const before = memoryOf(server.pid, "VmRSS");
  const child = forkModule(new URL("./idle-sockets.js", import.meta.url));
  const plan: IdlePlan = { target: targetAt(server.url), path, key, count };
  child.send(plan);
  const [report] = (await once(child, "message")) as [Opened | { readonly error: string }];
  if ("error" in report) throw new Error(report.error);
  await setTimeout(REST_MS);
  const after = memoryOf(server.pid, "VmRSS");
  child.disconnect();
  await once(child, "exit");
  await server.stop();
  return before === null || after === null ? null : after - before;
}
