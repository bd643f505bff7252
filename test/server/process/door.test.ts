/** A door over kills of the real server: nobody's place, state, token or quota changes, and its beacon counts. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { judgeDraw } from "../../../server/door/verify-draw.ts";
import { startServer } from "../../support/server-process.ts";

const VISITORS = 200;
/** From the set-up until the opening, which comes while no server runs. */
const OPENING_MS = 6_000;

interface Visitor {
  readonly visitor: string;
  readonly entry: string;
  readonly place: number | null;
  readonly state: string;
  readonly admission?: string;
}

/** Over the real socket: preflights, and answers without a body, one after the other. */
async function expectShared(door: string): Promise<void> {
  for (const path of ["", "/status"]) {
    const whole = await fetch(door + path);
    const tag = whole.headers.get("ETag")!;
    expect((await whole.text()).length).toBeGreaterThan(100);
    for (const method of ["GET", "HEAD"]) {
      const known = await fetch(door + path, { method, headers: { "If-None-Match": tag } });
      // The status changes twice a second.
      expect([304, path === "" ? 304 : 200]).toContain(known.status);
      if (known.status === 304) expect(await known.text()).toBe("");
      expect(known.headers.get("Access-Control-Allow-Origin")).toBe("*");
    }
  }
  const asked = await fetch(`${door}/visitors/x`, {
    method: "OPTIONS",
    headers: { Origin: "https://shop.example", "Access-Control-Request-Method": "DELETE" },
  });
  expect([asked.status, await asked.text()]).toEqual([204, ""]);
  expect(asked.headers.get("Access-Control-Allow-Methods")).toContain("DELETE");
}

test("three kills around the opening → places, tokens and the draw stay as they were", async () => {
  let server = await startServer({ args: ["--demo"] });
  const { folder, key } = server;
  const eventId = /event id +(\S+)/.exec(server.stdout)![1]!;
  const admission = `/api/private/v2.0/events/${eventId}/admission`;
  const call = async <Body = Visitor>(method: string, path: string, body?: object) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = { "X-API-Key": key, "Content-Type": "application/json" };
    const response = await fetch(server.url + path, { method, headers, ...sent });
    return (await response.json()) as Body;
  };
  const text = async (path: string) => (await fetch(server.url + path)).text();
  const restart = async () => {
    await server.kill("SIGKILL");
    server = await startServer({ folder, args: ["--demo"] });
  };
  const opensAt = new Date(Date.now() + OPENING_MS).toISOString().slice(0, 23);
  const settings = { opensAt, perMinute: 6_000, insideSeconds: 600 };
  const name = "drand round 7";
  await call("PUT", admission, { ...settings, beacon: { name } });
  await expectShared(`${server.url}/door/${eventId}`);
  const joined: Visitor[] = [];
  for (let i = 0; i < VISITORS; i++) {
    joined.push(await call("POST", `${admission}/visitors`, { customer: `customer ${i}` }));
  }
  const seen = await text(`/door/${eventId}/status`);
  await server.kill("SIGKILL");
  await sleep(Math.max(0, Date.parse(`${opensAt}Z`) + 100 - Date.now()));
  server = await startServer({ folder, args: ["--demo"] });
  const late = await call("POST", `${admission}/visitors`, {});
  expect([late.place, (await call("GET", admission)).state]).toEqual([null, "before"]);
  await call("PUT", admission, { ...settings, beacon: { name, value: "a3c1" } });
  await restart();

  const show = () =>
    Promise.all(joined.map(({ visitor }) => call("GET", `${admission}/visitors/${visitor}`)));
  const drawn = await show();
  expect(new Set(drawn.map(({ place }) => place)).size).toBe(VISITORS);
  const again = await call("POST", `${admission}/visitors`, { customer: "customer 7" });
  expect(again.visitor).toBe(joined[7]!.visitor);
  const first = drawn.find(({ place }) => place === 1)!;
  let entered = await call("POST", `${admission}/visitors/${first.visitor}/enter`);
  while (entered.admission === undefined) {
    await sleep(100);
    entered = await call("POST", `${admission}/visitors/${first.visitor}/enter`);
  }
  for (let kills = 0; kills < 2; kills++) {
    await restart();
    const places = (await show()).map(({ place }) => place);
    expect(places).toEqual(drawn.map(({ place }) => place));
    const same = await call("POST", `/door/${eventId}/visitors/${first.visitor}/enter`);
    expect(same.admission).toBe(entered.admission);
    const [status, entries] = [
      await text(`/door/${eventId}/status`),
      await text(`/door/${eventId}/entries`),
    ];
    for (const { visitor, entry, place } of drawn) {
      const { isRight, lines } = judgeDraw(status, entries, { visitor, seen });
      expect([isRight, lines.at(-1)]).toEqual([
        true,
        `The entry ${entry} has place ${place} of ${VISITORS}.`,
      ]);
    }
  }
}, 60_000);
