// A topic of the v2 client: the map of an event, its changes, and tickets.

import assert from "node:assert/strict";
import { caller, done, isTrue, problem, step, V2 } from "./v2-kit.mjs";
import { book, onSale, seats } from "./v2-stage.mjs";

export async function live(world) {
  const { api } = world;
  const show = await onSale(world, "Followed");
  const [one] = show.a;
  const at = (path) => `/events/${show.id}/${path}`;
  await step("the map shows every seat, and the changes what has moved since", async () => {
    const { sequence, columns } = done(await api.get(at("map/")));
    assert.equal(columns.states[columns.ids.indexOf(one)], "A");
    isTrue(await book(api, "lock", show.id, seats([one], { sessionId: "ann" })));
    const changed = done(await api.get(at(`changes/?since=${sequence}`)));
    const [{ previous, call, sessionId, seats: moved }, ...rest] = changed.changes;
    assert.deepEqual([previous, call, sessionId, rest], [sequence, "lock", "ann", []]);
    assert.deepEqual(
      moved.map(({ id, state }) => [id, state]),
      [[one, "LOCKED"]],
    );
    const none = done(await api.get(at(`changes/?since=${changed.sequence}`)));
    assert.deepEqual([none.changes, none.more], [[], false]);
  });
  await step("a ticket opens the map again and again, without a key", async () => {
    const { ticket } = done(await api.post(at("stream-tickets")), 201);
    const look = (text) => caller(V2, {}).get(at(`map/?ticket=${text}`));
    for (let i = 0; i < 2; i++) assert.equal(done(await look(ticket)).status, "PUBLISHED");
    problem(await look(`${ticket}x`), 403, "ACCESS_DENIED");
  });
}
