/** Replies to requests with an `Idempotency-Key`, in the real program with little memory. */
import { expect, test } from "vitest";
import { type ServerProcess, startServer } from "../../support/server-process.ts";
import { V2 } from "../../support/server.ts";

const MEBIBYTE = 1024 * 1024;
/** Together the layouts are larger than the memory of the process. */
const LAYOUTS = 24;
const LAYOUT_BYTES = 5 * MEBIBYTE;
const SMALL_HEAP = { NODE_OPTIONS: "--max-old-space-size=96" };
const SHAPE = "00000000-0000-4000-8000-000000000007";

interface Sent {
  readonly status: number;
  readonly text: string;
}

async function send(
  server: ServerProcess,
  endpoint: string,
  body: unknown,
  by: { readonly key: string; readonly idempotencyKey: string },
): Promise<Sent> {
  const [method = "", target = ""] = endpoint.split(" ");
  const headers = {
    "X-API-Key": by.key,
    "Idempotency-Key": by.idempotencyKey,
    "Content-Type": "application/json",
  };
  const answer = await fetch(server.url + target, { method, headers, body: JSON.stringify(body) });
  return { status: answer.status, text: await answer.text() };
}

test("many large layouts fit in a small heap, and a kill changes no reply", async () => {
  const server = await startServer({ args: ["--demo"], env: SMALL_HEAP });
  const { key, folder } = server;
  let number = 0;
  const create = async (path: string, body: object, on = server) => {
    number += 1;
    return send(on, `POST ${V2}/${path}/`, body, { key, idempotencyKey: `create ${number}` });
  };
  const venue = await create("venues", { name: "Arena", address: "x".repeat(200) });
  const { id: venueId } = JSON.parse(venue.text) as { id: number };
  const schema = await create("schemas", { name: "Plan", venueId });
  const { id: schemaId } = JSON.parse(schema.text) as { id: number };
  const put = (on: ServerProcess, i: number) => {
    const points = String(i).padEnd(LAYOUT_BYTES, "x");
    const by = { key, idempotencyKey: `layout ${i}` };
    const body = { shapes: [{ id: SHAPE, points }] };
    return send(on, `PUT ${V2}/schemas/${schemaId}/layout`, body, by);
  };
  let last: Sent = { status: 0, text: "" };
  for (let i = 0; i < LAYOUTS; i++) {
    last = await put(server, i);
    // A long record waits until a segment is long enough for it.
    while (last.status === 503) last = await put(server, i);
    expect([i, last.status]).toEqual([i, 200]);
  }
  await server.kill("SIGKILL");

  const next = await startServer({ folder, env: SMALL_HEAP });
  number = 0;
  const again = await create("venues", { name: "Arena", address: "x".repeat(200) }, next);
  expect(again).toEqual(venue);
  expect((await put(next, LAYOUTS - 1)).text === last.text).toBe(true);
  const gone = await put(next, 0);
  expect([gone.status, JSON.parse(gone.text)]).toMatchObject([
    409,
    { errorCode: "IDEMPOTENCY_REPLY_GONE" },
  ]);
}, 120_000);
