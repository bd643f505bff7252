/** A large layout on a running server, with its real thread, and after a restart. */
import path from "node:path";
import { expect, test } from "vitest";
import { largeLayout } from "../../../bench/stalls/stage.ts";
import { startServer, temporaryFolder } from "../../support/server-process.ts";

interface Layout {
  readonly sectors: readonly object[];
  readonly inUse?: object;
  readonly seats: readonly { readonly id: number; readonly name: string }[];
}

test("a large layout and its events are the same after a restart", async () => {
  const folder = path.join(temporaryFolder(), "data");
  const first = await startServer({ folder, args: ["--demo"] });
  const { key } = first;
  const ask = async <Answer>(
    server: typeof first,
    method: string,
    target: string,
    body?: unknown,
  ) =>
    (await (
      await server.request(method, `/api/private/v2.0${target}`, body, key)
    ).json()) as Answer;
  const { content } = await ask<{ content: { id: number }[] }>(first, "GET", "/venues/");
  const plan = { name: "Arena", venueId: content[0]!.id };
  const { id } = await ask<{ id: number }>(first, "POST", "/schemas/", plan);
  const layout = JSON.parse(largeLayout(3_000).text) as object;
  const put = await ask<Layout>(first, "PUT", `/schemas/${id}/layout`, layout);
  expect(put.seats).toHaveLength(3_000);
  const times = { start: "2030-01-01T20:00:00", endDate: "2030-01-01T22:00:00" };
  const event = { name: "Show", schemaId: id, ...times };
  const { id: eventId } = await ask<{ id: string }>(first, "POST", "/events/", event);
  const renamed = { seats: [{ ...put.seats[7]!, name: "Seven" }] };
  const changed = await ask<Layout>(first, "PUT", `/schemas/${id}/layout`, renamed);
  const { inUse, ...stored } = changed;
  expect([inUse, stored.seats[7]!.name]).toEqual([{ renamed: 0, moved: 0 }, "Seven"]);
  const seats = `/events/${eventId}/seats/?size=100`;
  const listed = await ask<object>(first, "GET", seats);
  expect((await first.kill("SIGKILL")).signal).toBe("SIGKILL");

  const second = await startServer({ folder });
  expect(await ask<Layout>(second, "GET", `/schemas/${id}/layout`)).toEqual(stored);
  expect(await ask<object>(second, "GET", seats)).toEqual(listed);
  expect((await second.kill("SIGTERM")).code).toBe(0);
  // The clean end has written a snapshot.
  const third = await startServer({ folder });
  expect(await ask<Layout>(third, "GET", `/schemas/${id}/layout`)).toEqual(stored);
});
